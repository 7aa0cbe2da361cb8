"""Consuming: a subscription says what to read, a fetcher fetches it, and a collector hands it out."""
