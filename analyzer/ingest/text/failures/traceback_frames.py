"""Frames of Python stacks: how they are written, whose code they are, and what the program was doing.

    File "/home/user/train.py", line 90, in backward        CPython
    │ /home/user/train.py:90 in backward             │      rich
    File /opt/venv/lib/python3.11/site-packages/x.py:90, in backward(self)      IPython, Jupyter

Not for finding tracebacks in a log: see ``tracebacks``.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple
from analyzer.vocabulary.expressions import expressions

PYTHON_FRAME = LazyRegex(
    r'^(?P<indent>[\s|+>]{0,40})File "(?P<file>[^"\n]{1,600})", line (?P<line>\d{1,9})(?:,? in (?P<function>.{1,200}))?'
)
_BOXED_FRAME = LazyRegex(
    r"^\s{0,120}[│|] (?P<file>[^\s│|:](?:[^\n│:|]|:(?!\d)){0,400}):(?P<line>\d{1,9}) in (?P<function>[^\s│|]{1,200})"
)
# rich breaks a path that is wider than its box: "│ /opt/venv/lib/python3.11/site-packages/torch/nn/modu │"
_BOXED_PATH = LazyRegex(r"^\s{0,120}[│|] (?P<start>(?:/|[A-Za-z]:\\)[^│|\n]{20,400}?) {1,4}[│|]\s*$")
_NOTEBOOK_FRAME = LazyRegex(
    r"^(?:File |\[|)(?P<file><ipython-input[^>\n]{1,80}>|(?:Cell|Input) In ?\[\d{1,6}\]|(?:[~/]|[A-Za-z]:\\)[^\n:*?\"<>|]{1,400}\.pyx?)"
    r"(?:\]\(https?://localhost[^\s)]{0,80}\))?(?:(?::(?P<line>\d{1,9}))?,? in (?P<function><cell line: \d{1,6}>|[\w.<>]{1,200})|, line (?P<cell_line>\d{1,9})|:(?P<bare_line>\d{1,9})$)"
)
_LIBRARY = LazyRegex(
    r"site-packages|dist-packages|/lib(?:64)?/python\d|\\lib\\|^<(?!ipython-input)|/torch/|/deepspeed/|/transformers/|/importlib/|/torchinductor_|/bin/[\w.-]{1,40}$"
)


class Frame(NamedTuple):
    """One call on a stack."""

    file: str  # path as printed
    line: int  # 1-based line in it; 0 if none is printed
    function: str  # name, empty if none is printed
    indent: str = ""  # what stood before the frame

    @property
    def is_library(self) -> bool:
        """Whether the code was installed rather than written by the user."""
        return _LIBRARY.search(self.file) is not None


def python_frame(text: str) -> Frame | None:
    """A frame as CPython prints it.

    >>> python_frame('  File "train.py", line 9, in main')
    Frame(file='train.py', line=9, function='main', indent='  ')
    """
    match = PYTHON_FRAME.match(text)
    if match is None:
        return None
    return Frame(match["file"], int(match["line"]), (match["function"] or "").strip(), match["indent"])


def boxed_frame(text: str, before: str = "") -> Frame | None:
    """A frame in rich's box; ``before`` is the start of its path, if the line above held it."""
    match = _BOXED_FRAME.match(text)
    return match and Frame(before + match["file"], int(match["line"]), match["function"], "  ")


def broken_path(text: str) -> str:
    """The start of a path that rich broke at the edge of its box, else empty."""
    match = _BOXED_PATH.match(text)
    return match["start"] if match and "❱" not in text else ""


def notebook_frame(text: str) -> Frame | None:
    """A frame as IPython prints it, or Colab, which makes links of files.

    >>> notebook_frame("File /opt/lib/python3.11/site-packages/x.py:90, in Trainer.train(self)")
    Frame(file='/opt/lib/python3.11/site-packages/x.py', line=90, function='Trainer.train', indent='  ')
    >>> notebook_frame("Input In [18], in <cell line: 2>()").function
    '<cell line: 2>'
    >>> notebook_frame("[/opt/lib/python3.11/x.py](https://localhost:8080/#) in train(self)").file
    '/opt/lib/python3.11/x.py'
    """
    match = _NOTEBOOK_FRAME.match(text)
    if match is None:
        return None
    line = match["line"] or match["cell_line"] or match["bare_line"] or 0
    return Frame(match["file"], int(line), match["function"] or "", "  ")


_PHASES, _PHASES_BY_FILE = (Path(__file__).with_name(name) for name in ("phases.yaml", "phases_by_file.yaml"))

