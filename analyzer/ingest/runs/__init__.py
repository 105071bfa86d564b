"""Which files make a run, which of several runs is meant, and what of it was not read."""
