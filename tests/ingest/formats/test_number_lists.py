"""Logs that are nothing but lists of numbers."""

import pytest
from log_reading import points, read_file

FALLING = [round(2.5 / (1 + n / 10), 4) for n in range(40)]
RISING = FALLING[::-1]


def read(tmp_path, text, name="train.log"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read_file(tmp_path / name)


def values(run, name):
    return [value for _, value in points(run, name)]


def in_rows(numbers):
    """As NumPy prints an array."""
    texts = [f"{number:.4f}" for number in numbers]
    return "[" + "\n ".join(" ".join(texts[at : at + 8]) for at in range(0, len(texts), 8)) + "]\n"


@pytest.mark.parametrize(
    "text", [str(FALLING), str([f"{n}" for n in FALLING]) + "\n\n", str(FALLING).replace("]", ",\n]"), in_rows(FALLING)]
)  # fmt: skip
def test_one_list_that_falls_stands_in_for_a_loss_as_a_column_does(tmp_path, text):
    assert values(read(tmp_path, text), "unnamed") == FALLING


def test_one_list_that_rises_is_read_and_stands_for_nothing(tmp_path):
    run = read(tmp_path, str(RISING))
    assert run.metrics.names == ("number",)
    assert values(run, "number") == RISING


def test_a_list_is_named_by_what_stands_before_it_or_by_its_file(tmp_path):
    run = read(tmp_path, f"loss: {FALLING[:8]}\nval_loss: {FALLING[8:16]}\n")
    assert (values(run, "loss"), values(run, "eval_loss")) == (FALLING[:8], FALLING[8:16])
    assert values(read(tmp_path, str(RISING[:8]), "val_loss.txt"), "eval_loss") == RISING[:8]
    assert values(read(tmp_path, str(RISING[:8]), "loss_log.txt"), "loss") == RISING[:8]


def test_several_lists_without_the_name_of_a_metric_are_courses_of_their_own(tmp_path):
    run = read(tmp_path, f"fold:{FALLING}\nfold:{FALLING[:7]}\n{RISING}\n{FALLING}\n")
    assert run.metrics.names == ("fold", "fold_2", "number", "number_2")
    assert values(run, "fold_2") == FALLING[:7]
    assert {int(line) for line in run.metrics.line} == {1, 2, 3, 4}


@pytest.mark.parametrize(
    "text",
    [
        f"{FALLING[:20]}\n",  # too short for a course
        f"{FALLING}\nthe weights of the classes\n",  # beside other words
        f"weights of the classes are {FALLING}\n",
        f"[{FALLING}, {FALLING}]\n",  # a matrix
        f"{list(range(5, 90))}\n",  # what counts or identifies
        "mean: [0.485, 0.456, 0.406]\nstd: [0.229, 0.224, 0.225]\n",
        "shape: [64, 3, 7, 7, 1, 1]\nstride: [2, 2, 1, 1, 1, 1]\n",
    ],
)
def test_lists_that_look_alike_are_no_course(tmp_path, text):
    assert not len(read(tmp_path, text).metrics)
