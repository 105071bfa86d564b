"""Rows by which trainers print their metrics."""
