"""Table of the control port: all of its resources, and the one that lists them."""

from __future__ import annotations

from typing import Any

from mockbroker.control import cluster_resources, observer_resources
from mockbroker.control.resource import ControlRequest, ResourceTable

__all__ = ["RESOURCES"]

TABLE = ResourceTable()


@TABLE.serves("GET", "/")
def _overview(request: ControlRequest) -> Any:
    """Show the bootstrap servers, the version, and this table."""
    table = {f"{one.method} {one.path}": one.description for one in RESOURCES}
    version = ".".join(map(str, request.kafka.cluster.profile.version))
    return {"bootstrap.servers": request.kafka.bootstrap, "version": version, "resources": table}


RESOURCES = [*TABLE.resources, *cluster_resources.TABLE.resources, *observer_resources.TABLE.resources]
"""All resources, in the order in which `GET /` lists them."""
