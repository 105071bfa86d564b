"""Settings of all tests: property tests are repeatable in CI and explore anew everywhere else.

No test may see an event, a field or a framework that the vocabularies do not declare.
"""

import os

import pytest
from hypothesis import settings

from analyzer import pipeline
from analyzer.ingest import limits
from analyzer.ingest.base import SourceWriter
from analyzer.vocabulary.events import event_specs
from analyzer.vocabulary.frameworks import framework_of, frameworks

# A deadline would fail a slow machine, not a wrong parser.
settings.register_profile("explore", deadline=None)
settings.register_profile("repeat", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("repeat" if os.environ.get("CI") else "explore")

os.environ["ANALYZER_GUARD"] = "off"  # a bug fails the test that meets it

_write = SourceWriter.event
_TYPES = {"int": int, "float": float, "bool": bool, "str": str}


def _declared(self, kind, text, *, role, fields=None, **rest):
    spec = event_specs().get(kind)
    assert spec is not None, f"no event is called {kind!r}: declare it in ingest/text/events"
    for name, value in (fields or {}).items():
        declared = spec.field_type(name)
        assert declared is not None, f"event {kind!r} declares no field {name!r}"
        assert type(value) is _TYPES[declared], f"{kind}.{name} is a {declared}, not {value!r}"
    _write(self, kind, text, role=role, fields=fields, **rest)


SourceWriter.event = _declared

_note, _configure = SourceWriter.framework, SourceWriter.config


def _known_framework(self, name):
    assert framework_of(name) in frameworks(), f"no framework is called {name!r}"
    _note(self, name)


def _known_owner(self, key, value, *, framework, **rest):
    assert not framework or framework in frameworks(), f"no framework is called {framework!r}"
    _configure(self, key, value, framework=framework, **rest)


SourceWriter.framework = _known_framework
SourceWriter.config = _known_owner


@pytest.fixture(scope="module")
def causes_only():
    """Answers without fixes and next checks: a quarter of their time, and neither changes which cause stands where."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "resolve_fixes", lambda *_: ())
        patch.setattr(pipeline, "next_checks", lambda *_: ())
        yield


@pytest.fixture(autouse=True)
def _a_budget_of_its_own():
    """A reader called by itself has the CPU budget of a diagnosis that begins now, not what a long session left."""
    limits.begin()
