"""A run that cannot be read: its last lines that look like errors are quoted, and what would help is said."""

import pytest

from analyzer.api import load
from analyzer.errors import UnreadableFileError


def test_the_last_errors_of_an_unknown_log_are_quoted(tmp_path):
    (tmp_path / "out.txt").write_text(
        "starting\nphase alpha ok\nquux: warning: fatal: the widget reported status 77\nwarning: giving up after 3 attempts, token=hf_abcdefghijklmnopqrstuvwxyzABCDEF\n",
        encoding="utf-8",
    )
    with pytest.raises(UnreadableFileError) as raised:
        load(tmp_path)

    text = str(raised.value)
    assert "out.txt:3: quux: warning: fatal: the widget reported status 77" in text
    assert "what would help: the console log" in text
    assert "hf_abcdef" not in text
