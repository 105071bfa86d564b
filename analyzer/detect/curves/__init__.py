"""Facts from curves: losses, norms, scales, rates, scores."""
