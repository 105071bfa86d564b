"""What a language model calls: the tools of ``analyzer mcp``, bounded, masked, and within the folders that were allowed."""
