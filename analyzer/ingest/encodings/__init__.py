"""Encodings that several formats share: JSON by position and as a stream, pickles of plain data, protocol buffers."""
