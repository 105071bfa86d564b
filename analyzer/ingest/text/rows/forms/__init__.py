"""Rows that are declared as data: one table of each program."""
