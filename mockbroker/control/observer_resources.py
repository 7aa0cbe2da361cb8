"""Resources of the control port for tests: faults, journal and clock."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from mockbroker.arguments import bare_type, hints
from mockbroker.control.resource import ControlRequest, RefusedError, ResourceTable
from mockbroker.json_values import checked_field
from mockbroker.observe.fault import Fault
from mockbroker.observe.fault_kinds import Barrier
from mockbroker.observe.selection import Selection

__all__ = ["TABLE"]

TABLE = ResourceTable()


@TABLE.serves("GET", "/faults")
def _faults(request: ControlRequest) -> Any:
    """List all faults, spent ones too, with how often each has fired."""
    return [fault.to_dict() for fault in request.kafka.faults.all()]


@TABLE.serves("POST", "/faults")
def _make_fault(request: ControlRequest) -> Any:
    """Make a fault: {"action": "fail", "api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "topic": "t", "times": 2}."""
    return request.kafka.faults.make(request.fields).to_dict()


@TABLE.serves("DELETE", "/faults")
def _clear_faults(request: ControlRequest) -> Any:
    """Clear and forget all faults, and release all requests that they hold."""
    request.kafka.faults.clear()


@TABLE.serves("POST", "/faults/check")
def _check_faults(request: ControlRequest) -> Any:
    """Answer with status 409 if a fault never fired."""
    request.kafka.check_faults()


@TABLE.serves("GET", "/faults/{id}")
def _fault(request: ControlRequest) -> Any:
    """Show a fault. With ?count=1&timeout=10 wait until it has fired so often; status 409 after so many seconds."""
    fault = _find_fault(request)
    if "count" in request.query:
        fault.wait_for(request.integer("count", 1), timeout=request.seconds("timeout", 10.0))
    held = [one.to_dict() for one in fault.held] if isinstance(fault, Barrier) else None
    return fault.to_dict() | ({} if held is None else {"held": held})


@TABLE.serves("DELETE", "/faults/{id}")
def _clear_fault(request: ControlRequest) -> Any:
    """Clear a fault: further requests pass, and requests that it holds are released."""
    fault = _find_fault(request)
    fault.clear()
    return fault.to_dict()


@TABLE.serves("POST", "/faults/{id}/release")
def _release(request: ControlRequest) -> Any:
    """Release all requests that a fault with the action "hold" holds, and let others pass; or the oldest: {"count": 1}."""
    fault = _find_fault(request)
    if not isinstance(fault, Barrier):
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"fault {fault.id} holds nothing: only the action 'hold' does")
    fault.release(checked_field(request.fields, "count", int, None))
    return fault.to_dict()


@TABLE.serves("GET", "/journal")
def _journal(request: ControlRequest) -> Any:
    """List requests with their responses: ?api=Produce&client_id=x, or by version, broker, connection, topic, partition, group.

    With &count=2&timeout=10 wait until so many have come; status 409 after so many seconds.
    """
    selection, journal = _selection(request), request.kafka.journal
    api = request.query.get("api")
    if "count" not in request.query:
        found = journal.requests(api, **selection)
    else:
        count, timeout = request.integer("count", 1), request.seconds("timeout", 10.0)
        found = journal.wait_for(api, count=count, timeout=timeout, **selection)
    return [exchange.to_dict() for exchange in found]


@TABLE.serves("DELETE", "/journal")
def _clear_journal(request: ControlRequest) -> Any:
    """Forget all requests."""
    request.kafka.journal.clear()


@TABLE.serves("GET", "/clock")
def _clock(request: ControlRequest) -> Any:
    """Show the time of the brokers in seconds since the epoch, and if it is held."""
    return {"time": request.kafka.clock.time(), "held": request.kafka.clock.held}


@TABLE.serves("POST", "/clock/{hold|release|advance}")
def _clock_do(request: ControlRequest) -> Any:
    """Hold the time, release it, or move it on with everything that is due: {"seconds": 60}."""
    clock = request.kafka.clock
    match request.path_parts[0]:
        case "hold":
            clock.hold()
        case "release":
            clock.release()
        case _:
            clock.advance(checked_field(request.fields, "seconds", float))
    return _clock(request)


def _find_fault(request: ControlRequest) -> Fault:
    for fault in request.kafka.faults.all():
        if str(fault.id) == request.path_parts[0]:
            return fault
    raise RefusedError(HTTPStatus.NOT_FOUND, f"there is no fault {request.path_parts[0]}: see GET /faults")


def _selection(request: ControlRequest) -> Selection:
    selection: Any = {}
    for name, wanted in hints(Selection).items():
        if name in request.query:
            selection[name] = request.integer(name, 0) if bare_type(wanted) is int else request.query[name]
    unknown = request.query.keys() - hints(Selection).keys() - {"api", "count", "timeout"}
    if unknown:
        raise ValueError(f"nothing is selected by {min(unknown)!r}, only by api, {', '.join(hints(Selection))}")
    kept: Selection = selection
    return kept
