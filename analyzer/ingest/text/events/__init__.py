"""What a line of a log says: one file for each family of lines."""
