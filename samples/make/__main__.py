"""`python -m samples.make [NAME ...]`: make all sample runs, or those named, afresh.

A NAME is a key such as `failed/qwen2-fp16-sft-loss-zero`, or any part of one.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import time
from collections.abc import Callable
from pathlib import Path

import samples.make as package

from .common import REPO

Maker = Callable[[Path], None]


def all_samples() -> dict[str, Maker]:
    """The makers of every incident module in this folder (those that define SAMPLES)."""
    found: dict[str, Maker] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name == "__main__" or module.name.endswith(("_train", "_shims")):
            continue  # not makers: this file, the users' training scripts, what they load
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        found |= getattr(loaded, "SAMPLES", {})
    return dict(sorted(found.items()))


def main() -> None:
    """Make the chosen samples one after another (two cores: never in parallel)."""
    parser = argparse.ArgumentParser(prog="python -m samples.make", description=__doc__)
    parser.add_argument("names", nargs="*", help="sample keys or parts of them (default: all)")
    parser.add_argument("--list", action="store_true", help="print the keys and stop")
    options = parser.parse_args()
    samples = all_samples()
    chosen = {
        key: make
        for key, make in samples.items()
        if not options.names or any(name in key for name in options.names)
    }
    if not chosen:
        parser.error(f"no sample matches {options.names}; there are: {', '.join(samples)}")
    for key, make in chosen.items():
        if options.list:
            print(key)
            continue
        started = time.monotonic()
        make(REPO / "samples" / key)
        print(f"{key}: made in {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
