"""Servers that cannot be used: what each call says, and which faults are worth another try."""

from __future__ import annotations

import datetime as dt
import socket
import ssl

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from kafkawire.errors import (
    BootstrapError,
    ConfigurationError,
    DeliveryTimedOut,
    ErrorCode,
    KafkaError,
    NotKafkaError,
    TimedOut,
    TlsError,
)
from mockbroker import MockCluster
from tests.client.faces import SOON

NEVER_MS = 86_400_000
PATIENT = {"default_api_timeout_ms": NEVER_MS, "reconnect_backoff_ms": 10, "reconnect_backoff_max_ms": 10}
"""With so much patience, a call that comes back with an error has not tried until its time was up."""


def use(face, kind: str, servers: str, **options):
    """The first call of each kind of client that needs a broker."""
    options = {"bootstrap_servers": servers, **options}
    patience = options.get("default_api_timeout_ms", 0)
    if kind == "connection":
        with face.Connection(**options) as connection:
            return connection.topics()
    if kind == "producer":
        with face.Producer(**options, max_block_ms=patience) as p:
            return p.send("t", b"v").result(timeout=SOON)
    with face.Consumer("t", **options, auto_offset_reset="earliest", stop_at_end=kind == "iteration") as c:
        if kind == "iteration":
            return list(c)
        while not (found := c.poll(timeout=0.2)):
            pass
        return found


@pytest.fixture(params=["connection", "producer", "poll", "iteration"])
def kind(request):
    return request.param


