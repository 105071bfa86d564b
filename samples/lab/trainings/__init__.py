"""Genuine small trainings, each with one planted fault and a twin without it, logged as people log them (CARD.md)."""
