"""Make all planted replays anew: ``python -m samples.replay [DIR]`` (needs torch and safetensors)."""

import sys
from pathlib import Path

from .planting import FAULTS, build


def main() -> None:
    """Write one folder a fault below the directory given, or beside this file."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "planted"
    for name in FAULTS:
        build(name, root / name)
        sys.stdout.write(f"{name}\n")


main()
