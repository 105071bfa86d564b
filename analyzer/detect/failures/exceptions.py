"""The exception that ended a run: its type, message and place, and whether anything more specific is known of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from analyzer.detect.base import FactWriter, RunView, event_refs
from analyzer.detect.failures.failure_order import Failure
from analyzer.detect.failures.first_failure import order_of
from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import Event
from analyzer.vocabulary.expressions import expressions

PLAIN = frozenset(
    {
        "python_traceback",
        "module_missing",
        "dataloader_worker_exception",
        "weights_only_refused",
        "index_out_of_range",
        "device_call_refused",
    }
)
"""Kinds that say no more than the exception itself; an index outside a table of the model says more."""

OWN, PACKAGE, STANDARD = "own code", "installed package", "standard library"
EXTENSION = "own extension"

_LEFT_PYTHON = frozenset({"asynchat", "asyncore", "distutils", "imp", "smtpd"})
"""Modules that were a part of Python until 3.12."""

_LOST_IN_HANDSHAKE = frozenset(
    {"BrokenPipeError", "EOFError", "_pickle.UnpicklingError", "pickle.UnpicklingError", "UnpicklingError"}
)

_EMPTY_PICKLE = "Ran out of input"
"""What pickle says of a pipe, or a file, in which nothing is."""

_LOST_PEER = frozenset({"BrokenPipeError", "ConnectionAbortedError", "ConnectionResetError", "EOFError"})

_USUAL_FOLDERS = frozenset(
    {"utils", "util", "models", "model", "src", "lib", "data", "tools", "config", "configs", "core", "common", "scripts", "train",
     "training", "trainer", "main", "modules", "layers", "networks", "network", "options", "helpers", "loss", "losses", "dataset",
     "dataloader", "preprocess", "eval", "evaluation", "inference", "engine", "ops", "nets", "metrics", "project", "app"}
)  # fmt: skip
"""Names that people give to folders of their own; a package of such a name may be installed too, but seldom is meant."""

MESSAGE = 200
"""Characters of a message that fit a headline."""

_WORDS = Path(__file__).parent / "exceptions.yaml"


def says(name: str) -> LazyRegex:
    """An expression of ``exceptions.yaml``."""
    return expressions(_WORDS)[name]


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``exception.*``."""
    seen = view.events("python_traceback")
    if not seen:
        return
    tracebacks = [
        event for event in seen if event.role == "root_candidate" or handshake(event) or lost_pipe(event)
    ]
    out.put("own", bool(tracebacks), event_refs(tracebacks or seen[:1]))
    if tracebacks:
        _speak(view, tracebacks, out)


def _speak(view: RunView, tracebacks: Sequence[Event], out: FactWriter) -> None:
    """Facts about the exception that ended the run, or the last one if training survived all."""
    order = order_of(view)
    fatal = _of(order.first) or next((event for failure in order.roots if (event := _of(failure))), None)
    speaker = fatal or tracebacks[-1]
    if fatal is not None or not handshake(speaker):
        out.put("ended_run", fatal is not None, [speaker.ref])
    for name in ("exception", "phase"):
        out.put({"exception": "type"}.get(name, name), speaker.fields.get(name), [speaker.ref])
    message, kind = speaker.fields.get("message", ""), speaker.fields.get("exception", "")
    if isinstance(message, str):
        out.put("message", " ".join(message.split())[:MESSAGE] or None, [speaker.ref])
        out.put("misuse", says("misuse").search(message) is not None, [speaker.ref])
        out.put("environment", says("environment").search(f"{kind} {message}") is not None, [speaker.ref])
    out.put("handshake", handshake(speaker), [speaker.ref])
    out.put("lost_pipe", lost_pipe(speaker), [speaker.ref])
    out.put("place", _place(speaker), [speaker.ref])
    out.put("missing_in", missing_in(speaker), [speaker.ref])
    at = raised_at(speaker)
    out.put("at", at, [speaker.ref])
    if isinstance(message, str) and at is not None:
        out.put("api_clash", at == PACKAGE and _clashes(speaker, message), [speaker.ref])
    if isinstance(message, str):
        unknown_kind = (
            kind == "KeyError"
            and says("automatic_kind_file").search(str(speaker.fields.get("raised_in", ""))) is not None
        )
        out.put("name_gone", unknown_kind or says("name_gone").search(message) is not None, [speaker.ref])
        out.put("unread_picture", unread_picture(speaker), [speaker.ref])
        out.put("json_of", json_of(speaker), [speaker.ref])
        out.put("mistake", mistake(str(kind), message) or "other", [speaker.ref])
    first = order.first
    if first is not None and fatal is not None:
        plain = first.family == "exception" and _is_plain(first)
        out.put("plain", plain, [first.speaker.ref])
        if plain and isinstance(kind, str) and isinstance(message, str):
            keys = speaker.fields.get("configured") is True and says("misfit").search(message) is not None
            word = (
                _of_json(speaker)
                or _of_stream(speaker)
                or _of_weights(speaker)
                or complaint(kind, message, speaker.fields.get("phase"))
                or _of_tracker(speaker)
            )
            out.put("complaint", "setting" if keys else word, [speaker.ref])
            out.put("misfits_configuration", keys, [speaker.ref])


