"""Timing traces and execution traces of profilers."""
