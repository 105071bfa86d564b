"""Causes that are named where no rule speaks: by the shape of curves, by a message, by likeness."""
