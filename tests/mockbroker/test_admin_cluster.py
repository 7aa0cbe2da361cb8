"""Brokers of a running cluster under control of a test: joining, leaving, leading, coordinating, advertised addresses."""

from __future__ import annotations

import socket

import pytest

from kafkawire.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker import MockCluster
from tests.mockbroker.raw import TcpClient, batch, produce_request, produced


def metadata(broker):
    with TcpClient(broker) as client:
        return client.call(MetadataRequest(topics=None), 12)


def addresses(broker):
    return {one.node_id: (one.host, one.port, one.rack) for one in metadata(broker).brokers}


def test_a_broker_joins_and_leads():
    with MockCluster(1, topics={"t": 1}) as mock:
        added = mock.add_broker()
        assert (added.id, mock.brokers[2]) == (2, added)
        assert addresses(added) == {1: ("127.0.0.1", mock.brokers[1].port, None), 2: ("127.0.0.1", added.port, None)}
        assert mock.bootstrap == f"{mock.brokers[1].address},{added.address}"
        mock.set_replicas("t", 0, [2])
        assert mock.leader("t", 0) == 2
        with TcpClient(added) as client:
            assert produced(client.call(produce_request(batch(b"a")), 9)).error_code == 0


def test_a_broker_leaves_for_good():
    with MockCluster(2, topics={"t": 2}) as mock:
        left = mock.brokers[1]
        with TcpClient(left) as client:
            mock.remove_broker(1)
            assert client.read() == b""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((left.host, left.port), 10)
        assert list(mock.brokers) == [2]
        assert [mock.leader("t", partition) for partition in (0, 1)] == [2, 2]
        assert metadata(mock.brokers[2]).controller_id == 2
        with pytest.raises(ValueError, match="last"):
            mock.remove_broker(2)


def test_clients_are_told_other_addresses_than_brokers_listen_on():
    with MockCluster(2, advertised_host="kafka.example", racks=["a", "b"]) as mock:
        first, second = mock.brokers.values()
        assert (first.host, first.advertised) == ("127.0.0.1", f"kafka.example:{first.port}")
        second.advertise("proxy.example", 1234)
        assert addresses(first) == {1: ("kafka.example", first.port, "a"), 2: ("proxy.example", 1234, "b")}
        assert addresses(second) == addresses(first)
        second.restart()
        assert second.advertised == "proxy.example:1234"


def test_coordinators_move():
    with MockCluster(3) as mock:
        for broker in (1, 2, 3):
            mock.move_coordinator("g", broker)
            assert mock.coordinator("g") == broker
            with TcpClient(mock.brokers[1]) as client:
                found = client.call(FindCoordinatorRequest(coordinator_keys=["g"]), 4)
            assert [one.node_id for one in found.coordinators] == [broker]
        mock.brokers[3].stop()
        assert mock.coordinator("g") in (1, 2)