def _clashes(event: Event, message: str) -> bool:
    """Whether a package that asked for a call or a name was written for another version of the one that it asked."""
    of_a_model = says("of_a_model").search(message) and not says("model_file").search(
        str(event.fields.get("raised_in", ""))
    )
    return not of_a_model and says("api_clash").search(message) is not None


def handshake(event: Event) -> bool:
    """Whether parent and child of ``multiprocessing`` lost one another while the child was handed its arguments.

    The parent then finds its pipe broken, the child finds it empty or cut short; neither is a peer or a checkpoint. Where both write
    at once, frames of the parent stand above the exception of the child; or they were left out, but for those that start the child.
    """
    if event.fields.get("exception") not in _LOST_IN_HANDSHAKE:
        return False
    is_mixed = event.fields.get("interleaved") is True and event.fields.get("message") == _EMPTY_PICKLE
    place = str(event.fields.get("raised_in", event.fields.get("file", "")))
    is_started = event.fields.get("within") == "starting_workers"
    return is_mixed or is_started or says("handshake_file").search(place) is not None


def lost_pipe(event: Event) -> bool:
    """Whether the pipe to another process of this machine was found closed: that process had ended, this one waited for it."""
    lost = event.fields.get("exception") in _LOST_PEER
    return lost and says("pipe_file").search(str(event.fields.get("raised_in", ""))) is not None


def raised_at(event: Event) -> str | None:
    """Whose code raised an exception: the last frame's; None if no frame was printed."""
    last = event.fields.get("raised_in", event.fields.get("file"))
    if not isinstance(last, str):
        return None
    if last.endswith((".pyx", ".pxd", ".pxi")):
        return "compiled extension"
    if "raised_in" not in event.fields:
        return OWN
    if last.startswith("<frozen"):
        return "import system"
    return PACKAGE if says("package_file").search(last) else STANDARD


def missing_in(event: Event) -> str | None:
    """Where a name is missing that an import asked for: the run's own files, an installed package, the standard library.

    The compiled part of the run's own files is told apart: a file that is named for what it imports, in a folder of that name, hands
    on what its ``setup.py`` builds. A package that nobody installed is none of these. None if it is no such error.
    """
    kind, message = str(event.fields.get("exception", "")), str(event.fields.get("message", ""))
    if says("relative_import").search(message):
        return OWN
    match = (
        says("missing_name").search(message)
        if kind.endswith(("ImportError", "ModuleNotFoundError"))
        else None
    )
    if match is None:
        return None
    root = (match["module"] or match["origin"] or "").partition(".")[0]
    if root in sys.stdlib_module_names | _LEFT_PYTHON and not match["path"]:
        return STANDARD
    if match["path"]:
        return (
            PACKAGE if says("package_file").search(match["path"]) or "/lib/python" in match["path"] else OWN
        )
    *folders, file = re.split(r"[/\\]", str(event.fields.get("file", "")))
    if (
        match["module"] == root
        and folders[-1:] == [root]
        and file.startswith(f"{root}_")
        and raised_at(event) == OWN
    ):
        return OWN if root in _USUAL_FOLDERS else EXTENSION
    of_its_own = root in folders or event.fields.get("relative") is True
    if match["partly"] or root in _USUAL_FOLDERS or (of_its_own and raised_at(event) == OWN):
        return OWN
    return PACKAGE if root and match["module"] != root else None


