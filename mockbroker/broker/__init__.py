"""Connections to a broker and the handlers of its APIs, without IO."""
