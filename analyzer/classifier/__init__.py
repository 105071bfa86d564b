"""Training and judging the anomaly classifier on labelled runs.

Needs scikit-learn. Diagnosing does not: ``detect/shapes/forest.py`` scores a run from the exported numbers alone.
"""
