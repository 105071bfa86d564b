"""Why a deep-learning training run failed, how we know, and what to change.

import analyzer

dx = analyzer.diagnose("runs/7b-17", baseline="runs/7b-16")
print(dx.findings[0].cause.title, dx.findings[0].probability)
print(dx.explain())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyzer.version import __version__

if TYPE_CHECKING:
    from analyzer.api import diagnose, diagnose_many, load, report
    from analyzer.errors import AnalyzerError, InputError, RuleError
    from analyzer.model.diagnosis import Diagnosis
    from analyzer.model.run import Run

_HOMES = {
    "AnalyzerError": "analyzer.errors",
    "Diagnosis": "analyzer.model.diagnosis",
    "InputError": "analyzer.errors",
    "RuleError": "analyzer.errors",
    "Run": "analyzer.model.run",
    "diagnose": "analyzer.api",
    "diagnose_many": "analyzer.api",
    "load": "analyzer.api",
    "report": "analyzer.api",
}

__all__ = [
    "AnalyzerError",
    "Diagnosis",
    "InputError",
    "RuleError",
    "Run",
    "__version__",
    "diagnose",
    "diagnose_many",
    "load",
    "report",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that ``import analyzer`` and ``--help`` stay cheap (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'analyzer' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(home), name)
