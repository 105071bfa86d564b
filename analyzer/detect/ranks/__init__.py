"""Facts that compare ranks."""
