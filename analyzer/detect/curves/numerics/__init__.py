"""Values that are not finite or cannot be: losses, norms and loss scales that broke, and since when."""
