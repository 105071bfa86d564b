"""Run a training function like a user would, then publish its run directory as a sample.

Why a separate process: the console log must hold exactly what the libraries print, and one
run must not see the patches or the random state of another. Why a neutral host: a sample must
not tell on which machine it was made, so the host name is patched before any import and paths
are rewritten in text files; `publish` refuses a sample in which one is left.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

LAB = Path("/tmp/analyzer-lab")
HOST = "trainbox"
REPO = Path(__file__).resolve().parents[2]
SIZE_LIMIT = 500_000

_SITE = f'''"""Give this process a neutral host name (put first on PYTHONPATH by samples.make)."""
import os, platform, socket

_uname = os.uname()
socket.gethostname = lambda: "{HOST}"
socket.getfqdn = lambda name="": name or "{HOST}"
platform.node = lambda: "{HOST}"
os.uname = lambda: os.uname_result((_uname[0], "{HOST}", *_uname[2:]))
'''

_ENTRY = '''"""Start the run."""
from {module} import {function}

{function}()
'''


@dataclass(frozen=True)
class RunResult:
    """What a finished training process left: exit code, seconds, and its console log."""

    rc: int
    seconds: float
    log: Path

    def text(self) -> str:
        """The console log, decoded."""
        return self.log.read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True)
class Source:
    """The facts that a sample's SOURCE.md states."""

    title: str
    planted: str
    genuine: str
    shims: str
    shows: str
    writeup: str
    limits: str
    seed: str
    packages: Sequence[str] = ("torch", "transformers")
    rewritten: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Addon:
    """Something that goes with the runs of a maker: lines before its script, files made after it."""

    prelude: str
    after: Callable[[Path], str]
    keep: Sequence[str]
    title: str


_ADDONS: list[Addon] = []
_ADDED: dict[str, str] = {}


@contextmanager
def with_addon(addon: Addon) -> Iterator[None]:
    """Let every run made inside go with `addon`; its sentence goes into SOURCE.md."""
    _ADDONS.append(addon)
    try:
        yield
    finally:
        _ADDONS.remove(addon)


def new_run_dir(name: str) -> Path:
    """An empty working directory for one run (an older one of that name is removed)."""
    path = LAB / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def cached(name: str, build: Callable[[Path], None]) -> Path:
    """A directory built once for all samples of one incident (a pretrained tiny base model).

    It is built again when the module that builds it, or the tiny models, have changed.
    """
    sources = [inspect.getsourcefile(build), Path(__file__).with_name("tiny_models.py")]
    digest = hashlib.sha256(b"".join(Path(str(s)).read_bytes() for s in sources)).hexdigest()
    path = LAB / ".models" / f"{name}-{digest[:12]}"
    if not (path / ".complete").exists():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        build(path)
        (path / ".complete").touch()
    return path


def copy_model(source: Path, run_dir: Path) -> None:
    """Put a cached base model into a run directory as `model/`, where its script reads it."""
    shutil.copytree(source, run_dir / "model", ignore=shutil.ignore_patterns(".complete"))


def write_yaml(path: Path, values: Mapping[str, Any]) -> None:
    """Write a user's configuration file, keys in the order given."""
    path.write_text(yaml.safe_dump(dict(values), sort_keys=False), encoding="utf-8")


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read a user's configuration file."""
    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


def child_env(extra: Mapping[str, str] | None) -> dict[str, str]:
    """A small fixed environment: nothing of the maker's own environment reaches the run."""
    site = LAB / ".site"
    site.mkdir(parents=True, exist_ok=True)
    (site / "sitecustomize.py").write_text(_SITE, encoding="utf-8")
    home = LAB / ".home"
    home.mkdir(exist_ok=True)
    return {
        "PATH": f"{Path(sys.prefix) / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": f"{site}:{REPO}",
        "PYTHONUNBUFFERED": "1",
        "HOME": str(home),
        "USER": "user",
        "LOGNAME": "user",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "TORCH_EXTENSIONS_DIR": os.environ.get("TORCH_EXTENSIONS_DIR", str(LAB / ".torch_ext")),
        **(extra or {}),
    }


