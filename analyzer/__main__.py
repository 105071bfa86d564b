"""``python -m analyzer`` and the command ``analyzer``: Ctrl-C ends them in one line, also while they are being loaded."""

from __future__ import annotations

import gc

GC_THRESHOLD = 500_000
"""New objects between two searches for cycles: a small run makes fewer, nearly all of which stay. Cycles are rare here,
so that even a million objects between two searches would hold a few megabytes of waste."""


def main() -> None:
    """Run the command line."""
    gc.set_threshold(GC_THRESHOLD)
    try:
        from analyzer.cli.app import main as run  # noqa: PLC0415  (loading takes most of a short run's time)
    except KeyboardInterrupt:
        import sys  # noqa: PLC0415

        sys.stderr.write("analyzer: interrupted\n")
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    main()
