"""Produce and consume over TLS, with and without a client certificate."""

from __future__ import annotations

import ssl

import pytest
import trustme

from kafkawire.errors import KafkaError
from mockbroker import MockCluster
from tests.client.faces import SOON


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def files(authority, tmp_path):
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    authority.issue_cert("client@example.org").private_key_and_cert_chain_pem.write_to_path(tmp_path / "client.pem")
    return tmp_path


@pytest.fixture(params=[ssl.CERT_NONE, ssl.CERT_REQUIRED], ids=["server only", "both ends"])
def secured(authority, request):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = request.param
    with MockCluster(topics={"t": 3}, tls=context) as cluster:
        yield cluster


def test_produce_and_consume(face, secured, files):
    options = {
        "bootstrap_servers": secured.bootstrap,
        "security_protocol": "SSL",
        "ssl_cafile": str(files / "ca.pem"),
        "ssl_certfile": str(files / "client.pem"),
    }
    with face.Producer(**options) as p:
        p.send_many("t", [b"%d" % i + bytes(1000) for i in range(5000)], [b"%d" % i for i in range(5000)]).result(timeout=SOON)
    with face.Consumer("t", **options, auto_offset_reset="earliest", stop_at_end=True) as c:
        assert len(list(c)) == 5000


def test_who_trusts_nobody_gets_nowhere(face, secured):
    for options, text in (
        ({"security_protocol": "SSL"}, "certificate"),
        ({"api_version_auto_timeout_ms": 100}, "security_protocol"),
    ):
        with face.Connection(secured.bootstrap, **options) as connection, pytest.raises(KafkaError, match=text):
            connection.topics(timeout=2)
