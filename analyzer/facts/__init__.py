"""The narrow waist: one flat, typed, documented namespace of facts between detectors and rules."""
