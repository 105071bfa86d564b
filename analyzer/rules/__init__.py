"""Rules: data in, findings out. Reads facts only, never tables."""
