"""What a guess would reach, and what the answers of a model allow its loss to be."""
