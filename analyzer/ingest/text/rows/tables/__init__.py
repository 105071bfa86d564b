"""Tables, boxes and objects that a program prints."""
