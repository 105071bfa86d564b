"""Train and judge the reader of messages: which cause a failed run is likeliest to have, by its words alone.

A corpus is folders of YAML files ``cause | further causes: [messages]``, the examples of all patterns with the cause that the rules
bring them to, and labelled public logs, of which only the hashes of their pieces are kept (``samples/casebook/messages.parquet``). Where
several causes are right for a message, the one that the rules bring it to counts wholly, else the first (``ridge.FURTHER``).
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import GroupKFold

from analyzer.casebook.labelled_words import read_labelled_words
from analyzer.classifier.ridge import Ridge, fit_ridge, pack_ridge
from analyzer.detect import run_detectors
from analyzer.detect.failures.message_features import pieces
from analyzer.errors import InputError
from analyzer.facts.build import build_facts
from analyzer.ingest.discover import load_run
from analyzer.model.arrays import Mask
from analyzer.model.labels import REST
from analyzer.record import dataclass
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

FOLDS = 3
"""A fit takes a minute."""


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
        if named is not None and named != REST:  # whatever nothing else explains has words of any kind
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


def train_messages(corpus: Corpus) -> tuple[dict[str, Any], dict[str, float]]:
    """The arrays of a model file, and what was measured on messages held out."""
    kept = _taught_enough(corpus.causes)
    messages = [corpus.pieces[i] for i in kept]
    right = [corpus.causes[i] for i in kept]
    groups = np.array([corpus.groups[i] for i in kept])
    first, three = _cross_validated(messages, right, groups)
    model = fit_messages(messages, right)
    arrays = {
        "causes": model.labels,
        "pieces": np.fromiter(model.place, dtype=np.uint32),
        **pack_ridge(model),
    }
    return arrays, {
        "messages": float((groups == "").sum()),
        "logs": float((groups != "").sum()),
        "causes": float(len(model.labels)),
        "top1": float(first.mean()) if len(first) else 0.0,
        "top3": float(three.mean()) if len(three) else 0.0,
    }


def _taught_enough(causes: Sequence[tuple[str, ...]]) -> list[int]:
    """The messages whose cause has enough of them."""
    count = Counter(right[0] for right in causes)
    return [i for i, right in enumerate(causes) if count[right[0]] >= ENOUGH]


def fit_without(corpus: Corpus, left_out: Collection[int]) -> Ridge:
    """The ridge over a corpus without some of its messages."""
    taken = [i for i in range(len(corpus.causes)) if i not in left_out]
    kept = [taken[i] for i in _taught_enough([corpus.causes[i] for i in taken])]
    return fit_messages([corpus.pieces[i] for i in kept], [corpus.causes[i] for i in kept])


def fit_messages(messages: Sequence[Collection[int]], right: Sequence[tuple[str, ...]]) -> Ridge:
    """The ridge over the pieces that weigh most in one over all pieces that two messages share."""
    counts = Counter(piece for message in messages for piece in message)
    shared = sorted(piece for piece, count in counts.items() if count > 1)
    model = fit_ridge(messages, right, shared, STRENGTH)
    told = np.linalg.norm(model.weights, axis=1) * model.rarity * np.sqrt([counts[piece] for piece in shared])
    most = [shared[i] for i in np.argsort(-told)[:KNOWN_PIECES]]
    return fit_ridge(messages, right, sorted(most), STRENGTH)


def _cross_validated(
    messages: Sequence[Collection[int]], right: Sequence[tuple[str, ...]], groups: npt.NDArray[np.str_]
) -> tuple[Mask, Mask]:
    """Of labelled logs held out, groups together: whether the first answer is right, and whether one of three is."""
    logs, own = np.flatnonzero(groups != ""), np.flatnonzero(groups == "")
    hit: list[list[bool]] = []
    folds = GroupKFold(FOLDS).split(logs, groups=groups[logs]) if len(set(groups[logs])) >= FOLDS else ()
    for seen, held in folds:
        known = np.concatenate([own, logs[seen]])
        model = fit_messages([messages[i] for i in known], [right[i] for i in known])
        best = model.likeliest([messages[i] for i in logs[held]])
        hit += [[cause in right[i] for cause in row] for i, row in zip(logs[held], best, strict=True)]
    table = np.array(hit, bool).reshape(-1, 3)
    return np.asarray(table[:, 0]), np.asarray(table.any(axis=1))
