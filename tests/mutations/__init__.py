"""Deliberate breaks, each of which some test has to notice."""
