"""Facts about configuration, precision, versions and the course of a run."""
