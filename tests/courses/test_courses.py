"""The same courses printed in sixteen ways: no faulty one is healthy, no sound one accused, no wrong cause is sure.

What a row looks like must not decide what is said of the run, and neither must their number: five epochs are usual.
"""

from functools import cache

import pytest
from course_curves import courses
from course_rows import FORMATS

import analyzer

SURE = 0.6
EPOCHS = (5, 14)


@pytest.fixture(scope="module")
def answers(causes_only, tmp_path_factory):
    """Course and answer by its name, of a form and a number of epochs; several tests ask for the same."""

    @cache
    def of(form, epochs):
        found = {}
        for name, course in courses(epochs, seed=epochs).items():
            path = tmp_path_factory.mktemp(form) / "train.log"
            rows = zip(course.train, course.valid, course.accuracy, strict=True)
            text = "\n".join(FORMATS[form](i, epochs, *row) for i, row in enumerate(rows))
            path.write_text(text + "\n", encoding="utf-8")
            found[name] = course, analyzer.diagnose(path)
        return found

    return of


@pytest.mark.parametrize("epochs", EPOCHS)
@pytest.mark.parametrize("form", FORMATS)
def test_a_faulty_course_is_never_healthy_and_no_other_cause_is_sure(answers, form, epochs):
    wrong = []
    for name, (course, found) in answers(form, epochs).items():
        if not course.causes:
            continue
        first = next((f for f in found.findings if f.cause.kind != "benign"), None)
        sure = first is not None and first.probability >= SURE and first.cause.id not in course.causes
        if found.status == "healthy" or sure:
            wrong.append((name, found.status, first and (first.cause.id, round(first.probability, 2))))

    assert wrong == []


@pytest.mark.parametrize("epochs", EPOCHS)
@pytest.mark.parametrize("form", FORMATS)
def test_a_sound_course_is_read_whole_and_not_accused(answers, form, epochs):
    _, found = answers(form, epochs)["sound"]

    assert found.status in {"healthy", "insufficient"}
    # the row of an evaluation repeats the epoch of the row before it
    assert max(count for name, count in found.coverage.metrics.items() if name != "epoch") == epochs


@pytest.mark.parametrize("form", FORMATS)
def test_a_fault_in_fourteen_epochs_is_named(answers, form):
    named = []
    for name, (course, found) in answers(form, 14).items():
        named += [name] * bool({f.cause.id for f in found.findings[:3]} & course.causes)

    assert len(named) >= 8, named  # of ten
