"""What a message of a failed program is brought to: each line of ``messages/*.yaml`` as all that a log holds.

The lines are written by us from the grammar of the message, under the causes that may stand first ("a | b"). An exception
stands below a traceback whose last frame lies in a package or in the run's own code.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import analyzer
from analyzer.errors import InputError
from analyzer.vocabulary.marked import load_marked

TABLES = sorted((Path(__file__).parent / "messages").rglob("*.yaml"))
EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|error|Found|Failed|Timeout|Pool|File|BadAlloc|NotMet|Mismatch|Required|IsLost|Unsupported|DECORDError)(?::|$)")  # fmt: skip
FRAMES = """Traceback (most recent call last):
  File "/home/user/proj/train.py", line 90, in <module>
    main()
  File "/home/user/proj/train.py", line 71, in main
    model.step(batch)
"""
IN_A_PACKAGE = """  File "/opt/venv/lib/python3.10/site-packages/torch/nn/modules/module.py", line 1501, in _call_impl
    return forward_call(*args, **kwargs)
"""
pytestmark = pytest.mark.usefixtures("causes_only")
LIKELY = 0.6
"""From here on a wrong answer misleads; without more than a message a cause may well stay below."""


def messages(tables=TABLES):
    for table in tables:
        for causes, lines in load_marked(table.read_text(encoding="utf-8"), table.name).data.items():
            for line in lines:
                yield line, [cause.strip() for cause in causes.split("|")]


def log_of(message: str, *, package: bool) -> str:
    frames = FRAMES + IN_A_PACKAGE * package if is_raised(message) else ""
    return f"loading configuration\n{frames}{message}\n"


def is_raised(message: str) -> bool:
    return EXCEPTION.match(message.split("\n", maxsplit=1)[0]) is not None


def answers(folder: Path, text: str) -> list[tuple[str, float]]:
    log = folder / "train.log"
    log.write_text(text, encoding="utf-8")
    try:
        found = analyzer.diagnose(log).findings
    except InputError:
        return []
    return [(finding.cause.id, finding.probability) for finding in found]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_messages_are_brought_to_their_cause(tmp_path, table):
    """Where rules are unsure themselves, labelled logs with such words may outvote them, and hardly ever do."""
    asked = list(messages([table]))
    wrong = [
        (message, ranked[:3])
        for message, causes in asked
        if not (ranked := answers(tmp_path, log_of(message, package=True))) or ranked[0][0] not in causes
    ]

    assert [entry for entry in wrong if entry[1] and entry[1][0][1] >= LIKELY] == []
    assert len(wrong) <= max(2, 0.04 * len(asked)), wrong


def test_where_the_last_frame_lies_in_the_own_code_hardly_any_answer_changes(tmp_path):
    raised = [(message, causes) for message, causes in messages() if is_raised(message)]
    raised = raised[::9]  # of every table; all of them take a minute
    wrong = [
        (message, ranked[:2])
        for message, causes in raised
        if (ranked := answers(tmp_path, log_of(message, package=False))) and ranked[0][0] not in causes
    ]

    assert [entry for entry in wrong if entry[1][0][1] >= LIKELY] == []
    assert len(wrong) <= 0.03 * len(raised)
