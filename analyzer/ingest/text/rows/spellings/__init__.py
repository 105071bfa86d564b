"""Rows that say the same as ``name: value`` in another way, put into the plain spelling before their wording is learned."""

NUMBER = r"[-+]?(?:\d{1,20}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?|(?i:nan|inf)|1\.#(?:IND|QNAN|INF)0{0,12})"
"""A number as these rows print it; the last is what C's library on Windows writes for one that is none."""