_TRAINS = LazyRegex(r"^_?train(?:_(?:model|step|epoch|one_epoch|loop|batch))?$")
"""A program whose ``validate`` or ``evaluate`` trains is judging a setting; what the steps below it need is no evaluation's."""
_MODE_FILE = LazyRegex(r"[/\\]nn[/\\]modules[/\\]module\.py$")
"""Where ``train`` only switches a model's mode."""
_QUEUES = LazyRegex(r"[/\\]multiprocessing[/\\]queues\.py$")
"""Where a thread of its own puts what goes into a queue."""
_OF_EVALUATION = frozenset({"evaluation", "generation"})
_OF_A_STEP = frozenset({"optimizer", "backward", "forward"})


@lru_cache(maxsize=32)
def _rank(phase: str) -> int:
    """Of phases the first counts, of the parts of a step the last on the stack."""
    found = expressions(_PHASES)
    return len(found) if phase in _OF_A_STEP or phase not in found else list(found).index(phase)


def phase_of(file: str, function: str) -> str:
    """What a frame of a stack belongs to; empty for most.

    >>> phase_of("/lib/torch/optim/adamw.py", "step"), phase_of("train.py", "main")
    ('optimizer', '')
    >>> phase_of("/lib/torch/utils/data/_utils/fetch.py", "fetch")
    'data_loading'
    >>> phase_of("/lib/torch/distributed/distributed_c10d.py", "barrier"), phase_of("/srv/music/notes.py", "barrier")
    ('waiting', '')
    """
    for name, places in expressions(_PHASES_BY_FILE).items():
        if places.search(f"{file}\n{function}"):
            return name
    bare = function.rpartition(".")[2]  # IPython prints "Trainer.train"
    return next((name for name, functions in expressions(_PHASES).items() if functions.search(bare)), "")


_FINALIZERS = frozenset({"_run_finalizers", "_remove_temp_dir", "_cleanup_socket", "_exit_function"})
"""Functions by which Python's multiprocessing cleans up when a process ends."""


_AWAITING = frozenset(
    {
        "_try_get_data",
        "_get_data",
        "rebuild_storage_fd",
        "rebuild_storage_filename",
        "rebuild_handle",
        "rebuild_ndarray",
    }
)
"""Functions in which a loader takes over what its workers have made."""


_PASSED_ON = LazyRegex(
    r"[/\\](?:torch[/\\](?:nn[/\\]modules[/\\]module|nn[/\\]parallel[/\\]\w{1,30}|_dynamo[/\\]\w{1,30}|utils[/\\]_contextlib|amp[/\\]autocast_mode)"
    r"|accelerate[/\\]utils[/\\]operations|functools|contextlib)\.py$"
)
_PASSING = LazyRegex(
    r"^(?:\w{1,40}\.)?(?:_{0,2}(?:wrapped_)?call(?:_impl|_{2})?|__getattr__|forward|_run_ddp_forward|_fn|(?:decorate|inner|wrapper)\w{0,30}|_call_user_compiler)$"
)
"""Functions that hand a call or a look-up on: what goes wrong in them was asked for by the frame before."""


_BUILDERS = LazyRegex(
    r"[/\\](?:hydra[/\\]_internal[/\\]instantiate[/\\]_instantiate2|mmengine[/\\]registry[/\\]build_functions|mm(?:cv|engine)[/\\]utils[/\\]registry|gin[/\\](?:config|utils))\.py$"
)
"""Files that call what a configuration names with the arguments that it gives: the configuration is the run's own."""


_BEGINNINGS = frozenset({"<module>", "_run_module_as_main"})
"""Functions in which a program begins."""

_CELLS = ("<ipython-input", "Cell In", "Input In")
"""How IPython calls the cells of a notebook."""


_LOADER = LazyRegex(r"[/\\]torch[/\\]utils[/\\]data[/\\]dataloader\.py$")
_STARTING_WORKERS = frozenset({"__iter__", "_get_iterator"})
"""Functions of PyTorch's loader in which its workers are started; batches are asked for in others."""
_REMOTE_FILES = LazyRegex(
    r"[/\\](?:(?:fsspec|s3fs|gcsfs|adlfs|ossfs|smart_open|s3transfer)[/\\]|webdataset[/\\]gopen\.py$|streaming[/\\]base[/\\]storage[/\\])"
)
"""Code of packages that read files from far away as if they were here."""


