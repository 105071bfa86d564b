"""Reading: one ingestor a format, one writer of the run's tables, and the walk over a run directory."""
