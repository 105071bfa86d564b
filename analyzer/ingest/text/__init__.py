"""Console logs: the text layer, the scan for literals, prefixes, and the grammars of single lines."""
