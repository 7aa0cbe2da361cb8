"""Connections to one cluster: metadata, links to its brokers, and requests that find their broker."""
