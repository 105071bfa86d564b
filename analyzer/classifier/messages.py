"""Train and judge the reader of unknown messages: which cause a message is likeliest to have, by its words alone.

A corpus is a folder of YAML files ``cause | further causes: [messages]``, to which the examples of all patterns are added
with the cause that the rules bring them to. Where several causes are right for a message, the one that the rules bring it
to is learned, else the first.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from analyzer.detect import run_detectors
from analyzer.detect.failures.message_features import BUCKETS, pieces
from analyzer.detect.linear import pack_linear, probabilities
from analyzer.errors import InputError
from analyzer.facts.build import build_facts
from analyzer.ingest.discover import load_run
from analyzer.model.arrays import Mask, Values
from analyzer.model.wording import REPORTED
from analyzer.rules.load import RuleSet
from analyzer.rules.score import rank
from analyzer.vocabulary.events import event_files
from analyzer.vocabulary.marked import load_marked

if TYPE_CHECKING:
    import numpy.typing as npt

ENOUGH = 4
"""Messages of a cause; fewer teach a wording and no cause."""

FOLDS = 5

STRENGTH = 30.0
"""Inverse regularisation: as good as 10 and 100 on held-out messages, within their scatter."""

RIGHT_AT_LEAST = 0.9
"""Share of the answers that must be right on messages held out; it sets the probability from which one is given.

At 0.85 two of three messages of causes that were left out of training were answered, at 0.9 one of three; and on logs of
further threads 22 of 33 answers were right at 0.85 and 16 of 20 at 0.9, while the rules know most of those left out.
"""

OTHERWISE = "user-code-exception"
"""Whatever no other cause explains; its messages are of any kind, so nothing is learned from an example of it."""


@dataclass(frozen=True)
class Corpus:
    """Messages with the causes that are right for each; the first is the one that is learned."""

    messages: tuple[str, ...]
    causes: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Judged:
    """Answers on messages that were held out.

    Attributes:
        probability: Of the likeliest cause.
        right: Whether it is one of those that are right.
    """

    probability: Values
    right: Mask

    def share_right(self, least: float) -> float:
        """Share of right answers among those of a probability or more."""
        given = self.probability >= least
        return float(self.right[given].mean()) if given.any() else 1.0


def load_corpus(folder: Path, rules: RuleSet) -> Corpus:
    """The messages of a folder, and the examples of all patterns.

    Raises:
        InputError: The folder holds no messages.
    """
    found: dict[str, tuple[str, ...]] = {}
    for message in _examples():
        named = _named_by_rules(message, rules)
        if named is not None and named != OTHERWISE:
            found[message] = (named,)
    for file in sorted(folder.rglob("*.yaml")):
        table: Mapping[str, Sequence[str]] = load_marked(file.read_text(encoding="utf-8"), file.name).data
        for causes, messages in table.items():
            right = [cause.strip() for cause in causes.split("|")]
            for message in messages:
                found[message] = _first(right, _named_by_rules(message, rules))
    if not found:
        raise InputError(f"{folder}: no messages (*.yaml: 'cause | cause: [message, …]')")
    return Corpus(tuple(found), tuple(found.values()))


def _examples() -> Iterator[str]:
    """The examples of all patterns."""
    for file in event_files():
        for pattern in load_marked(file.read_text(encoding="utf-8"), file.name).data.get("patterns", []):
            yield from [pattern["example"]] if isinstance(pattern["example"], str) else pattern["example"]


def _named_by_rules(message: str, rules: RuleSet) -> str | None:
    """The first cause that the rules give for a log that holds a message and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "train.log"
        log.write_text(message + "\n", encoding="utf-8")
        try:
            facts = build_facts(run_detectors(load_run(log).run)).plain
        except InputError:
            return None
    kinds = rank(rules.in_question(facts), facts).kinds.values()
    scored = [item for items in kinds for item in items]
    return max(scored, key=lambda item: item.probability).rule.entry.id if scored else None


def _first(causes: Sequence[str], chosen: str | None) -> tuple[str, ...]:
    """Some causes with the chosen one first, if it is one of them."""
    return tuple(sorted(causes, key=lambda cause: cause != chosen))