def json_of(event: Event) -> str | None:
    """Whose text was no JSON: the run's ``settings``, or an ``answer`` of a server or of a model; None where it may be data."""
    kind, function = str(event.fields.get("exception", "")), str(event.fields.get("function", ""))
    if not kind.endswith("JSONDecodeError") or event.fields.get("phase") == "data_loading":
        return None
    if kind.startswith("requests."):
        return "answer"
    file = re.split(r"[/\\]", str(event.fields.get("file", "")))[-1]
    if raised_at(event) != STANDARD or says("of_data").search(function):
        return None
    of_file = says("plain_function").search(function) is not None and says("of_data").search(file) is None
    if says("of_settings").search(function) or (of_file and says("of_settings").search(file)):
        return "settings"
    return (
        "answer" if says("of_an_answer").search(function) and not says("of_a_file").search(function) else None
    )


def unread_picture(event: Event) -> bool:
    """Whether a function that reads data was handed None for a picture, as OpenCV returns it without a word.

    In a worker of a loader every function does, whatever it is called.
    """
    reads = (
        event.fields.get("phase") == "data_loading"
        or says("reads_pictures").search(str(event.fields.get("function", ""))) is not None
    )
    return (
        reads
        and raised_at(event) == OWN
        and says("without_picture").search(str(event.fields.get("message", ""))) is not None
    )


def _of(failure: Failure | None) -> Event | None:
    """The traceback of a failure, if it has one that is no report of lost peers."""
    events = failure.events if failure is not None else ()
    return next((e for e in events if e.kind == "python_traceback" and e.role == "root_candidate"), None)


def _is_plain(failure: Failure) -> bool:
    """Whether nothing but an exception was recognised in the line."""
    of_no_record = any(json_of(event) for event in failure.events)
    return all(
        (event.kind in PLAIN and event.fields.get("table") != "self")
        or (of_no_record and event.fields.get("what") == "JSONDecodeError")
        for event in failure.events
    )


def _of_json(event: Event) -> str | None:
    """What an exception complains of that says that a text is no JSON."""
    is_servers = str(event.fields.get("exception", "")).startswith("requests.")
    whose = json_of(event)
    return {"settings": "setting", "answer": "service" if is_servers else "answer"}.get(whose or "")


def _of_weights(event: Event) -> str | None:
    """A checkpoint where PyTorch refused its weights, however the message was cut."""
    place = str(event.fields.get("raised_in", ""))
    refused = event.fields.get("phase") == "loading" and place.endswith("nn/modules/module.py")
    return "checkpoint" if refused else None


def _of_tracker(event: Event) -> str | None:
    """A tracker whose server gave an answer that its client does not take, whatever its words."""
    asked = says("client_file").search(str(event.fields.get("raised_in", ""))) is not None
    return "tracker" if asked and event.fields.get("phase") == "tracking" else None


def _of_stream(event: Event) -> str | None:
    """What is complained of where a file far away was waited for in vain, by a library that reads it as if it were here."""
    is_late = says("timed_out").search(str(event.fields.get("exception", ""))) is not None
    return "streamed" if is_late and event.fields.get("within") == "remote_files" else None


def _place(event: Event) -> str | None:
    """File, line and function of the last frame in the user's own code, in words."""
    file, line, function = (event.fields.get(name) for name in ("file", "line", "function"))
    if not isinstance(file, str):
        return None
    words = [file.replace("\\", "/").rpartition("/")[2] or file]
    words += [f"line {line}"] if isinstance(line, int) else []
    words += [f"in {function}"] if isinstance(function, str) and function else []
    return ", ".join(words)


LOOKED_AT = 400
"""Characters of a message that are read: the complaint comes first, then explanations and dumps of values."""

_FILE = Path(__file__).parent / "complaints.yaml"
_MISTAKES = _FILE.with_name("mistakes.yaml")

