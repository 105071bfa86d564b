"""Numeric replay traces, statistics of tensors, and flight recorder dumps."""
