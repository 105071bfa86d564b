"""The command line. Nothing heavy is imported at module level: start-up time is a feature."""
