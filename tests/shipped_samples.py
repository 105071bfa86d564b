"""The runs below samples/, and what is said of one: worked out once a process, for all tests that only look at it."""

from functools import cache
from pathlib import Path

import analyzer
from analyzer.api import study

_PLACE = Path(__file__).parent.parent / "samples"
SAMPLES = sorted(p for kind in ("failed", "healthy") for p in (_PLACE / kind).iterdir() if p.is_dir())

studied = cache(study)
diagnosed = cache(analyzer.diagnose)
