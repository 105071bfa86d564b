"""A classifier for slow trouble that only the shape of the curves shows."""
