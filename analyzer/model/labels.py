"""Labels of runs beside the ids of causes, and the name of the course that a sound curve takes."""

HEALTHY = "healthy"
"""Nothing is wrong."""

ORDINARY = frozenset({"benign", "lifecycle"})
"""Kinds of causes that are no fault."""

OUTSIDE = "outside"
"""The cause is known and not in the catalogue."""

REST = "user-code-exception"
"""The cause that remains when nothing else explains a failure."""