def train_messages(corpus: Corpus) -> tuple[dict[str, Any], dict[str, float]]:
    """The arrays of a model file, and what was measured on messages held out."""
    learned = [cause[0] for cause in corpus.causes]
    enough = Counter(learned)
    kept = [i for i, cause in enumerate(learned) if enough[cause] >= ENOUGH]
    places = [sorted(pieces(corpus.messages[i].splitlines())) for i in kept]
    right = [corpus.causes[i] for i in kept]
    target = np.array([learned[i] for i in kept])
    temperature, judged = _cross_validated(places, target, right)
    strange = _strange(places, target, temperature)
    least = next(
        level for level in np.arange(REPORTED, 1.0, 0.01) if judged.share_right(level) >= RIGHT_AT_LEAST
    )
    rarity = _rarity(places)
    model = _fitted(_matrix(places, rarity), target)
    arrays = {
        "causes": model.classes_.astype(np.str_),
        **pack_linear(model.coef_, model.intercept_),
        "rarity": rarity.astype(np.float16),
        "temperature": np.float64(temperature),
        "least": np.float64(least),
    }
    given = judged.probability >= least
    return arrays, {
        "messages": float(len(kept)),
        "causes": float(len(model.classes_)),
        "top1": float(judged.right.mean()),
        "answered": float(given.mean()),
        "right_if_answered": float(judged.right[given].mean()) if given.any() else 0.0,
        "unknown_answered": float((strange >= least).mean()),
    }


def _rarity(places: Sequence[Sequence[int]]) -> Values:
    """Inverse document frequency of each piece; 0 where no message has it."""
    counts = np.zeros(BUCKETS)
    for row in places:
        counts[list(row)] += 1
    return np.where(counts > 0, np.log((1 + len(places)) / (1 + counts)) + 1, 0.0)


def _matrix(places: Sequence[Sequence[int]], rarity: Values) -> Values:
    """One row of length 1 per message."""
    rows = np.zeros((len(places), BUCKETS))
    for row, found in zip(rows, places, strict=True):
        row[list(found)] = rarity[list(found)]
    scaled: Values = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return scaled


def _fitted(rows: Values, target: npt.NDArray[np.str_]) -> Any:
    return LogisticRegression(C=STRENGTH, max_iter=300, tol=1e-3).fit(csr_matrix(rows), target)


def _cross_validated(
    places: Sequence[Sequence[int]], target: npt.NDArray[np.str_], right: Sequence[tuple[str, ...]]
) -> tuple[float, Judged]:
    """The temperature that fits messages held out, and the answers on them."""
    classes = np.unique(target)
    scores = np.zeros((len(target), len(classes)))
    folds = StratifiedKFold(min(FOLDS, ENOUGH), shuffle=True, random_state=0)
    for seen, held in folds.split(np.zeros(len(target)), target):
        taught, asked = [places[i] for i in seen], [places[i] for i in held]
        rarity = _rarity(taught)
        scores[held] = _fitted(_matrix(taught, rarity), target[seen]).decision_function(
            _matrix(asked, rarity)
        )
    column = np.searchsorted(classes, target)
    temperature = min(
        np.arange(0.3, 2.0, 0.05),
        key=lambda value: (
            -float(np.log(probabilities(scores / value)[np.arange(len(target)), column].clip(1e-9)).mean())
        ),
    )
    shares = probabilities(scores / temperature)
    chosen = classes[shares.argmax(axis=1)]
    hit = np.array([cause in causes for cause, causes in zip(chosen, right, strict=True)])
    return float(temperature), Judged(shares.max(axis=1), hit)


def _strange(places: Sequence[Sequence[int]], target: npt.NDArray[np.str_], temperature: float) -> Values:
    """Probability of the answers on messages of causes that training did not see: a fifth of the causes at a time."""
    found = np.zeros(len(target))
    classes = np.random.default_rng(0).permutation(np.unique(target))
    for left_out in np.array_split(classes, FOLDS):
        held = np.isin(target, left_out)
        taught = [row for row, out in zip(places, held, strict=True) if not out]
        asked = [row for row, out in zip(places, held, strict=True) if out]
        rarity = _rarity(taught)
        scores = _fitted(_matrix(taught, rarity), target[~held]).decision_function(_matrix(asked, rarity))
        found[held] = probabilities(scores / temperature).max(axis=1)
    return found
