"""Many runs at once: find them, diagnose each where nothing can harm the others, and sum up the fleet.

plan.py        what is a run under a source           worker.py      one run to one record
supervisor.py  local processes that may die           executors.py   dask, any concurrent.futures executor
journal.py     what is done so far                    store.py       the Parquet dataset
baselines.py, nodes.py, summary.py                       what an operator wants to know
campaign.py    connects all of it                     pages/         how it is shown
"""
