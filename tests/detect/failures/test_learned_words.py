"""What the reader of unknown messages learned beside what patterns and rules are tested for."""

import json
from pathlib import Path

import numpy as np

from analyzer.detect.failures.unknown_message import SHIPPED, shipped_messages
from analyzer.vocabulary.marked import load_marked

ROOT = Path(__file__).parents[3]
LARGEST = 4_500_000


def learned_words():
    for file in sorted((ROOT / "tests/rules/words").glob("*.yaml")):
        for cause, messages in load_marked(file.read_text(encoding="utf-8"), file.name).data.items():
            yield from ((message, cause) for message in messages)


def test_words_are_those_of_causes():
    known = {entry["id"] for entry in json.loads((ROOT / "rules/causes.json").read_text(encoding="utf-8"))}

    assert {cause for _, cause in learned_words()} <= known


def test_most_of_the_learned_words_bring_their_cause_among_three():
    model = shipped_messages()
    asked = [(message, cause) for message, cause in learned_words() if cause in model.causes]
    found = [
        cause in [model.causes[i] for i in np.argsort(-model.scores(message.splitlines()))[:3]]
        for message, cause in asked
    ]

    assert np.mean(found) >= 0.95


def test_the_model_is_small_and_its_pieces_are_in_order():
    model = shipped_messages()

    assert SHIPPED.stat().st_size <= LARGEST
    assert (np.diff(model.pieces.astype(np.int64)) > 0).all()
