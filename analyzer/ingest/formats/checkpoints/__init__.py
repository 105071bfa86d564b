"""Checkpoints and the files that describe a model."""
