"""``analyzer serve``: a small HTTP service for hooks of schedulers; built on the standard library alone."""
