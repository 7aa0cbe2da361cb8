"""Observers of connections: faults that disturb requests, and the journal that records them."""
