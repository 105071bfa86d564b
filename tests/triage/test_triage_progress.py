"""The line on standard error: rate, time left, failures; nothing where nobody watches."""

from analyzer.triage.progress import Progress


def test_the_line_says_how_far_how_fast_and_what_failed(capsys, monkeypatch):
    clock = iter([10.0, 20.0])
    monkeypatch.setattr("analyzer.triage.progress.time.monotonic", lambda: next(clock))
    progress = Progress(visible=True)
    progress("diagnosing", 1, 100, 0)
    progress("diagnosing", 50, 100, 3)
    progress.end()
    last = capsys.readouterr().err.split("\r\x1b[K")[-2]

    assert last == "[##########          ] 50/100 diagnosing, 5 runs/s, 10 s left, 3 failed"


def test_without_a_terminal_nothing_is_drawn(capsys):
    progress = Progress()
    progress("diagnosing", 1, 1, 0)
    progress.end()

    assert capsys.readouterr().err == ""