class Stack:
    """What is kept of the frames of one traceback: the last one, the last of the user, and the phase.

    ``asked`` is the last frame that does not merely hand on what another asked for.

    ``finalizing`` tells that the process was cleaning up behind itself, ``awaiting`` that it took over a batch of a
    worker of its loader, ``serving`` names the function of such a worker, or of a thread that feeds a queue, ``uncaught`` that the stack begins where the program does: of an exception that was caught only
    the frames from there on are printed. ``in_cell`` says so of a cell of a notebook, whose kernel goes on. ``within`` says
    below which library's doing it ended, with no code of the user's in between: ``starting_workers`` or ``remote_files``.
    """

    def __init__(self) -> None:
        self.frames = 0
        self.last: Frame | None = None
        self.last_user: Frame | None = None
        self.asked: Frame | None = None
        self.phase = ""
        self.finalizing = False
        self.awaiting = False
        self.serving = ""
        self.uncaught = False
        self.in_cell = False
        self.within = ""

    def add(self, frame: Frame) -> None:
        """Take the next frame, outermost first."""
        self.frames += 1
        if self.frames == 1:
            self.in_cell = frame.file.startswith(_CELLS)
            self.uncaught = not self.in_cell and frame.function in _BEGINNINGS
        elif frame.function == "_check_not_importing_main":  # a worker's, whose program goes on to lose it
            self.uncaught = False
        self.last = frame
        if not (_PASSED_ON.search(frame.file) and _PASSING.search(frame.function)):
            self.asked = frame
        self.finalizing |= frame.function in _FINALIZERS
        self.awaiting |= frame.function in _AWAITING
        if frame.function == "_worker_loop" or (
            self.frames == 1 and frame.function == "_feed" and _QUEUES.search(frame.file)
        ):
            self.serving = frame.function
        phase = phase_of(frame.file, frame.function)
        if (
            self.phase in _OF_EVALUATION
            and _TRAINS.search(frame.function)
            and not _MODE_FILE.search(frame.file)
        ):
            self.phase = ""
        if phase and _rank(phase) <= _rank(self.phase):
            self.phase = phase
        if not frame.is_library:
            self.last_user = frame
            self.within = ""
        elif frame.function in _STARTING_WORKERS and _LOADER.search(frame.file):
            self.within = "starting_workers"
        elif _REMOTE_FILES.search(frame.file):
            self.within = "remote_files"

    def place(self) -> dict[str, Scalar]:
        """Fields ``file``, ``line``, ``function`` of the user's last frame, and ``phase``; only what is known."""
        frame = self.last_user or self.last
        fields: dict[str, Scalar] = {}
        if frame is not None:
            fields = {"file": frame.file, "line": frame.line, "function": frame.function, "phase": self.phase}
        return {name: value for name, value in fields.items() if value not in {"", 0}}

    def origin(self) -> dict[str, Scalar]:
        """Field ``raised_in``, the file of the last frame that asked for what failed, where that is not the user's own.

        ``configured`` says of it that the configuration did.
        """
        frame = self.asked or self.last
        if frame is not None and frame is self.last and _BUILDERS.search(frame.file):
            return {"configured": True}
        if frame is None or not frame.is_library or _BUILDERS.search(frame.file):
            return {}
        return {"raised_in": frame.file}


_NEEDS = (  # of the last frame of a traceback without its exception: few functions fail for one reason only
    # the runtime of a device is started at the first use of the device
    ("device", LazyRegex(r"[/\\](?:torch|torch_npu|intel_extension_for_pytorch)[/\\](?:cuda|npu|xpu|musa|hpu)[/\\]__init__\.py$"), LazyRegex(r"^_lazy_init$")),
    ("library", LazyRegex(r"(?:^|[/\\])ctypes[/\\]__init__\.py$|[/\\]torch[/\\]_ops\.py$|[/\\]torch[/\\]__init__\.py$"), LazyRegex(r"^(?:CDLL\.)?__init__$|^(?:LoadLibrary|load_library|_load_global_deps|_load_dll_libraries)$")),
    ("folder", LazyRegex(r"(?:^|[/\\])(?:os|pathlib)\.py$|^<frozen os>$"), LazyRegex(r"^(?:makedirs|mkdir)$")),
    ("table", LazyRegex(r"[/\\]torch[/\\]nn[/\\]functional\.py$"), LazyRegex(r"^embedding$")),
)  # fmt: skip


def needed_by(last: Frame | None) -> dict[str, Scalar]:
    """Field ``needs``: what a call needed that ended in this frame. Most tell nothing.

    >>> needed_by(Frame("/opt/lib/python3.11/ctypes/__init__.py", 376, "__init__", "  "))
    {'needs': 'library'}
    >>> needed_by(Frame("train.py", 3, "main", "  "))
    {}
    """
    if last is None:
        return {}
    for name, files, functions in _NEEDS:
        if files.search(last.file) and functions.search(last.function):
            return {"needs": name}
    return {}
