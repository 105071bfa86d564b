"""Settings of all tests: property tests are repeatable in CI and explore anew everywhere else."""

import os

from hypothesis import settings

# A deadline would fail a slow machine, not a wrong parser.
settings.register_profile("explore", deadline=None)
settings.register_profile("repeat", deadline=None, derandomize=True)
settings.load_profile("repeat" if os.environ.get("CI") else "explore")
