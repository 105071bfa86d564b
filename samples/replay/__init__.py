"""Planted numeric faults, recorded and replayed for real: what `analyzer.replay` must name."""
