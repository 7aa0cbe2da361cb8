"""Control port: JSON over HTTP, for tests in other languages."""
