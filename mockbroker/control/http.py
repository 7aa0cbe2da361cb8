"""Control port: JSON over HTTP, with which tests in any language control a mock cluster. `GET /` lists its resources.

Web pages must not reach it: a page of another origin sends its Origin, and one that had its name bound to this address
(DNS rebinding) sends that name as Host. Both are refused.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from kafkawire.addresses import format_address
from kafkawire.errors import BrokerError, ErrorCode
from mockbroker.control.resource import ControlRequest, JsonLines, RefusedError
from mockbroker.control.table import RESOURCES
from mockbroker.drive.addresses import listening_on
from mockbroker.json_values import parse_json

if TYPE_CHECKING:
    from mockbroker.mock import MockCluster

__all__ = ["ControlServer"]

_log = logging.getLogger("mockbroker")

_LARGEST_BODY = 256 << 20
_POLL = 0.02
"""Seconds between looks at a request to stop."""


class ControlServer:
    """Serves the control port of a cluster until `close`. Raises OSError if the port is taken, ValueError for an invalid port.

    host, port: the address to listen on; port 0 for any free port.
    """

    def __init__(self, cluster: MockCluster, host: str = "127.0.0.1", port: int = 0) -> None:
        self._server = _Server(cluster, host, port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL,), name="mockbroker control port", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Address of the control port, as curl takes it."""
        host, port = self._server.server_address[:2]
        return f"http://{format_address(str(host), port)}"

    def close(self) -> None:
        """Stop listening. Idempotent."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, cluster: MockCluster, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.cluster = cluster
        self.host = host
        with listening_on(host, port):
            super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's would look up the name of this host, and wait for it

    def handle_error(self, request: object, client_address: object) -> None:
        _log.debug("a client of the control port has closed its connection", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    """One request of one client."""

    server: _Server
    server_version = "mockbroker"
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 30
    """Seconds without a byte after which a connection is closed."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def _answer(self) -> None:
        try:
            self._check_origin()
            status, found = HTTPStatus.OK, self._act(self._read())
        except Exception as error:  # noqa: BLE001 - the client is told
            status, found = _status(error), {"error": str(error) or repr(error)}
            if status is HTTPStatus.INTERNAL_SERVER_ERROR:
                _log.exception("the control port failed at %s %s", self.command, self.path)
        self._write(status, found)

    def _check_origin(self) -> None:
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        kept, self.close_connection = self.close_connection, True  # the body of a request that is refused stays unread
        name = urlsplit(f"//{host}").hostname if host else None
        if name is not None and name not in ("localhost", self.server.host) and not _is_address(name):
            raise RefusedError(HTTPStatus.FORBIDDEN, f"Host {host!r} is not the name of this control port; use its address")
        if origin is not None and origin != f"http://{host}":
            raise RefusedError(HTTPStatus.FORBIDDEN, f"pages of {origin!r} may not use this control port")
        self.close_connection = kept

    def _act(self, text: str) -> Any:
        url = urlsplit(self.path)
        found = [(resource, match) for resource in RESOURCES if (match := resource.pattern.fullmatch(url.path))]
        if not found:
            raise RefusedError(HTTPStatus.NOT_FOUND, f"there is no {url.path}: GET / lists what there is")
        for resource, match in found:
            if resource.method == self.command:
                names = tuple(map(unquote, match.groups()))
                query = dict(parse_qsl(url.query, keep_blank_values=True))
                return resource.act(ControlRequest(self.server.cluster, names, query, _body(text, lines=resource.lines)))
        allowed = ", ".join(resource.method for resource, _ in found)
        raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, f"{url.path} takes {allowed}, not {self.command}")

    def _read(self) -> str:
        """Read the body before anything else can fail: another request may follow it."""
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > _LARGEST_BODY or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            reason = f"a body needs its Content-Length, of {_LARGEST_BODY} bytes at most"
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
        return self.rfile.read(int(length)).decode()

    def _write(self, status: HTTPStatus, found: Any) -> None:
        lines = isinstance(found, JsonLines)
        text = found if lines else json.dumps({} if found is None else found, ensure_ascii=False) + "\n"
        content = text.encode(errors="backslashreplace")
        self.send_response(status)
        self.send_header("Content-Type", "application/x-ndjson" if lines else "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        self.close_connection = True  # bytes behind a malformed request may belong to it
        self._write(HTTPStatus(code), {"error": message or explain or HTTPStatus(code).phrase})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in http.server
        _log.debug(format, *args)


def _body(text: str, *, lines: bool) -> Any:
    """Return the value of a body, or its text if the resource takes JSON lines. Raises ValueError."""
    if lines or not text:
        return text or None
    try:
        return parse_json(text)
    except ValueError as error:
        raise ValueError(f"the body is no JSON: {error}") from None


def _status(error: Exception) -> HTTPStatus:
    match error:
        case RefusedError():
            return error.status
        case AssertionError():
            return HTTPStatus.CONFLICT
        case BrokerError(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION | ErrorCode.GROUP_ID_NOT_FOUND):
            return HTTPStatus.NOT_FOUND
        case BrokerError() | ValueError():
            return HTTPStatus.BAD_REQUEST
    return HTTPStatus.INTERNAL_SERVER_ERROR


def _is_address(name: str) -> bool:
    """Return True for an IP address: unlike a name, it cannot be bound to another address (DNS rebinding)."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
