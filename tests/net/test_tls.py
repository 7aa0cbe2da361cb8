from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
import trustme

from kafkawire.config import TlsOptions
from kafkawire.errors import ConfigurationError, ConnectError, ConnectionLost, NetworkError, NotKafkaError
from kafkawire.net import aio
from kafkawire.net import tls as net_tls
from kafkawire.net.base import call
from tests.net.drivers import SOON, both_drivers, connect
from tests.net.server import CUT, ECHO, SILENT, SLOWLY, STALL, Server, big, echo, frame, payload


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture(scope="module")
def files(authority, tmp_path_factory):
    """cafile, client.pem, and the same key under a password."""
    place = tmp_path_factory.mktemp("certificates")
    authority.cert_pem.write_to_path(place / "ca.pem")
    client = authority.issue_cert("client@example.org")
    client.private_key_and_cert_chain_pem.write_to_path(place / "client.pem")
    client.cert_chain_pems[0].write_to_path(place / "chain.pem")
    return {name: str(place / f"{name}.pem") for name in ("ca", "client", "chain")}


def server_context(authority, *names, client_ca=None, version=None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    if client_ca is not None:
        client_ca.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context


def one_call(server, tls):
    async def flow(net):
        link = await connect(net, server, tls)
        return payload(await call(net, link, echo(1), net.now() + SOON))

    return flow


@both_drivers
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_round_trips(run, authority, files, version):
    async def flow(net):
        link = await connect(net, server, TlsOptions(cafile=files["ca"]))
        signal = net.signal()
        pendings = [link.send(frame(ECHO, b"%d" % i + bytes(i * 100)), signal) for i in range(200)]
        while not all(pending.done for pending in pendings):
            signal.clear()
            if not all(pending.done for pending in pendings):
                assert await net.wait(signal, net.now() + SOON)
        assert [payload(pending.result()) for pending in pendings] == [b"%d" % i + bytes(i * 100) for i in range(200)]
        assert payload(await call(net, link, frame(SLOWLY, b"x" * 20), net.now() + SOON)) == b"x" * 20
        assert len(payload(await call(net, link, big(3_000_064), net.now() + SOON))) == 3_000_064

    with Server(server_context(authority, "127.0.0.1", version=version)) as server:
        run(flow)


@both_drivers
def test_requests_bigger_than_buffers(run, authority, files):
    async def flow(net):
        link = await connect(net, server, TlsOptions(cafile=files["ca"]))
        data = bytes(range(256)) * 60_000
        assert payload(await call(net, link, frame(ECHO, data), net.now() + SOON)) == data

    with Server(server_context(authority, "127.0.0.1")) as server:
        run(flow)


@both_drivers
def test_a_stalled_broker_delays_nobody(run, authority, files):
    async def flow(net):
        options = TlsOptions(cafile=files["ca"])
        stalled, healthy = await connect(net, server, options), await connect(net, server, options)
        signal = net.signal()
        stalled.send(frame(STALL), signal)
        for _ in range(30):
            stalled.send(frame(ECHO, bytes(1_000_000)), signal)
        for i in range(100):
            assert payload(await call(net, healthy, echo(i), net.now() + SOON)) == b"%d" % i

    with Server(server_context(authority, "127.0.0.1")) as server:
        run(flow)


@both_drivers
def test_the_end_of_a_connection(run, authority, files):
    async def flow(net):
        link = await connect(net, server, TlsOptions(cafile=files["ca"]))
        pending = link.send(frame(SILENT), net.signal())
        with pytest.raises(ConnectionLost):
            await call(net, link, frame(CUT, b"x" * 100), net.now() + SOON)
        assert isinstance(pending.error, ConnectionLost)

    with Server(server_context(authority, "127.0.0.1")) as server:
        run(flow)


@both_drivers
def test_the_name_is_sent_and_checked_whatever_it_resolves_to(run, authority, files, monkeypatch):
    asked = []
    context = server_context(authority, "broker.test")
    context.sni_callback = lambda _connection, name, _context: asked.append(name)
    real = socket.getaddrinfo

    def look_up(_host, port, *_arguments, **options):
        if options.get("flags"):
            raise socket.gaierror(socket.EAI_NONAME, "not an address")
        return real("127.0.0.1", port, type=socket.SOCK_STREAM)

    async def flow(net):
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        for name in ("broker.test", "broker.test."):
            link = await net.connect(name, server.port, net.tls(TlsOptions(cafile=files["ca"])), net.now() + SOON)
            await call(net, link, echo(1), net.now() + SOON)

    with Server(context) as server:
        run(flow)
    assert asked == ["broker.test", "broker.test"]


@both_drivers
def test_a_certificate_for_another_host(run, authority, files):
    with Server(server_context(authority, "elsewhere.test")) as server:
        with pytest.raises(ConnectError, match=r"TLS: .*certificate was refused.*Connect by a name that is in it"):
            run(one_call(server, TlsOptions(cafile=files["ca"])))
        assert run(one_call(server, TlsOptions(cafile=files["ca"], check_hostname=False))) == b"1"


@both_drivers
def test_an_unknown_authority(run, files):
    with (
        Server(server_context(trustme.CA(), "127.0.0.1")) as server,
        pytest.raises(ConnectError, match=r"TLS: .*certificate was refused.*ssl_cafile"),
    ):
        run(one_call(server, TlsOptions(cafile=files["ca"])))


@both_drivers
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_client_certificates(run, authority, files, version):
    with Server(server_context(authority, "127.0.0.1", client_ca=authority, version=version)) as server:
        options = TlsOptions(cafile=files["ca"], certfile=files["client"])
        assert run(one_call(server, options)) == b"1"
        with pytest.raises(NetworkError, match="check ssl_certfile"):
            run(one_call(server, TlsOptions(cafile=files["ca"])))


@both_drivers
def test_a_context_of_the_users_own(run, authority):
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with Server(server_context(authority, "127.0.0.1")) as server:
        assert run(one_call(server, TlsOptions(context=context))) == b"1"


@both_drivers
def test_a_plain_broker_on_the_tls_port(run, files):
    with Server() as server, pytest.raises(ConnectError, match=r"TLS: the connection was closed during the handshake"):
        run(one_call(server, TlsOptions(cafile=files["ca"])))


@both_drivers
def test_http_on_the_tls_port(run, files):
    with (
        Server(greeting=b"HTTP/1.1 400 Bad Request\r\n\r\n") as server,
        pytest.raises(NotKafkaError, match="does not speak TLS"),
    ):
        run(one_call(server, TlsOptions(cafile=files["ca"])))


@both_drivers
def test_a_tls_broker_on_the_plain_port(run):
    """Java answers what is no TLS with an alert."""
    with Server(greeting=b"\x15\x03\x03\x00\x02\x02\x50") as server, pytest.raises(NotKafkaError, match="TLS alert"):
        run(one_call(server, None))


@both_drivers
def test_an_openssl_server_on_the_plain_port(run, authority):
    """OpenSSL hangs up without a word."""
    with Server(server_context(authority, "127.0.0.1")) as server, pytest.raises(ConnectionLost):
        run(one_call(server, None))


@both_drivers
def test_a_handshake_that_gets_no_answer(run, files):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ConnectError, match=r"TLS: no answer in \d\.\d s"):
            run(lambda net: net.connect("127.0.0.1", port, net.tls(TlsOptions(cafile=files["ca"])), net.now() + 1))


