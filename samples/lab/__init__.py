"""The fault lab: genuine small training runs with a planted fault, each beside a healthy twin.

`python -m samples.lab make --out DIR` makes the corpus, see `__main__.py`. What is planted is the cause; every
curve, log line and exception is what the training and its logger gave. A run's label comes from an outcome test
against its twin (`outcome.py`), never from the name of the fault that was planted.
"""
