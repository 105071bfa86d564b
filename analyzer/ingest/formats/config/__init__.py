"""Configuration files and package lists."""