def run_training(
    target: str | Path,
    run_dir: Path,
    *,
    launcher: Sequence[str] | None = None,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    log: str = "train.log",
    expect_rc: int | None = 0,
    timeout: float = 600,
) -> RunResult:
    """Run a training script in a fresh process inside `run_dir`.

    `target` is a script's path, copied there as `train.py`, or "package.module:function", for
    which a three-line `train.py` is written (so that programs which record the script's name
    see one). stdout and stderr are captured together, as printed.
    `launcher` is the command put before `train.py` instead of the Python interpreter, e.g.
    `["deepspeed", "--num_gpus", "2"]`. `expect_rc=None` accepts any exit code.
    """
    if isinstance(target, Path):
        entry = target.read_text(encoding="utf-8")
    else:
        module, function = target.split(":")
        entry = _ENTRY.format(module=module, function=function)
    for addon in _ADDONS:
        before, future, rest = entry.rpartition("from __future__ import annotations\n")
        entry = before + future + addon.prelude + rest
    (run_dir / "train.py").write_text(entry, encoding="utf-8")
    command = [*(launcher or [sys.executable]), "train.py", *args]
    path, started = run_dir / log, time.monotonic()
    with path.open("wb") as out:
        done = subprocess.run(
            command,
            cwd=run_dir,
            env=child_env(env),
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            check=False,
        )
    result = RunResult(done.returncode, time.monotonic() - started, path)
    if expect_rc is not None and result.rc != expect_rc:
        raise RuntimeError(f"{target} ended with {result.rc}:\n{result.text()[-3000:]}")
    return result


def _rewrites(run_dir: Path) -> list[tuple[str, str]]:
    """Path prefixes of this machine and the neutral ones they become, longest first."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    extensions = os.environ.get("TORCH_EXTENSIONS_DIR", str(LAB / ".torch_ext"))
    pairs = {
        str(run_dir): "/home/user/run",
        str(LAB / ".home"): "/home/user",
        extensions: "/home/user/.cache/torch_extensions",
        sys.prefix: "/opt/venv",
        str(Path(sys.prefix).resolve()): "/opt/venv",
        str(stdlib): f"/usr/lib/{stdlib.name}",
        str(stdlib.resolve()): f"/usr/lib/{stdlib.name}",
        sys.base_prefix: "/usr",
        str(Path(sys.base_prefix).resolve()): "/usr",
        str(LAB / ".site"): "/home/user/code",
        str(REPO): "/home/user/code",
    }
    return sorted(pairs.items(), key=lambda pair: -len(pair[0]))


def _as_text(data: bytes) -> str | None:
    """The decoded text of a text file, or None for a binary one."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _leak_patterns() -> list[re.Pattern[bytes]]:
    """What must not be found in any published file."""
    own = {str(REPO), str(Path.home()), sys.prefix, sys.base_prefix, str(LAB)}
    # a directory of one short name ("/root") also ends longer paths of other machines
    places = [
        rb"(?<![\w-])" + re.escape(place.encode()) + rb"(?![a-z_])" for place in sorted(own) if len(place) > 1
    ]
    machine = socket.gethostname().encode()
    host = rb"(?<![A-Za-z0-9_])" + re.escape(machine) + rb"(?![A-Za-z0-9_])"
    if len(machine) < 5:  # too short to search in binary data: there it must be length-prefixed
        prefixed = re.escape(bytes([len(machine)]) + machine)
        host = rb"(?:^|[\s'\"/=:@.])" + re.escape(machine) + rb"(?:$|[\s'\",/:.])|" + prefixed
    return [re.compile(pattern) for pattern in [*places, host]]


def find_leaks(directory: Path) -> list[str]:
    """Every place in `directory` (names and contents) that tells about the making machine."""
    found: list[str] = []
    patterns = _leak_patterns()
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        name = str(path.relative_to(directory))
        for content in (name.encode(), path.read_bytes()):
            for pattern in patterns:
                for hit in list(pattern.finditer(content))[:3]:
                    around = content[max(0, hit.start() - 40) : hit.end() + 40]
                    found.append(f"{name}: {pattern.pattern!r} in {around!r}")
    return found


