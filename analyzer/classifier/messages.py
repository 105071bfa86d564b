"""Train and judge the reader of messages: which cause a failed run is likeliest to have, by its words alone.

A corpus is folders of YAML files ``cause | further causes: [messages]``, the examples of all patterns with the cause that the rules
bring them to, and labelled public logs, of which only the hashes of their pieces are kept (``samples/casebook/messages.parquet``). Where
several causes are right for a message, the one that the rules bring it to is learned, else the first.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_matrix
from sklearn.model_selection import GroupKFold

from analyzer.casebook.labelled_words import read_labelled_words
from analyzer.detect import run_detectors
from analyzer.detect.failures.message_features import pieces
from analyzer.detect.linear import pack_linear, probabilities
from analyzer.errors import InputError
from analyzer.facts.build import build_facts
from analyzer.ingest.discover import load_run
from analyzer.model.arrays import Mask, Values
from analyzer.record import NamedTuple, dataclass
from analyzer.rules.load import RuleSet
from analyzer.rules.score import rank
from analyzer.vocabulary.events import event_files
from analyzer.vocabulary.marked import load_marked

if TYPE_CHECKING:
    import numpy.typing as npt

ENOUGH = 3
"""Messages of a cause; fewer teach a wording and no cause."""

KNOWN_PIECES = 25_000
"""Pieces that are kept, of 84,000 that two messages share, in 4 MB: on logs that training did not see 0.5 % fewer are right than with all
of them, with 10,000 pieces 1.4 %."""

STRENGTH = 1.0
"""Of the ridge: 0.3 to 4 are alike on public logs that training did not see, and all better than a logistic regression.

