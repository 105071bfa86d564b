"""Completion as people meet it: installed by the command, then the tab key in a new session of each shell."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

WAIT_S = 30.0
"""Longest wait for what a shell prints; it is there within a second or two on an idle machine."""

QUIET_S = 0.5
"""Silence after which a shell that showed its prompt waits for keys."""


@pytest.fixture
def home(tmp_path):
    """A home in which ``analyzer`` is the code of this tree, beside a log that can be completed."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "analyzer"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m analyzer "$@"\n')
    command.chmod(0o755)
    (tmp_path / "train-7b.log").write_text("")
    return tmp_path


def environment(home):
    keep = {
        "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "dumb",
        "PS1": "ready> ",
    }
    return keep | {"ZDOTDIR": str(home), "LC_ALL": "C.UTF-8"}


def install(shell, home, *without_startup_files):
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run(
        [path, *without_startup_files, "-c", "analyzer --install-completion && true"],
        env=environment(home),
        cwd=home,
        capture_output=True,
        check=False,
        text=True,
        timeout=WAIT_S,
    )
    if "Shell" in done.stderr and "not supported" in done.stderr:
        pytest.skip(f"{shell} is not recognised here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return path


def read_until(screen, wanted):
    """What the shell prints until the words stand there, and then until it is silent."""
    out, end = b"", time.monotonic() + WAIT_S
    while time.monotonic() < end:
        ready = select.select([screen], [], [], QUIET_S)[0]
        if ready:
            out += os.read(screen, 65536)
        elif wanted in out:
            return out
    raise AssertionError(f"{wanted!r} not in {out!r}")


def press_tab(command, home):
    """In a new interactive session type each text, press tab, and wait for what it must make of it; the first tab loads all."""
    pid, screen = pty.fork()
    if pid == 0:
        os.chdir(home)
        os.execve(command[0], command, environment(home))
    try:
        os.write(screen, b"echo up-and-$((40+2))\n")
        read_until(screen, b"up-and-42")
        for typed, completed in TYPED:
            os.write(screen, typed.encode() + b"\t")
            read_until(screen, completed.encode())
            os.write(screen, CLEARS_LINE)
    finally:
        os.write(screen, b"exit\n")
        os.close(screen)
        os.waitpid(pid, 0)


CLEARS_LINE = b"\x15"

TYPED = [
    ("analyzer dia", "analyzer diagnose "),
    ("analyzer rules lin", "analyzer rules lint "),
    ("analyzer diagnose --form", "analyzer diagnose --format "),
    ("analyzer diagnose --format br", "analyzer diagnose --format brief "),
    ("analyzer diagnose train", "analyzer diagnose train-7b.log "),
]
"""A command, a command of a group, an option, a value of it, a path."""


def test_the_first_tab_in_bash_completes(home):
    bash = install("bash", home, "--norc")
    press_tab([bash, "-i"], home)


def test_the_first_tab_in_zsh_completes(home):
    zsh = install("zsh", home, "-f")
    press_tab([zsh, "-i"], home)


def test_fish_completes(home):
    fish = install("fish", home, "--no-config")
    asked = "; ".join(f'complete -C "{typed}"' for typed, _ in TYPED)
    done = subprocess.run(
        [fish, "-c", asked], env=environment(home), cwd=home, capture_output=True, check=True, text=True
    )

    found = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert found == [completed.split()[-1] for _, completed in TYPED]
