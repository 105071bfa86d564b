"""Causes that are named where no rule speaks: by a message, by likeness."""
