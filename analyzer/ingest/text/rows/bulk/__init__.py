"""The strict forms that read the frequent rows of large logs."""
