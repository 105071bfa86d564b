"""``python -m analyzer`` and the command ``analyzer``: errors and Ctrl-C become one line each, also while commands are being loaded.

``analyzer diagnose RUN`` leaves nothing to parse, so it starts without Typer, which is a tenth of a small diagnosis. Every
other call is Typer's, and so is this one where a file of configuration sets options.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

GC_THRESHOLD = 500_000
"""New objects between two searches for cycles: a small run makes fewer, nearly all of which stay. Cycles are rare here,
so that even a million objects between two searches would hold a few megabytes of waste."""


def program() -> None:
    """The command line, and an end of its process that takes nothing apart."""
    ended_well: list[bool] = []
    atexit.register(_leave, ended_well)  # registered first, so called last: who has to tidy up has done so
    main()
    ended_well.append(True)


def _leave(ended_well: list[bool]) -> None:
    """End at once after a success: taking apart what was imported costs a twenty-fifth of a small diagnosis."""
    gc.freeze()  # else the interpreter looks for cycles among all that ends with it
    if ended_well:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):  # the interpreter tells it, as it does of any program
            return
        os._exit(0)


def main() -> None:
    """Run the command line."""
    gc.set_threshold(GC_THRESHOLD)
    try:
        _run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("analyzer: interrupted\n")
        raise SystemExit(130) from None
    except BrokenPipeError:  # the reader of our output went away, as with "| head"
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except Exception as error:  # noqa: BLE001  (the last line of defence says that it is our bug)
        raise SystemExit(_told(error)) from None


def _run(arguments: list[str]) -> None:
    """Import and call what the arguments ask for; loading takes most of a short run's time."""
    source = source_alone(arguments)
    if source is not None:
        from analyzer.cli.study import print_diagnosis  # noqa: PLC0415

        print_diagnosis(source)
    else:
        from analyzer.cli.app import run  # noqa: PLC0415

        run(arguments)


def source_alone(arguments: list[str]) -> str | None:
    """RUN, if the arguments are ``diagnose RUN`` and nothing else has a say.

    >>> source_alone(["diagnose", "run.log", "--all"]) is None
    True
    """
    match arguments:
        case ["diagnose", source] if source == "-" or not source.startswith("-"):
            from pathlib import Path  # noqa: PLC0415

            from analyzer.cli.configuration import find_configuration  # noqa: PLC0415

            asked_to_complete = "_ANALYZER_COMPLETE" in os.environ
            return None if asked_to_complete or find_configuration(Path.cwd()) else source
    return None


def _told(error: Exception) -> int:
    """Say in one line what went wrong, and give the exit code; with ``--debug`` our own bugs are raised again."""
    from analyzer.cli.exit_codes import OUR_BUG  # noqa: PLC0415
    from analyzer.errors import AnalyzerError  # noqa: PLC0415

    if isinstance(error, AnalyzerError):
        from analyzer.ingest.masking import clean_text  # noqa: PLC0415  (the text may hold a file's name)

        line = clean_text(str(error)).replace("\n", " ")
        sys.stderr.write(f"analyzer: {line}\n")
        return error.exit_code
    if "--debug" in sys.argv:
        raise error
    sys.stderr.write(
        f"analyzer: internal error: {type(error).__name__}: {error}\n"
        "This is a bug in analyzer. Run again with --debug and report the traceback.\n"
    )
    return OUR_BUG


if __name__ == "__main__":
    program()
