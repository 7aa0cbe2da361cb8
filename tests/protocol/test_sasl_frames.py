"""SASL tokens without Kafka's headers, as after SaslHandshake version 0."""

from __future__ import annotations

import pytest

from kafkawire.errors import DecodeError
from kafkawire.protocol.frames import ServerPeer
from kafkawire.protocol.sasl_frames import SaslTokens, token_frame


@pytest.mark.parametrize("step", [1, 3, 100])
def test_tokens_come_back_however_they_are_cut(step: int) -> None:
    tokens = [b"\0user\0password", b"", b"x" * 50]
    stream = b"".join(map(token_frame, tokens))
    peer, found = SaslTokens(), []
    for at in range(0, len(stream), step):
        peer.received(stream[at : at + step])
        while (token := peer.next()) is not None:
            found.append(token)
    assert found == tokens
    assert peer.rest() == b""


def test_what_comes_after_the_last_token_is_the_next_peers() -> None:
    request = bytes.fromhex("0000000a 0012 0000 00000005 0000")
    peer = SaslTokens()
    peer.received(token_frame(b"last") + request)
    assert peer.next() == b"last"
    ((header, body),) = ServerPeer().received(peer.rest())
    assert (header.api_key, header.correlation_id, bytes(body)) == (18, 5, b"")
    assert peer.next() is None


@pytest.mark.parametrize("size", [-1, 11, 0x48545450])
def test_an_impossible_size_is_refused_before_the_token_has_come(size: int) -> None:
    peer = SaslTokens(max_token_size=10)
    peer.received(size.to_bytes(4, signed=True))
    with pytest.raises(DecodeError, match=f"a SASL token of {size} bytes"):
        peer.next()
