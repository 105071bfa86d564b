"""Where a launch script sets what a fix changes: the option of the scheduler, the variable, the argument of the program.

A script is shown with file, line and present value and never edited: a diff of shell code cannot be proved right.
"""

from __future__ import annotations

from analyzer.model.config import ConfigValue
from analyzer.model.diagnosis import ConfigChange
from analyzer.model.run import Run
from analyzer.vocabulary.config import canonical_key


def of_script(run: Run, framework: str, key: str, new: str) -> ConfigChange:
    """A change of a variable or option around the run, with its place if a script sets it."""
    for entry in run.config.entries:
        if entry.framework == framework and entry.key_in_source == key and _has_line(entry):
            return _change(run, framework, key, entry, new)
    return ConfigChange(framework, key, None, new)


def argument_of_script(run: Run, canonical: str, new: str) -> ConfigChange | None:
    """A change of an argument that a script passes to the program; None if none means the same."""
    for entry in run.config.entries:
        if entry.layer != "cli" or entry.framework != "config" or not _has_line(entry):
            continue
        if canonical_key(entry.framework, entry.key_in_source) == canonical:
            return _change(run, "argument", f"--{entry.key_in_source}", entry, new)
    return None


def _has_line(entry: ConfigValue) -> bool:
    return entry.ref is not None and entry.ref.line is not None


def _change(run: Run, framework: str, key: str, entry: ConfigValue, new: str) -> ConfigChange:
    assert entry.ref is not None
    path = run.sources[entry.ref.source].path
    return ConfigChange(framework, key, entry.raw or None, new, path, entry.ref.line)
