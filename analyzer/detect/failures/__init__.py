"""Facts from failures: events, exceptions, which came first."""
