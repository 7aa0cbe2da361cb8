"""Consuming: a subscription says what to read, a fetcher reads it, and a buffer hands it out."""
