"""Seeded simulation: client and cluster in one thread, under a virtual clock."""