def test_a_cancelled_handshake_closes_its_socket(files):
    async def main():
        net = aio.Net()
        port = listener.getsockname()[1]
        connecting = net.connect("127.0.0.1", port, net.tls(TlsOptions(cafile=files["ca"])), net.now() + SOON)
        task = asyncio.ensure_future(connecting)
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await net.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        asyncio.run(main())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cafile": "/no/such/ca.pem"}, "ssl_cafile '/no/such/ca.pem': No such file"),
        ({"certfile": "/no/such/client.pem"}, "ssl_certfile '/no/such/client.pem'.*No such file"),
    ],
)
def test_missing_files(options, message):
    with pytest.raises(ConfigurationError, match=message):
        net_tls.client_context(TlsOptions(**options))


def test_files_that_hold_something_else(files):
    with pytest.raises(ConfigurationError, match="ssl_keyfile"):
        net_tls.client_context(TlsOptions(certfile=files["chain"]))


def test_a_key_under_a_password(files, tmp_path):
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_pem_private_key(Path(files["client"]).read_bytes(), None)
    locked = tmp_path / "locked.pem"
    form = serialization.PrivateFormat.TraditionalOpenSSL
    secret = serialization.BestAvailableEncryption(b"sesame")
    locked.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, secret))
    options = {"certfile": files["chain"], "keyfile": str(locked)}
    net_tls.client_context(TlsOptions(**options, password="sesame"))
    for wrong in ("open", None):
        with pytest.raises(ConfigurationError, match="is ssl_password right"):
            net_tls.client_context(TlsOptions(**options, password=wrong))