Of 232 such logs of which no rule knew more than that something was raised, 1.0 brought 154 to the right cause and the regression 131.
"""

TEMPERATURE = 0.08
"""Of 0.06 to 0.1 the one whose pool with rules was wrong and sure least on 1,116 public failures, each set held out."""

FOLDS = 3
"""A fit takes a minute."""

OTHERWISE = "user-code-exception"
"""Whatever no other cause explains; its messages are of any kind, so nothing is learned from an example of it."""


@dataclass(frozen=True)
class Corpus:
    """Pieces of messages with the causes that are right for each; the first is the one that is learned.

    The group is where a labelled log came from; of our own messages it is empty.
    """

    pieces: tuple[Collection[int], ...]
    causes: tuple[tuple[str, ...], ...]
    groups: tuple[str, ...]


def load_corpus(places: Sequence[Path], rules: RuleSet) -> Corpus:
    """The messages of some folders, the labelled logs of some Parquet files, and the examples of all patterns.

    Raises:
        InputError: A folder holds no messages, or a file no labelled logs.
    """
    own = _messages([place for place in places if place.suffix != ".parquet"], rules)
    logs = [log for place in places if place.suffix == ".parquet" for log in read_labelled_words(place)]
    return Corpus(
        (*(pieces(message.splitlines()) for message in own), *(log.pieces for log in logs)),
        (*own.values(), *((log.label, *log.acceptable) for log in logs)),
        (*("" for _ in own), *(log.source for log in logs)),
    )


def _messages(folders: Sequence[Path], rules: RuleSet) -> dict[str, tuple[str, ...]]:
    """Our own messages with the causes that are right for each."""
    found: dict[str, tuple[str, ...]] = {}
    for message in _examples():
        named = _named_by_rules(message, rules)
        if named is not None and named != OTHERWISE:
            found[message] = (named,)
    for file in _tables(folders):
        table: Mapping[str, Sequence[str]] = load_marked(file.read_text(encoding="utf-8"), file.name).data
        for causes, messages in table.items():
            right = [cause.strip() for cause in causes.split("|")]
            for message in messages:
                found[message] = _first(right, _named_by_rules(message, rules))
    return found


def _tables(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        tables = sorted(folder.rglob("*.yaml"))
        if not tables:
            raise InputError(f"{folder}: no messages (*.yaml: 'cause | cause: [message, …]')")
        yield from tables


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


class Fitted(NamedTuple):
    """A ridge from the pieces of messages to their causes: 1 for the right one, 0 for the others."""

    classes: npt.NDArray[np.str_]
    known: dict[int, int]
    rarity: Values
    weights: Values
    bias: Values

    def shares(self, messages: Sequence[Collection[int]]) -> Values:
        """Probability of each cause for some messages."""
        scores = _matrix(messages, self.known, self.rarity) @ self.weights + self.bias
        return np.asarray(probabilities(scores / TEMPERATURE))


def train_messages(corpus: Corpus) -> tuple[dict[str, Any], dict[str, float]]:
    """The arrays of a model file, and what was measured on messages held out."""
    learned = [cause[0] for cause in corpus.causes]
    enough = Counter(learned)
    kept = [i for i, cause in enumerate(learned) if enough[cause] >= ENOUGH]
    messages = [corpus.pieces[i] for i in kept]
    target = np.array([learned[i] for i in kept])
    groups = np.array([corpus.groups[i] for i in kept])
    first, three = _cross_validated(messages, target, groups, [corpus.causes[i] for i in kept])
    model = _fitted(messages, target)
    order = np.argsort(np.fromiter(model.known, dtype=np.uint32))
    arrays = {
        "causes": model.classes,
        "pieces": np.sort(np.fromiter(model.known, dtype=np.uint32)),
        "rarity": model.rarity[order].astype(np.float16),
        **pack_linear(model.weights[order].T, model.bias),
        "temperature": np.float64(TEMPERATURE),
    }
    return arrays, {
        "messages": float((groups == "").sum()),
        "logs": float((groups != "").sum()),
        "causes": float(len(model.classes)),
        "top1": float(first.mean()) if len(first) else 0.0,
        "top3": float(three.mean()) if len(three) else 0.0,
    }


def _matrix(messages: Sequence[Collection[int]], known: Mapping[int, int], rarity: Values) -> csr_matrix:
    """One row of length 1 per message."""
    rows = [[known[piece] for piece in message if piece in known] for message in messages]
    values = [rarity[row] / max(float(np.linalg.norm(rarity[row])), 1e-12) for row in rows]
    ends = np.cumsum([0, *map(len, rows)])
    return csr_matrix(
        (np.concatenate(values), np.concatenate(rows).astype(np.int64), ends), shape=(len(rows), len(known))
    )


def _fitted(messages: Sequence[Collection[int]], target: npt.NDArray[np.str_]) -> Fitted:
    """The ridge over the pieces that weigh most in one over all pieces that two messages share."""
    counts = Counter(piece for message in messages for piece in message)
    shared = sorted(piece for piece, count in counts.items() if count > 1)
    model = _ridge(messages, target, counts, shared)
    told = np.linalg.norm(model.weights, axis=1) * model.rarity * np.sqrt([counts[piece] for piece in shared])
    return _ridge(messages, target, counts, [shared[i] for i in np.argsort(-told)[:KNOWN_PIECES]])


def _ridge(
    messages: Sequence[Collection[int]],
    target: npt.NDArray[np.str_],
    counts: Mapping[int, int],
    shared: Sequence[int],
) -> Fitted:
    """Solved over the messages, of which there are fewer than pieces."""
    known = {piece: place for place, piece in enumerate(shared)}
    rarity = np.log((1 + len(messages)) / (1 + np.array([counts[piece] for piece in shared]))) + 1
    rows = _matrix(messages, known, rarity)
    classes, column = np.unique(target, return_inverse=True)
    wanted = np.eye(len(classes))[column]
    bias = wanted.mean(axis=0)
    alike = (rows @ rows.T).toarray()
    alike[np.diag_indices_from(alike)] += STRENGTH
    dual = cho_solve(cho_factor(alike, overwrite_a=True), wanted - bias)
    return Fitted(classes, known, rarity, np.asarray(rows.T @ dual), bias)


def _cross_validated(
    messages: Sequence[Collection[int]],
    target: npt.NDArray[np.str_],
    groups: npt.NDArray[np.str_],
    right: Sequence[tuple[str, ...]],
) -> tuple[Mask, Mask]:
    """Of labelled logs held out, groups together: whether the first answer is right, and whether one of three is."""
    logs, own = np.flatnonzero(groups != ""), np.flatnonzero(groups == "")
    hit: list[list[bool]] = []
    folds = GroupKFold(FOLDS).split(logs, groups=groups[logs]) if len(set(groups[logs])) >= FOLDS else ()
    for seen, held in folds:
        known = np.concatenate([own, logs[seen]])
        model = _fitted([messages[i] for i in known], target[known])
        shares = model.shares([messages[i] for i in logs[held]])
        best = model.classes[np.argsort(-shares, axis=1)[:, :3]]
        hit += [[cause in right[i] for cause in row] for i, row in zip(logs[held], best, strict=True)]
    table = np.array(hit, bool).reshape(-1, 3)
    return np.asarray(table[:, 0]), np.asarray(table.any(axis=1))
