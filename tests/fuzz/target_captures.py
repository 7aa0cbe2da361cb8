"""Capture files, down to the lines that `kafkawire decode` prints of them."""

from __future__ import annotations

import json
from io import BytesIO

from kafkawire import protocol
from kafkawire.cli.decode.connections import connection_lines
from kafkawire.cli.decode.pcap import segments
from kafkawire.errors import DecodeError
from tests.cli.captures import Talk, pcap, pcapng
from tests.cli.decoding import request, response
from tests.fuzz.runner import Target
from tests.protocol.message_samples import full_message

__all__ = ["TARGETS"]

APIS = [("ApiVersions", 3), ("Metadata", 12)]


def capture_seeds() -> list[bytes]:
    talk = Talk()
    for at, (api, version) in enumerate(APIS):
        talk.sends(request(full_message(protocol.request(api), version), version, at))
        answer = response(full_message(protocol.response(api), version), version, at)
        talk.answers(answer[:10], answer[10:])
    again = Talk("[::1]:40000", "[::1]:9092").sends(request(full_message(protocol.request("Metadata"), 12), 12, 7))
    packets = [*talk.packets, *again.packets]
    return [pcap(packets), pcap(packets, order=">", link="raw"), pcapng(packets), pcapng(packets, order=">", link="cooked 2")]


def check_capture(data: bytes) -> bool:
    """Any file gives lines, each of them JSON, and may then end in a DecodeError."""
    lines = []
    try:
        for line in connection_lines(segments(BytesIO(data))):
            json.dumps(line)
            lines.append(line)
    except DecodeError:
        return False
    return bool(lines) and not any("error" in line or "skipped" in line for line in lines)


TARGETS = (Target("captures", capture_seeds, check_capture, keep=4),)