# In the order in which they are tried: a word, hints of which a message holds one, and what says that it means another thing.
_DAMAGE = ("orrupt", "runcated", "ncomplete", "roken", "amaged", "crc", "CRC", "hecksum", "hash", "igest", "agic", "parsing")  # fmt: skip
_BY_WORDS: tuple[tuple[str, tuple[str, ...], str | None], ...] = (
    ("version", ("ersion", "=", "<", ">", "equire", "grad", "pdat", "buil", "compil", "emoved", "higher", "later"), "other_version"),
    ("package", ("nstall", "mport", "equire", "ackage", "epend", "ibrary", "odule"), None),
    ("stored", _DAMAGE, "recomputed"),
    ("checkpoint", ("heckpoint", "ckpt", "tate", "rained", "eight", "aved", "oad", "esum", "estor", "safetensors"), "recomputed"),
    ("access", ("oken", "key", "redential", "authenticated", "logged in", "gated", "denied", "nauthori", "orbidden"), None),
    ("device", ("CUDA", "cuda", "GPU", "gpu", "TPU", "NPU", "XPU", "HPU", "MPS", "mps", "NVIDIA"), "other_version"),
    ("values", ("nan", "NaN", "nf", "missing values"), None),
    ("label", ("abel", "classes"), None),
    ("record", ("ecod", *_DAMAGE), None),
    ("path", ("exist", "isfile", "isdir", "is_file", "is_dir", "ound", "find", "open", "locat", "read", "access", "not a ", "missing"), "writing"),
    ("samples", ("empty", "match", "no ", "No ", "same ", "randperm", "at least one", "nconsistent", "ambiguous", "expected length"), None),
    ("tracker", ("erver", "ervice", "ackend", "onnect", "each"), "remote"),
    ("service", ("erver", "ervice", "aemon", "ackend", "unning", "localhost", "127.0.0.1", "0.0.0", "refused", "ccessible", "ConnectionPool"), "remote"),
    ("download", ("ownload", "etch", "each", "onnect", "tatus", "ffline"), None),
)  # fmt: skip


_BY_CLASS = ("package", "path", "access", "download", "record", "stored", "tracker", "encoding")
"""Words that a class may say alone, each with the expression ``<word>_class``."""


_OF_A_TRACKER = frozenset({"service", "download"})
"""What an exception says of its connection, which in the client of a tracker is one to its server."""


def complaint(kind: str, message: str, phase: object = None) -> str | None:
    """What an exception of some kind complains of, one of the words above.

    >>> complaint("ValueError", "acme_mode must be one of 'fast', 'slow', got 'slwo'")
    'setting'
    >>> complaint("ValueError", "Expected a tensor of shape (8, 16), got (8, 12)")
    >>> complaint("PIL.UnidentifiedImageError", ""), complaint("RuntimeError", "The size of tensor a (8) must match", "optimizer")
    ('record', 'checkpoint')
    >>> complaint("requests.exceptions.ConnectionError", "refused", "tracking")
    'tracker'
    """
    word = _complaint(kind, message, phase)
    return "tracker" if word in _OF_A_TRACKER and phase == "tracking" else word


def _complaint(kind: str, message: str, phase: object) -> str | None:
    of = expressions(_FILE)
    text = of["paths"].sub("PATH", " ".join(message[:LOOKED_AT].split()))
    if phase == "optimizer" and of["moments"].search(text):
        return "checkpoint"
    for word, hints, unless in _BY_WORDS:
        says = any(hint in text for hint in hints) and of[word].search(text)
        if says and not (unless and of[unless].search(text)):
            return word
    refused = (
        ((of["refusing_class"].search(kind) or of["of_the_run"].search(text)) and of["setting"].search(text))
        or (kind == "AssertionError" and of["checked"].search(text))
    ) and not of["of_a_call"].search(text)
    if refused:
        return "setting"
    told = next((word for word in _BY_CLASS if of[f"{word}_class"].search(kind)), None)
    return None if told == "tracker" and of["answered"].search(text) else told


def mistake(kind: str, message: str) -> str | None:
    """The usual mistake of a program that an exception tells of, a name of ``mistakes.yaml``.

    >>> mistake("UnboundLocalError", "local variable 'loss' referenced before assignment")
    'unset_variable'
    >>> mistake("builtins.TypeError", "'NoneType' object is not iterable"), mistake("acme.OddError", "acme is odd")
    ('is_none', None)
    """
    text = f"{kind.rpartition('.')[2]}: {' '.join(message[:LOOKED_AT].split())}"
    return next(
        (name for name, expression in expressions(_MISTAKES).items() if expression.search(text)), None
    )
