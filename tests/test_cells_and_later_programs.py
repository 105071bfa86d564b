"""What a log shows behind an error: another cell, another program, or so much more that nothing had ended."""

import pytest

import analyzer
from analyzer.ingest.discover import load_run

CELL = """---------------------------------------------------------------------------
{name}                         Traceback (most recent call last)
Cell In[{number}], line 2
      1 model = build()
----> 2 model.fit(rows)

File /opt/venv/lib/python3.11/site-packages/fitting/model.py:90, in Model.fit(self, rows)
     89 for row in rows:
---> 90     self.step(row)

{name}: {message}
"""
PROGRAM = """Traceback (most recent call last):
  File "train.py", line 41, in <module>
    main()
  File "train.py", line 30, in main
    step(batch)
{raised}
"""


def told(tmp_path, text):
    path = tmp_path / "train.log"
    path.write_text(text)
    return analyzer.diagnose(path)


def events_of(tmp_path, text):
    path = tmp_path / "train.log"
    path.write_text(text)
    return load_run(path).run.events


def first(dx):
    return dx.findings[0].cause.id if dx.findings else ""


def cell(name, message, number):
    return CELL.format(name=name, message=message, number=number)


def test_of_several_cells_that_failed_the_last_one_is_the_end(tmp_path):
    stopped = cell("KeyboardInterrupt", "", 3)
    failed = cell("ModuleNotFoundError", "No module named 'shiny'", 4)

    assert first(told(tmp_path, stopped + failed)) == "package-missing"
    assert first(told(tmp_path, failed + stopped)) == "user-cancelled"


def test_an_interrupted_program_is_not_the_end_of_one_that_failed_later(tmp_path):
    stopped = PROGRAM.format(raised="KeyboardInterrupt")
    failed = PROGRAM.format(raised="FileNotFoundError: [Errno 2] No such file or directory: 'a.csv'")
    on_its_way = "\nDuring handling of the above exception, another exception occurred:\n\n"

    assert first(told(tmp_path, stopped + "started again\n" + failed)) == "missing-input-path"
    assert first(told(tmp_path, stopped + on_its_way + failed)) == "user-cancelled"


@pytest.mark.parametrize(
    ("last", "ended"), [("", False), ("step 3 of the launch: exit code 1\n" + PROGRAM, True)]
)
def test_a_program_that_prints_a_thousand_lines_behind_an_error_had_not_ended(tmp_path, last, ended):
    refused = "Error: Unable to create listening socket: Address already in use\n"
    text = refused + "".join(f"route {n} answered in {n % 7} ms\n" for n in range(1000))
    dx = told(tmp_path, text + last.format(raised="OSError: [Errno 98] Address already in use"))

    assert (first(dx) == "rendezvous-port-in-use") is ended
    assert (dx.status == "failed") is ended


def test_an_end_from_outside_goes_before_a_suspicion_of_the_curve(tmp_path):
    slow = "".join(
        f"iter {n}: loss {3 - n / 200:.4f}, time {150 + 6 * (n // 10)}ms\n" for n in range(0, 340, 10)
    )
    dx = told(tmp_path, slow + PROGRAM.format(raised="KeyboardInterrupt"))

    assert first(dx) == "user-cancelled"
    assert dx.status == "interrupted"


def test_an_error_of_a_cell_below_which_others_wrote_much_ended_nothing(tmp_path):
    failed = cell("ModuleNotFoundError", "No module named 'shiny'", 4)
    pairs = "".join(f"source: the {n}th sentence\nanswer: der {n}. Satz\n" for n in range(20))

    assert told(tmp_path, failed + pairs).status != "failed"
    assert told(tmp_path, failed + pairs[:120]).status == "failed"


RECORD = "[2026-06-10 08:12:58,505][reader.store][{level}] - {text}\n"
MISSING = "Recording failed: [Errno 2] No such file or directory: 'play'"
LIBRARY = "Failed to load library: libreader.so.0: cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("level", "text", "below", "failed"),
    [
        ("WARNING", MISSING, 40, False),
        ("WARNING", MISSING, 3, True),
        ("ERROR", MISSING, 40, True),
    ],
)
def test_a_record_below_the_level_of_an_error_ends_nothing_that_goes_on(tmp_path, level, text, below, failed):
    above = "".join(RECORD.format(level="INFO", text=f"pass {n} of 90") for n in range(20))
    lines = "".join(RECORD.format(level="INFO", text=f"clip {n} is read") for n in range(below))
    dx = told(tmp_path, above + RECORD.format(level=level, text=text) + lines)

    assert ("missing-input-path" in {f.cause.id for f in dx.findings if not f.by_likeness}) is failed


@pytest.mark.parametrize(("level", "kind"), [("INFO", ""), ("ERROR", "library_mismatch")])
def test_what_a_record_of_information_did_not_find_was_not_needed(tmp_path, level, kind):
    seen = told(tmp_path, RECORD.format(level=level, text=LIBRARY) * 2).first_failure

    assert (seen.kind if seen else "") == kind


def test_a_script_that_was_not_found_is_not_the_end_of_the_next_one(tmp_path):
    lost = "/usr/bin/python: can't open file 'trian.py': [Errno 2] No such file or directory\n"

    assert first(told(tmp_path, lost + PROGRAM.format(raised="KeyboardInterrupt"))) == "user-cancelled"
    assert first(told(tmp_path, lost)) == "missing-input-path"


CUT_CELL = """{name}                    Traceback (most recent call last)
Cell In[4], line 2
----> 2 state = start(key)

File /opt/venv/lib/python3.11/site-packages/starting/keys.py:137, in key_of(seed)
    134 if seed is None:
    135   raise TypeError("a seed is one number, but none was given")
--> 137 return seed_with(kind, seed)

File /opt/venv/lib/python3.11/site-packages/
"""
OTHER_RELEASE = (
    "E cuda_dnn.cc:427] Loaded runtime CuDNN library: 8.5.0 but source was compiled with: 8.6.0.\n"
)


def test_the_code_around_the_line_that_ran_raised_nothing(tmp_path):
    events = events_of(tmp_path, CUT_CELL.format(name="RuntimeError"))

    assert not events.of("python_traceback")
    assert events.of("traceback_cut")


@pytest.mark.parametrize(
    ("name", "read"), [("BackendError", ["BackendError"]), ("ValueError", []), ("CalledProcessError", [])]
)
def test_the_header_of_a_cell_names_the_exception_whose_own_line_was_cut(tmp_path, name, read):
    events = events_of(tmp_path, CUT_CELL.format(name=name))

    assert [event.fields["exception"] for event in events.of("python_traceback")] == read


def test_a_line_above_the_traceback_of_its_own_cell_did_not_end_in_an_earlier_one(tmp_path):
    below = CUT_CELL.format(name="BackendError")
    installed = "ERROR: No matching distribution found for shiny==9\n"

    assert first(told(tmp_path, OTHER_RELEASE + below)) == "library-abi-mismatch"
    assert first(told(tmp_path, installed + below)) != "environment-unsolvable"
