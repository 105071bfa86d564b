"""Trainings of more than one loss: adversaries, policies and their rewards."""