@pytest.fixture
def silent():
    """A host that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


# ---- silence


@pytest.mark.parametrize(("patience", "api_version_patience"), [(500, 1_000), (1_500, 200)])
def test_a_host_that_accepts_and_never_answers(face, kind, silent, patience, api_version_patience):
    with pytest.raises((BootstrapError, TimedOut)) as caught:
        use(face, kind, silent, api_version_auto_timeout_ms=api_version_patience, default_api_timeout_ms=patience)
    assert silent in str(caught.value)
    assert "answer" in str(caught.value)
    assert "connected" in str(caught.value) or "accepted the connection" in str(caught.value)
    assert "topic" not in str(caught.value)


def test_a_silent_host_among_others(face, kind, silent):
    with MockCluster(topics={"t": 1}) as kafka:
        kafka.produce("t", "v")
        use(face, kind, f"{silent},{kafka.bootstrap}", api_version_auto_timeout_ms=100, default_api_timeout_ms=10_000)


def test_who_connects_in_vain_is_told_of_every_server(face, kind, silent):
    with MockCluster(brokers=1) as gone:
        dead = gone.bootstrap
    with pytest.raises(BootstrapError) as caught:
        use(face, kind, f"{dead},{silent}", api_version_auto_timeout_ms=50, default_api_timeout_ms=1500)
    assert f"{dead}: connect: Connection refused" in str(caught.value)
    assert f"{silent} accepted the connection but did not answer ApiVersions" in str(caught.value)


# ---- TLS

YESTERDAY = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def files(authority, tmp_path):
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    client = authority.issue_cert("client@example.org")
    client.private_key_and_cert_chain_pem.write_to_path(tmp_path / "client.pem")
    client.cert_chain_pems[0].write_to_path(tmp_path / "chain.pem")
    client.private_key_pem.write_to_path(tmp_path / "key.pem")
    trustme.CA().cert_pem.write_to_path(tmp_path / "other-ca.pem")
    authority.issue_cert("other@example.org").private_key_pem.write_to_path(tmp_path / "other-key.pem")
    (tmp_path / "junk.pem").write_text("no certificate at all\n")
    return tmp_path


def secured(certificate: trustme.LeafCert, client_authority: trustme.CA | None = None, version=None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    if client_authority is not None:
        client_authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context


def trusting(files, name="ca.pem", **more):
    return {"security_protocol": "SSL", "ssl_cafile": str(files / name), **more}


def test_an_untrusted_certificate(face, kind, authority, files):
    with (
        MockCluster(topics={"t": 1}, tls=secured(authority.issue_cert("127.0.0.1"))) as kafka,
        pytest.raises(TlsError, match=r"certificate was refused: .*Give the file of the authority .* as ssl_cafile"),
    ):
        use(face, kind, kafka.bootstrap, **trusting(files, "other-ca.pem"), **PATIENT)


def test_an_expired_certificate(face, kind, authority, files):
    expired = authority.issue_cert("127.0.0.1", not_before=YESTERDAY - dt.timedelta(days=1), not_after=YESTERDAY)
    with (
        MockCluster(topics={"t": 1}, tls=secured(expired)) as kafka,
        pytest.raises(TlsError, match=r"expired.*Have a new one installed at the broker"),
    ):
        use(face, kind, kafka.bootstrap, **trusting(files), **PATIENT)


def test_a_certificate_for_another_host(face, kind, authority, files):
    with (
        MockCluster(topics={"t": 1}, tls=secured(authority.issue_cert("elsewhere.test"))) as kafka,
        pytest.raises(TlsError, match="ssl_check_hostname"),
    ):
        use(face, kind, kafka.bootstrap, **trusting(files), **PATIENT)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_a_client_certificate_that_is_demanded(face, kind, authority, files, version):
    context = secured(authority.issue_cert("127.0.0.1"), authority, version)
    with MockCluster(topics={"t": 1}, tls=context) as kafka:
        kafka.produce("t", "v")
        with pytest.raises(TlsError, match=r"refused this client in TLS.*check ssl_certfile"):
            use(face, kind, kafka.bootstrap, **trusting(files), **PATIENT)
        use(face, kind, kafka.bootstrap, **trusting(files, ssl_certfile=str(files / "client.pem")), **PATIENT)


def test_tls_spoken_to_a_plaintext_port(face, kind, files):
    with (
        MockCluster(topics={"t": 1}) as kafka,
        pytest.raises(NotKafkaError, match=r"speaks Kafka without TLS: set security_protocol='PLAINTEXT'"),
    ):
        use(face, kind, kafka.bootstrap, **trusting(files), **PATIENT)


def test_plaintext_spoken_to_a_tls_port(face, kind, authority):
    with (
        MockCluster(topics={"t": 1}, tls=secured(authority.issue_cert("127.0.0.1"))) as kafka,
        pytest.raises(NotKafkaError, match=r"the port speaks TLS: set security_protocol='SSL'"),
    ):
        use(face, kind, kafka.bootstrap, **PATIENT)


def test_one_good_server_among_bad_ones(face, kind, authority, files):
    bad = secured(trustme.CA().issue_cert("127.0.0.1"))
    good = secured(authority.issue_cert("127.0.0.1"))
    with (
        MockCluster(brokers=1, tls=bad) as untrusted,
        MockCluster(brokers=1) as plain,
        MockCluster(brokers=1, topics={"t": 1}, tls=good) as kafka,
    ):
        kafka.produce("t", "v")
        servers = f"{untrusted.bootstrap},{plain.bootstrap},{kafka.bootstrap}"
        for _ in range(4):
            use(face, kind, servers, **trusting(files), **{**PATIENT, "default_api_timeout_ms": 20_000})


def test_a_server_that_may_come_is_waited_for_beside_a_bad_one(face, authority, files):
    with (
        MockCluster(brokers=1, tls=secured(trustme.CA().issue_cert("127.0.0.1"))) as untrusted,
        MockCluster(brokers=1, topics={"t": 1}, tls=secured(authority.issue_cert("127.0.0.1"))) as kafka,
    ):
        kafka.brokers[1].stop()
        options = {**PATIENT, "default_api_timeout_ms": 2_000}
        with pytest.raises(BootstrapError, match=r"certificate was refused.*Connection refused|refused.*certificate was"):
            use(face, "connection", f"{untrusted.bootstrap},{kafka.bootstrap}", **trusting(files), **options)


def test_certificates_that_go_bad_while_in_use(face, authority, files):
    """They may be put right again: nothing is given up before its time."""
    context = secured(authority.issue_cert("127.0.0.1"))
    with MockCluster(brokers=1, topics={"t": 1}, tls=context) as kafka:
        quick = {"reconnect_backoff_ms": 10, "reconnect_backoff_max_ms": 10, "retry_backoff_ms": 10}
        options = {"bootstrap_servers": kafka.bootstrap, **trusting(files), **quick}
        with face.Producer(**options) as patient, face.Producer(**options, delivery_timeout_ms=2_000, linger_ms=0) as hasty:
            for p in (patient, hasty):
                p.send("t", b"before").result(timeout=SOON)
            trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
            kafka.brokers[1].restart()
            waiting = patient.send("t", b"after")
            error = hasty.send("t", b"after").exception(timeout=SOON)
            assert isinstance(error, DeliveryTimedOut)
            assert "certificate was refused" in str(error)
            assert "ssl_cafile" in str(error)
            assert not waiting.done()
            authority.issue_cert("127.0.0.1").configure_cert(context)
            waiting.result(timeout=SOON)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ssl_cafile": "missing.pem"}, r"ssl_cafile '.*missing.pem': No such file"),
        ({"ssl_cafile": "junk.pem"}, r"ssl_cafile '.*junk.pem' holds no certificate"),
        ({"ssl_certfile": "missing.pem"}, r"ssl_certfile '.*missing.pem': No such file"),
        ({"ssl_certfile": "junk.pem"}, r"ssl_certfile '.*junk.pem' holds no certificate"),
        ({"ssl_certfile": "chain.pem"}, r"ssl_certfile '.*chain.pem' holds no private key .* ssl_keyfile"),
        ({"ssl_certfile": "chain.pem", "ssl_keyfile": "missing.pem"}, r"ssl_keyfile '.*missing.pem': No such file"),
        ({"ssl_certfile": "chain.pem", "ssl_keyfile": "junk.pem"}, r"ssl_keyfile '.*junk.pem' holds no private key"),
        ({"ssl_certfile": "chain.pem", "ssl_keyfile": "other-key.pem"}, r"the key of ssl_keyfile .* does not belong to"),
        ({"ssl_keyfile": "key.pem"}, "ssl_keyfile is set but ssl_certfile is not"),
    ],
    ids=str,
)
def test_files_are_checked_when_the_client_is_made(face, files, options, message):
    named = {name: str(files / file) for name, file in options.items()}
    for make in (face.Connection, face.Producer, face.Consumer):
        with pytest.raises(ConfigurationError, match=message):
            make(security_protocol="SSL", **named)


def test_a_key_under_a_password(face, files):
    key = serialization.load_pem_private_key((files / "key.pem").read_bytes(), None)
    form, secret = serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"sesame")
    (files / "locked.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, secret))
    named = trusting(files, ssl_certfile=str(files / "chain.pem"), ssl_keyfile=str(files / "locked.pem"))
    for make in (face.Connection, face.Producer, face.Consumer):
        for wrong in ({}, {"ssl_password": "open"}):
            with pytest.raises(ConfigurationError, match=r"ssl_keyfile .* is under a password: is ssl_password right\?"):
                make(**named, **wrong)
        with make(**named, ssl_password="sesame") as made:
            assert made.options["ssl_password"] is None, "it is kept although nobody needs it any more"


def test_a_new_client_reads_a_new_certificate(face, authority, files):
    with MockCluster(topics={"t": 1}, tls=secured(authority.issue_cert("127.0.0.1"))) as kafka:
        options = trusting(files, "other-ca.pem")
        with pytest.raises(TlsError):
            use(face, "connection", kafka.bootstrap, **options, **PATIENT)
        authority.cert_pem.write_to_path(files / "other-ca.pem")
        assert use(face, "connection", kafka.bootstrap, **options, **PATIENT) == ["t"]


# ---- why records were not delivered


@pytest.fixture
def kafka():
    with MockCluster(brokers=1, topics={"t": 1}) as cluster:
        yield cluster


def why_not_delivered(face, kafka, befall, **options) -> KafkaError:
    quick = {"retry_backoff_ms": 10, "retry_backoff_max_ms": 20, "reconnect_backoff_ms": 10, "linger_ms": 0}
    with face.Producer(bootstrap_servers=kafka.bootstrap, **quick, delivery_timeout_ms=1_500, **options) as p:
        p.send("t", b"before").result(timeout=SOON)
        befall()
        error = p.send("t", b"v").exception(timeout=SOON)
        assert isinstance(error, DeliveryTimedOut), error
        return error


def test_the_broker_is_down(face, kafka):
    error = why_not_delivered(face, kafka, kafka.brokers[1].stop)
    assert "Connection refused" in str(error) or "no leader" in str(error)


def test_the_partition_has_no_leader(face, kafka):
    error = why_not_delivered(face, kafka, lambda: kafka.move_leader("t", 0, None))
    assert "the partition has no leader" in str(error)


def test_the_broker_refuses_the_records(face, kafka):
    error = why_not_delivered(face, kafka, lambda: kafka.fail("Produce", ErrorCode.NOT_ENOUGH_REPLICAS))
    assert "min.insync.replicas" in str(error)


def test_the_broker_does_not_answer(face, kafka):
    error = why_not_delivered(face, kafka, lambda: kafka.drop("Produce"))
    assert f"{kafka.bootstrap} did not answer Produce" in str(error)


def test_the_broker_throttles(face, kafka):
    kafka.throttle("Produce", 30_000)
    with face.Producer(bootstrap_servers=kafka.bootstrap, delivery_timeout_ms=1_500, linger_ms=0) as p:
        p.send("t", b"before").result(timeout=SOON)
        error = p.send("t", b"v").exception(timeout=SOON)
    assert "broker 1 throttles this producer" in str(error)