def publish(run_dir: Path, dest: Path, keep: Iterable[str]) -> None:
    """Copy the files matching the `keep` globs from `run_dir` to `dest`, with neutral paths.

    `dest` is made afresh. A glob without a match, a leak, and a sample over the size limit are
    errors: a sample must be complete, neutral and small.
    """
    shutil.rmtree(dest, ignore_errors=True)
    pairs = _rewrites(run_dir)
    _ADDED.clear()
    for addon in _ADDONS:
        _ADDED[addon.title] = addon.after(run_dir)
        keep = [*keep, *addon.keep]
    for pattern in keep:
        matches = [p for p in sorted(run_dir.glob(pattern)) if p.is_file() and not p.is_symlink()]
        if not matches:
            raise FileNotFoundError(f"{run_dir}: nothing matches {pattern!r}")
        for source in matches:
            name = str(source.relative_to(run_dir))
            data = source.read_bytes()
            text = _as_text(data)
            if text is not None:
                for old, new in pairs:
                    text = text.replace(old, new)
                data = text.encode("utf-8")
            target = dest / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    check_sample(dest)


def check_sample(dest: Path) -> None:
    """Refuse a sample that leaks the making machine or is too large."""
    if leaks := find_leaks(dest):
        raise RuntimeError(f"{dest.name} tells about this machine:\n" + "\n".join(leaks))
    size = sum(p.stat().st_size for p in dest.rglob("*") if p.is_file())
    if size > SIZE_LIMIT:
        raise RuntimeError(f"{dest.name} has {size} bytes, more than {SIZE_LIMIT}")


def _versions(packages: Sequence[str]) -> str:
    """The installed versions of the named distributions, plus Python's own."""
    found = [f"Python {sys.version.split()[0]}"]
    for name in packages:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} (not installed)")
    return ", ".join(found)


def write_source(dest: Path, source: Source, result: RunResult) -> None:
    """Write SOURCE.md: where the sample comes from, and what in it is real."""
    key = f"{dest.parent.name}/{dest.name}"
    rows = {
        "Shows": source.shows,
        "Planted": source.planted,
        "Genuine": source.genuine,
        "Shims": source.shims,
        "Rewritten": source.rewritten
        or f"host name (`{HOST}`, patched before any import); paths of the working directory, "
        "the virtual environment, the standard library and the makers, in text files only. "
        "No log line was added, removed or edited otherwise.",
        "Reproduces": source.writeup,
        "Limits": source.limits,
        "Seed": source.seed,
        "Versions": _versions(source.packages),
        "Command": f"`python -m samples.make {key}` ({result.seconds:.0f} s on two CPU cores, "
        f"exit code of the training process {result.rc})",
        **source.extra,
        **_ADDED,
    }
    lines = [f"# {source.title}", ""]
    lines += [f"- **{name}**: {' '.join(text.split())}" for name, text in rows.items()]
    (dest / "SOURCE.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    check_sample(dest)


def trainer_summary(state: Path) -> str:
    """One sentence on a Hugging Face run: its loss, its non-finite gradient norms, its scale."""
    rows = json.loads(state.read_text(encoding="utf-8"))["log_history"]
    rows = [row for row in rows if "loss" in row]
    losses = [float(row["loss"]) for row in rows]
    norms = [float(row["grad_norm"]) for row in rows]
    bad = [row["step"] for row, norm in zip(rows, norms, strict=True) if not math.isfinite(norm)]
    text = f"{len(rows)} records; mean loss of the first five {sum(losses[:5]) / 5:.3f}, of the "
    text += f"last five {sum(losses[-5:]) / 5:.3f}; grad_norm not finite in {len(bad)} of them"
    if bad:
        text += f" (first at step {bad[0]}, last at step {bad[-1]})"
    if "loss_scale" in rows[-1]:
        text += f"; loss scale {rows[0]['loss_scale']:g} first, {rows[-1]['loss_scale']:.3g} last"
    return text + f"; last learning rate {float(rows[-1]['learning_rate']):.3g}."
