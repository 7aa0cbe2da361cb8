"""Drivers of a cluster: TCP server, in-memory connections, TLS, clock."""
