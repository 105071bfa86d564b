"""Training and judging the anomaly classifier on labelled runs.

Needs scikit-learn (a dependency) and, for the plots of a report, matplotlib (extra ``report``). Diagnosing needs
neither: ``detect/classify/model.py`` scores a run from the exported numbers alone.
"""
