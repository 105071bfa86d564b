"""The data card of a corpus: what is in it, how it was made and labelled, what it is not good for."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from .faults import load_all

TEXT = """# Data card: labelled runs of the fault lab

- **What**: {runs} small training runs with their logs: {healthy} healthy ones (twins, second seeds and faults that
  did not bite), {bitten} in which a planted fault bit, {unhealthy} twins that were not healthy themselves and carry no
  label. {faults} kinds of metric fault and {processes} of process fault were planted.
- **Made by** `python -m samples.lab make --runs {wanted} --seed {seed}`. Curves, log lines, files and exit codes are
  what the training and its logger gave; only the cause is planted. Wall times depend on the machine.
- **Labels** are cause ids of `rules/causes.json`, given by an outcome test against a healthy twin with the same
  configuration and a second one with other random numbers (`samples/lab/outcome.py`), never by the name of the fault.
  A fault that did not bite is `healthy`; the test's numbers stand in the column `outcome`.
- **observable** = false: the run did not log what would show the fault. Such runs are not used to train or judge.
- **A twin differs from its faulty run** in the fault and in what the fault's `configure` sets, nothing else.
- **Known limits**: models of at most 200,000 weights, runs of 100 to 400 steps, one process, a CPU; three synthetic
  tasks and the 8 x 8 digits of scikit-learn. No large-scale effect (sharding, long contexts, months of drift) is here.
- **Licence**: Apache-2.0, as the code; no third-party data but scikit-learn's digits (BSD-3-Clause, UCI).
"""


def write_card(out: Path, wanted: int, seed: int) -> None:
    """Write `CARD.md` beside the manifest."""
    with (out / "manifest.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    labels = Counter(row["label"] for row in rows)
    text = TEXT.format(
        runs=len(rows),
        healthy=labels["healthy"],
        bitten=sum(row["bit"] == "true" for row in rows),
        unhealthy=labels[""],
        faults=len(load_all()),
        processes=len({row["fault"] for row in rows if row["kind"] == "process"} - {"none"}),
        wanted=wanted,
        seed=seed,
    )
    tables = [_table(rows, name) for name in ("label", "writer", "architecture", "optimizer", "precision")]
    (out / "CARD.md").write_text(text + "\n".join(tables), encoding="utf-8")


def _table(rows: list[dict[str, str]], column: str) -> str:
    counts = Counter(row[column] or "(none)" for row in rows)
    lines = [f"\n| {column} | runs |", "|---|---|"]
    lines += [
        f"| {name} | {count} |"
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return "\n".join(lines) + "\n"
