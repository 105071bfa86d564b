"""The readers: the built-in ones, each imported only when a file comes that may be its own, and those of other packages.

Importing all readers costs as much CPU as importing NumPy; a run directory needs three or four of them.
``may_match`` is a cheap test that never refuses a file which the ingestor's ``sniff`` would take.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any, cast

from analyzer.guard import THEIR_FAULT, Guard
from analyzer.ingest.base import (
    DIARIES,
    HEAD_BYTES,
    Candidate,
    Ingestor,
    Match,
    OpenSource,
    Reader,
    SourceWriter,
)
from analyzer.lazy_regex import LazyRegex
from analyzer.record import dataclass
from analyzer.vocabulary.packs import READERS, installed

_FIRST_KEY = re.compile(rb'\{\s*"')
_RUN_IN_STORE = LazyRegex(
    r"[0-9a-f]{32}/(?:(?:metrics|params|tags|inputs|outputs|traces)/|meta\.yaml(?:\n|$))"
)

_MARKS = (b",", b"\t", b";")
_Test = Callable[[Candidate], bool]


def _begins(*starts: bytes) -> _Test:
    return lambda candidate: candidate.head.startswith(starts)


def _holds(*texts: bytes, within: int = HEAD_BYTES) -> _Test:
    return lambda candidate: any(text in candidate.head[:within] for text in texts)


def _named(*ends: str) -> _Test:
    return lambda candidate: candidate.name.lower().endswith(ends)


def _any(*tests: _Test) -> _Test:
    return lambda candidate: any(test(candidate) for test in tests)


def _is_object(candidate: Candidate) -> bool:
    """JSON, not the dict of Python's ``print`` that many console logs begin with."""
    if candidate.name.endswith(DIARIES):
        return False
    start = candidate.head[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    return start.startswith(b"{") and not start.startswith(b"{'")


def _is_history(candidate: Candidate) -> bool:
    start, named = candidate.head.lstrip(), candidate.name.lower().endswith(".json")
    return (named and (start[:1] == b"[" or start.startswith(b"\"{'"))) or _is_object(candidate)


def _holds_rows(candidate: Candidate) -> bool:
    """Objects of a line each or a list of them, not a console log that begins with "[INFO]"."""
    if candidate.head.lstrip()[:1] == b"[":
        return _has_a_key(candidate)
    return _is_object(candidate) and _holds_objects(candidate)


def _has_a_key(candidate: Candidate) -> bool:
    """JSON's way to begin an object, which a dict of Python's ``print`` has not."""
    return _FIRST_KEY.search(candidate.head) is not None


def _is_config(candidate: Candidate) -> bool:
    name = candidate.name.lower().removesuffix(".gz").removesuffix(".zst")
    return _is_object(candidate) or name.endswith((".yaml", ".yml", ".py"))


def _is_column(candidate: Candidate) -> bool:
    first, _, rest = candidate.head[:4096].lstrip().partition(b"\n")
    return first[:1] in b"+-.0123456789nNiIt" or rest.lstrip()[:1] in b"+-.0123456789"


def _is_table(candidate: Candidate) -> bool:
    first, _, rest = candidate.head[:65_536].lstrip().partition(b"\n")
    if first.startswith(b"# "):
        return any(mark in rest for mark in _MARKS)
    cells = [cell.strip() for cell in first.split(max(_MARKS, key=first.count))]
    is_text = first.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" not in first
    named = all(cell[:1].isalpha() or cell[:1] in b'_"' or cell >= b"\x80" for cell in cells[1:])
    return len(cells) > 1 and is_text and (named or b'"' in first)


def _is_pinned_list(candidate: Candidate) -> bool:
    return (
        b"==" in candidate.head
        or b"requirements" in candidate.name.lower().encode()
        or b" @ " in candidate.head
    )


def _is_safetensors(candidate: Candidate) -> bool:
    return candidate.head[8:9] == b"{" or candidate.name.endswith(".safetensors")


def _is_in_store(candidate: Candidate) -> bool:
    return _RUN_IN_STORE.search(f"{candidate.path.as_posix()}\n{candidate.name}") is not None


def _is_execution_trace(candidate: Candidate) -> bool:
    return b'"schema"' in candidate.head[:4096] and b'"nodes"' in candidate.head


def _is_inspect_log(candidate: Candidate) -> bool:
    return b"iteration=" in candidate.head and b"value=" in candidate.head


def _holds_objects(candidate: Candidate) -> bool:
    lines = (line.strip(b"\xef\xbb\xbf \t\r") for line in candidate.head.split(b"\n"))
    whole = any(line.startswith(b"{") and line.endswith(b"}") for line in lines)
    return whole and _has_a_key(candidate) and not candidate.name.endswith(DIARIES)


def _is_argument_file(candidate: Candidate) -> bool:
    name = candidate.name.lower()
    return any(word in name for word in ("arg", "opt", "param", "config", "cfg", "flag", "setting"))


def _anything(candidate: Candidate) -> bool:
    return bool(candidate.head)


def _made(home: str) -> Any:
    """An instance of a class by its ``module:Class``."""
    module, _, attribute = home.partition(":")
    return getattr(import_module(module), attribute)()


@dataclass
class LazyIngestor:
    """A built-in reader, which is imported when it is first needed."""

    name: str  # see ``Ingestor``
    summary: str  # see ``Ingestor``
    is_log: bool  # see ``Ingestor``
    home: str  # ``module:Class`` under ``analyzer.ingest``
    may_match: _Test  # false only for files that the ingestor would refuse

    @cached_property
    def real(self) -> Reader:
        """The reader itself."""
        return cast("Reader", _made(f"analyzer.ingest.{self.home}"))

    def sniff(self, candidate: Candidate) -> Match:
        """Ask the ingestor, unless the cheap test refuses."""
        return self.real.sniff(candidate) if self.may_match(candidate) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Let the ingestor read."""
        self.real.read(source, out)


_BUILTIN = (
    # name, summary, is_log, where it stands, cheap test
    ("capsule", "a step saved for replay (analyzer replay run reads it)", False, "formats.dumps.replay_file:CapsuleFiles", _any(_holds(b"analyzer-capsule/", within=256), _named(".safetensors"))),
    ("argument-file", "arguments of a run as a text file (key=value, key: value, Namespace(…))", False, "formats.config.argument_file:ArgumentFile", _is_argument_file),
    ("gpu-samples", "samples of GPUs (nvidia-smi --format=csv, DCGM exporter)", False, "formats.jobs.gpu_samples:GpuSamples", _holds(b"DCGM_FI_", b"temperature.gpu", b"utilization.gpu", within=8192)),
    ("history-json", "history of Keras' fit as JSON (a list of values for each metric)", True, "formats.metrics.history_json:HistoryJson", _is_history),
    ("structured-log", "log of JSON objects with a message each (structured loggers, journalctl -o json)", True, "formats.jobs.structured_log:StructuredLog", _holds_objects),
    ("clearml", "ClearML task recorded offline (metrics.jsonl, log.jsonl): metrics and console", True, "formats.metrics.clearml:ClearMLEvents", _begins(b"[{")),
    ("clearml-task", "settings of a ClearML task recorded offline (task.json)", False, "formats.metrics.clearml:ClearMLTask", _holds(b'"hyperparams"')),
    ("swanlab", "SwanLab transaction log (run-<id>.swanlab): metrics, console, how the run ended", True, "formats.metrics.swanlab:SwanLabLog", _begins(b":SWL")),
    ("swanlab-config", "configuration of a SwanLab run (config.yaml)", False, "formats.metrics.swanlab:SwanLabConfig", _holds(b"\n  sort: ")),
    ("trackio", "Trackio database (PROJECT.db): metrics, settings and system metrics of its last run", True, "formats.metrics.trackio:Trackio", _begins(b"SQLite format 3")),
    ("config", "training configuration (JSON, YAML, mmengine Python)", False, "formats.config.config_file:ConfigFile", _is_config),
    ("episode-monitor", "episodes of reinforcement learning (monitor.csv of Gym and Stable-Baselines)", True, "formats.metrics.episode_monitor:EpisodeMonitor", _holds(b'"t_start"', within=4096)),
    ("csv-metrics", "metrics as CSV (DeepSpeed monitor, Lightning, Keras, exports)", True, "formats.metrics.csv_metrics:CsvMetrics", _is_table),
    ("elastic-error", "error file of a torchrun worker (error.json)", True, "formats.jobs.elastic_error:ElasticError", _holds(b'"message"', within=4096)),
    ("job-status", "status of a container (Kubernetes pod as YAML or JSON, docker inspect)", True, "formats.jobs.job_status:JobStatus", _holds(b"containerStatuses", b"OOMKilled", b"kind")),
    ("execution-trace", "PyTorch execution trace: operators with the shapes of their inputs", False, "formats.timing.execution_trace:ExecutionTrace", _is_execution_trace),
    ("flight-recorder", "collectives of one rank as PyTorch's flight recorder dumps them at a timeout", True, "formats.dumps.flight_recorder:FlightRecorder", _any(_begins(b"\x80"), _holds(b'"entries"', within=4096), _holds(b"pg_config"))),
    ("json-lines", "metrics as JSON lines or one list of rows (LLaMA-Factory, mmengine, mmcv and others)", True, "formats.metrics.json_lines:JsonLines", _holds_rows),
    ("kineto", "timing trace (PyTorch profiler, Kineto; chrome trace)", False, "formats.timing.kineto:Kineto", _holds(b'"ph"', b'"traceEvents"', b'"traceName"')),
    ("launch-script", "launch script (sbatch, bash): scheduler options, environment, arguments", False, "formats.config.launch_script:LaunchScript", _any(_begins(b"#!"), _named(".sh", ".bash", ".zsh", ".sbatch", ".slurm", ".pbs", ".lsf", ".job"))),
    ("mlflow-database", "MLflow database (mlflow.db): metrics, parameters, status of its last run", True, "formats.metrics.mlflow_stores:MlflowDatabase", _begins(b"SQLite format 3")),
    ("mlflow-files", "MLflow file store (mlruns): metrics, parameters, status of a run", True, "formats.metrics.mlflow_stores:MlflowFiles", _is_in_store),
    ("model-files", "model, adapter and tokenizer description (Hugging Face layout)", False, "formats.checkpoints.model_files:ModelFiles", _any(_is_object, _named(".jinja"))),
    ("msprobe", "tensor statistics of Ascend msprobe (dump.json)", False, "formats.dumps.msprobe:Msprobe", _holds(b'"dump_data_dir"', within=4096)),
    ("notebook", "Jupyter notebook: what its last training printed", True, "formats.metrics.notebook:Notebook", _named(".ipynb", ".ipynb.gz")),
    ("nvdlfw-inspect", "tensor statistics of TransformerEngine (nvdlfw_inspect_statistics_logs)", False, "formats.dumps.inspect_log:InspectLog", _is_inspect_log),
    ("parquet-metrics", "metrics as Parquet (Trackio's exports, tables with a step and a loss)", True, "formats.metrics.parquet_metrics:ParquetMetrics", _begins(b"PAR1")),
    ("replay", "replay trace in the open format analyzer-replay/1 (Parquet or JSON lines)", False, "formats.dumps.replay_file:ReplayFile", _any(_begins(b"PAR1"), _holds(b'"analyzer_replay"', b'"replay_id"', within=4096))),
    ("requirements", "package versions (requirements.txt, pip freeze)", False, "formats.config.requirements:Requirements", _is_pinned_list),
    ("safetensors", "checkpoint weights (safetensors)", False, "formats.checkpoints.safetensors:Safetensors", _is_safetensors),
    ("tensorboard", "TensorBoard event files (tfevents)", True, "formats.tensorboard.tensorboard:TensorBoard", _holds(b"\0", within=4096)),
    ("named-column", "one number per line, in a file or below a head that names a curve (loss.txt)", True, "formats.metrics.named_column:NamedColumn", _is_column),
    ("training-script", "script that trains (Keras, PyTorch): last layer, loss, optimizer, loop; parsed, never run", False, "formats.config.training_script:TrainingScript", _named(".py")),
    ("text-log", "console log (stdout, stderr) of a training run", True, "text.text_log:TextLog", _anything),
    ("trainer-state", "HF Trainer state (trainer_state.json) and results", True, "formats.metrics.trainer_state:TrainerState", _is_object),
    ("wandb", "Weights & Biases transaction log (.wandb): history, console, configuration, exit", True, "formats.wandb.wandb_log:WandbLog", _any(_begins(b":W&B"), _named(".wandb"))),
    ("wandb-config", "configuration of a W&B run (config.yaml)", False, "formats.wandb.wandb_files:WandbConfig", _holds(b"wandb_version:", b"_wandb:")),
    ("wandb-download", "Weights & Biases run fetched from its server: history, system metrics, console, state", True, "formats.wandb.wandb_download:WandbDownload", _begins(b'{"run"')),
    ("wandb-metadata", "hardware and command line of a W&B run (wandb-metadata.json)", False, "formats.wandb.wandb_files:WandbMetadata", _is_object),
    ("wandb-summary", "last values of a W&B run (wandb-summary.json)", False, "formats.wandb.wandb_files:WandbSummary", _is_object),
)  # fmt: skip


@lru_cache(maxsize=1)
def builtin_ingestors() -> tuple[LazyIngestor, ...]:
    """One instance of every built-in ingestor, sorted by name."""
    return tuple(sorted((LazyIngestor(*row) for row in _BUILTIN), key=lambda ingestor: ingestor.name))


class ForeignReader:
    """A reader of another package; if it cannot be had, or is at fault, it costs itself.

    Args:
        name: Of its entry point.
        home: ``module:Class``.
    """

    name: str
    summary = "a reader of another package"
    is_log = True

    def __init__(self, name: str, home: str) -> None:
        self.name = name
        self._home = home
        self._guard = Guard(whose=THEIR_FAULT)

    @cached_property
    def real(self) -> Ingestor | None:
        """The reader itself; None if it cannot be imported."""
        with self._guard.part(f"reader {self.name} ({self._home})"):
            found = cast("Ingestor", _made(self._home))
            self.summary, self.is_log = found.summary, found.is_log
            return found
        return None

    @property
    def faults(self) -> Sequence[str]:
        """What went wrong with it outside of a file: it cannot be imported, or cannot look at a candidate."""
        return self._guard.faults

    def sniff(self, candidate: Candidate) -> Match:
        """Ask the reader."""
        real = self.real
        with self._guard.part(f"reader {self.name}"):
            return Match.NO if real is None else real.sniff(candidate)
        return Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Let the reader read."""
        if self.real is not None:
            self.real.read(source, out)


@lru_cache(maxsize=1)
def foreign_readers() -> tuple[ForeignReader, ...]:
    """The readers that other packages add, see ``vocabulary.installed``."""
    return tuple(ForeignReader(name, value) for name, value in installed(READERS))


@lru_cache(maxsize=1)
def ingestors() -> tuple[Ingestor, ...]:
    """All readers; the one that is surest of a file reads it, so a foreign one may replace a built-in one."""
    return (*foreign_readers(), *builtin_ingestors())
