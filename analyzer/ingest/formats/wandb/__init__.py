"""Runs of Weights & Biases, from disk and as downloaded."""
