"""The command line in this process: what a user would see, without the second that a new interpreter costs."""

from __future__ import annotations

import io
import os
import sys
from contextlib import chdir
from typing import NamedTuple
from unittest import mock

from analyzer.__main__ import main


class Done(NamedTuple):
    """How a call ended; as ``subprocess.run`` tells it, but with bytes and text."""

    returncode: int
    out: bytes
    err: bytes

    @property
    def stdout(self) -> str:
        return self.out.decode()

    @property
    def stderr(self) -> str:
        return self.err.decode()


def call(*arguments: object, stdin: bytes = b"", cwd: object = None, **variables: str | None) -> Done:
    """Call ``analyzer`` with arguments, as without a terminal.

    Args:
        arguments: What stands behind ``analyzer``.
        stdin: Standard input.
        cwd: Working directory; this one if None.
        variables: Environment variables beside those that are set; None takes one away.
    """
    streams = [io.TextIOWrapper(io.BytesIO(data), "utf-8", write_through=True) for data in (stdin, b"", b"")]
    environment = {name: value for name, value in {**os.environ, **variables}.items() if value is not None}
    code: object = 0
    with (
        mock.patch.object(sys, "argv", ["analyzer", *map(str, arguments)]),
        mock.patch.multiple(sys, stdin=streams[0], stdout=streams[1], stderr=streams[2]),
        mock.patch.dict(os.environ, environment, clear=True),
        chdir(str(cwd or ".")),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    out, err = (stream.buffer.getvalue() for stream in streams[1:])
    return Done(int(code or 0), out, err)
