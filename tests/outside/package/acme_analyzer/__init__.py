"""What one cluster adds to analyzer, as a package of its own would."""
