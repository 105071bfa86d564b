"""Exceptions that were printed without their traceback."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from log_reading import only, read_text


def test_an_exception_alone_in_a_log_is_believed() -> None:
    run = read_text(
        "launching\nRuntimeError: The size of tensor a (56) must match the size of tensor b (14)\n"
    )
    fields = only(run, "python_traceback")
    assert fields["exception"] == "RuntimeError"
    assert fields["message"] == "The size of tensor a (56) must match the size of tensor b (14)"


def test_the_last_of_several_is_taken_with_its_module() -> None:
    run = read_text(
        "ValueError: first\nmy_lab.errors.LayoutError: two heads for one tail:\n    head.a, head.b\n"
    )
    fields = only(run, "python_traceback")
    assert fields["exception"] == "my_lab.errors.LayoutError"
    assert "head.a, head.b" in str(fields["message"])


def test_a_traceback_is_told_once() -> None:
    run = read_text(
        "Traceback (most recent call last):\n  File \"/data/run/train.py\", line 3, in main\n    run()\nKeyError: 'a'\nValueError: later\n"
    )
    assert [event.fields["exception"] for event in run.events.of("python_traceback")] == ["KeyError"]


def test_a_run_that_prints_metrics_has_caught_what_it_printed() -> None:
    run = read_text(
        "ImportError: no fast tokenizer, using the slow one\n{'loss': 2.1, 'learning_rate': 1e-4, 'epoch': 0.1}\n"
    )
    assert not run.events.of("python_traceback")


def test_what_a_finaliser_raised_ends_nothing() -> None:
    ignored = "Exception ignored in: <bound method Session.__del__ of <acme.Session object at 0x7f>>\n"
    run = read_text(
        f"loss: 0.2213\nsaved to final.h5\n{ignored}TypeError: 'NoneType' object is not callable\n"
    )
    assert only(run, "ignored_exception")["exception"] == "TypeError"
    assert not run.events.of("python_traceback")
    assert not run.events.of("error_line")
    run = read_text(
        f"{ignored}TypeError: 'NoneType' object is not callable\n\nnext run\n\nValueError: no column fits\n"
    )
    assert only(run, "python_traceback")["exception"] == "ValueError"


def test_what_a_pattern_knows_stays_with_the_pattern() -> None:
    run = read_text("RuntimeError: CUDA error: an illegal memory access was encountered\n")
    assert not run.events.of("python_traceback")
    assert run.events.of("illegal_memory_access")


def test_names_of_metrics_and_prose_are_no_exceptions() -> None:
    run = read_text("Mean Absolute Error: 0.4\nTest Error: 12.5\nWarning: Error: none\nError: see above\n")
    assert not run.events.of("python_traceback")


@given(st.text(max_size=80))
def test_no_text_breaks_it(text: str) -> None:
    read_text(f"TypeError: {text}")


def test_a_traceback_that_was_cut_off_does_not_hide_it() -> None:
    run = read_text(
        "ValueError: no column fits\n"
        + "waiting\n" * 3
        + 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    run()\n'
    )
    assert only(run, "python_traceback")["exception"] == "ValueError"
    assert run.events.of("traceback_cut")


def test_a_refused_pickle_is_believed() -> None:
    run = read_text("UnpicklingError: Weights only load failed. This file can still be loaded.\n")
    assert only(run, "python_traceback")["exception"] == "UnpicklingError"


def test_a_heading_is_believed_and_a_sentence_is_an_error_where_nothing_else_is_told() -> None:
    heading = read_text(
        "# AttributeError: 'Fitter' object has no attribute 'use_two'\n\nTraceback (most recent call last):\n  File \"a.py\", line 3, in go\n"
    )
    assert only(heading, "python_traceback")["message"] == "'Fitter' object has no attribute 'use_two'"
    spoken = read_text(
        "At the end of the epoch it fails with ValueError: shapes do not fit: [8] vs. [2, 4]\n"
    )
    (event,) = spoken.events.of("error_line")
    assert event.role == "symptom"


def test_a_sentence_about_what_was_caught_is_none() -> None:
    run = read_text(
        "Skipping the plot after ImportError: no module for it, which is fine\nwaiting for data\n"
    )
    assert [event.role for event in run.events.of("error_line")] != ["symptom"]


def test_the_interpreter_of_lua_raises_too() -> None:
    run = read_text(
        "/opt/lua/bin/luajit: /opt/lua/share/nn/THNN.lua:110: bad argument #3 to 'v'\nstack traceback:\n"
    )
    assert "bad argument #3" in str(only(run, "python_traceback")["message"])


def test_the_interpreter_of_lua_ends_with_its_stack_whatever_it_had_told_before() -> None:
    rows = "".join(f"epoch {n} loss {2 - n / 5:.2f}\n" for n in range(4))
    stack = (
        "stack traceback:\n\t[C]: at 0x7f40\n\t[C]: in function 'randperm'\n\tmain.lua:72: in main chunk\n"
    )
    text = (
        f"/opt/lua/bin/luajit: bad argument #1 to '?' (must be strictly positive)\n{stack}\t[C]: at 0x0406\n"
    )
    assert "to 'randperm'" in str(only(read_text(rows + text), "python_traceback")["message"])
    assert not list(read_text(text.replace(stack, "") + rows).events.of("python_traceback"))


def test_a_version_of_lua_is_no_error() -> None:
    run = read_text("lua: 5.1\nbackend: torch\nlua: a language with a small interpreter\n")
    assert not list(run.events.of("python_traceback"))
