"""Rows that say the same as ``name: value`` in another way, put into the plain spelling before their wording is learned."""

NUMBER = r"[-+]?(?:\d{1,20}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?|(?i:nan|inf))"
"""A number as these rows print it."""
