"""The one in-memory model: frozen dataclasses without I/O."""
