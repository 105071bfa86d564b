"""Training beside held-out data: gaps, the best evaluation, scores, what a run shows of its data."""
