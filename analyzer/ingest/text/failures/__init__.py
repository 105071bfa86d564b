"""What programs print when they fail: tracebacks, exceptions, stacks, reports."""
