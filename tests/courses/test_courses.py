"""The same courses printed in sixteen ways: no faulty one is healthy, no sound one accused, no wrong cause is sure.

What a row looks like must not decide what is said of the run, and neither must their number: five epochs are usual.
"""

import pytest
from course_curves import courses
from course_rows import FORMATS

import analyzer

SURE = 0.6
EPOCHS = (5, 14)


def _diagnose(tmp_path, form, course, epochs):
    path = tmp_path / "train.log"
    rows = zip(course.train, course.valid, course.accuracy, strict=True)
    text = "\n".join(FORMATS[form](i, epochs, *row) for i, row in enumerate(rows))
    path.write_text(text + "\n", encoding="utf-8")
    return analyzer.diagnose(path)


@pytest.mark.parametrize("epochs", EPOCHS)
@pytest.mark.parametrize("form", FORMATS)
def test_a_faulty_course_is_never_healthy_and_no_other_cause_is_sure(tmp_path, form, epochs):
    wrong = []
    for name, course in courses(epochs, seed=epochs).items():
        if not course.causes:
            continue
        found = _diagnose(tmp_path, form, course, epochs)
        first = next((f for f in found.findings if f.cause.kind != "benign"), None)
        sure = first is not None and first.probability >= SURE and first.cause.id not in course.causes
        if found.status == "healthy" or sure:
            wrong.append((name, found.status, first and (first.cause.id, round(first.probability, 2))))

    assert wrong == []


@pytest.mark.parametrize("epochs", EPOCHS)
@pytest.mark.parametrize("form", FORMATS)
def test_a_sound_course_is_read_whole_and_not_accused(tmp_path, form, epochs):
    found = _diagnose(tmp_path, form, courses(epochs, seed=epochs)["sound"], epochs)

    assert found.status in {"healthy", "insufficient"}
    # the row of an evaluation repeats the epoch of the row before it
    assert max(count for name, count in found.coverage.metrics.items() if name != "epoch") == epochs


@pytest.mark.parametrize("form", FORMATS)
def test_a_fault_in_fourteen_epochs_is_named(tmp_path, form):
    named = []
    for name, course in courses(14, seed=14).items():
        found = _diagnose(tmp_path, form, course, 14)
        named += [name] * bool({f.cause.id for f in found.findings[:3]} & course.causes)

    assert len(named) >= 8, named  # of ten
