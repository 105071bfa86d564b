r"""What the name of a file or directory says about where a run begins and ends. Nothing is opened here.

slurm-123.out, train-123_7.err, job.o4711      output of one job each
job96.o beside job96.e                         the two streams of one job
train.log beside nccl.log                      parts of one run
baseline.log beside lr3e-4.log                 two runs
rank_3/, node-a/, attempt_0/, checkpoint-500/  parts of the run above them
offline-run-20260102_030405-ab12cd34/          a W&B run
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from analyzer.ingest.rank_names import names_part, place_of
from analyzer.lazy_regex import LazyRegex

_ARCHIVE = LazyRegex(r"\.(?:gz|zst)$")
_LOG = LazyRegex(r"(?i)\.(?:log|out|err|stdout|stderr|[oe]\d{3,12}(?:[.-]\d{1,6})?)(?:\.\d{1,3})?$|\d\.[oe]$")
_ENDING = LazyRegex(r"(?i)\.(?:csv|tsv|txt|log|out)(?:\.gz|\.zst)?$")
_LOG_NAME = LazyRegex(r"(?i)^(?:stdout|stderr|log\.rank\d+|workerlog\.\d+|nohup\.out|output)$")
_MARKER = LazyRegex(
    r"^(?:events\.out\.tfevents\..*|.*\.tfevents|.*\.wandb|.*\.swanlab|trainer_state\.json|trainer_log\.jsonl|metrics\.csv|hparams\.yaml"
    r"|wandb-metadata\.json|mlflow\.db)$"
)
_CONFIG = LazyRegex(
    r"(?i)^(?!package(?:-lock)?\.json|tsconfig|\.)(?:(?=.*(?:config|args|hparams|params|arguments|ds_|deepspeed|settings)).*"
    r"\.(?:ya?ml|json|toml|py)|.*\.ya?ml|.*\.sbatch)$"
)
_AMBIGUOUS = LazyRegex(r"(?i)(?:\.(?:txt|jsonl?|csv|tsv|db|parquet)|^[^.]+)$")

# A scheduler's job id: Slurm's %j and %A_%a, PBS and SGE's name.o4711, LSF's lsf.4711.out.
_JOB = LazyRegex(
    r"(?i)(?:^|[-_.])(?P<job>\d{4,12}(?:_\d{1,6})?)(?:[.-]\d{1,6})?\.(?:out|err|log|txt)(?:\.(?:gz|zst))?$"
    r"|(?:^|[-_.])(?:slurm|lsf|sbatch|job)[-_.](?P<named>\d{1,12}(?:_\d{1,6})?)(?:\.\d{1,6})?\.(?:out|err|log|txt)(?:\.(?:gz|zst))?$"
    r"|\.[oe](?P<pbs>\d{3,12}(?:[.-]\d{1,6})?)$"
)
_DATE_LIKE = LazyRegex(r"^(?:19|20)\d{2}(?:[01]\d(?:[0-3]\d)?)?$")

_ROLE = LazyRegex(
    r"(?i)^(?:train(?:er|ing)?|eval(?:uation)?|val(?:id(?:ation)?)?|test|std(?:out|err)?|out(?:put)?|err(?:ors?)?|logs?|console|main"
    r"|run|debug|info|warn(?:ings?)?|launch(?:er)?|job|nccl|dmesg|kern(?:el)?|sys(?:log)?|messages|gpus?|nvidia|smi|metrics?|master"
    r"|sbatch|slurm(?:d|stepd)?|srun|wandb|internal|rank|local|global|localrank|globalrank|node|host|worker|task|proc(?:ess)?"
    r"|hardware|health|summary|nemo|lightning|torchrun|elastic|agent|monitor|detection|record|dist|rendezvous|history|app|python|script|tensorboard"
    r"|requirements|environment|env|pip|freeze|attempt|fault|injection|nohup|ds|deepspeed|steps?|iterations?|iters?|epochs?|results?|progress|stats|\d+|)$"
)
_W_AND_B = LazyRegex(r"^(?:offline-)?run-\d{8}_\d{6}-\S+$")
_MLFLOW = LazyRegex(r"^[0-9a-f]{32}$")
_VERSION = LazyRegex(r"^version_\d+$")
_STAMPED = LazyRegex(r"^\d{8}_\d{6}$")
_PART = LazyRegex(
    r"(?i)^(?:checkpoints?(?:[-_]?\d+)?|ckpts?|global_step\d+|step[-_]?\d+|epoch[-_]?\d+|tb|tensorboards?|tensorboard_logs?|tb_logs?"
    r"|tfevents|events|logs?|log_dir|result_dir|runs|wandb|mlruns|lightning_logs|nemologs?|attempt_\d+|\d{1,4}|files|conf(?:ig)?s?"
    r"|\.hydra|hparams|metrics|code|src|eval|evaluation|results?|outputs?|models?|weights|profiler?|traces?|vis_data|version_\d+|artifacts"
    r"|params|tags|media|plots|none_\w+|(?:offline-)?run-\d{8}_\d{6}-\S+|\d{8}_\d{6}|[A-Z][a-z]{2}\d{2}_\d{2}-\d{2}-\d{2}_\S+|data|tmp|latest-run"
    # Keras writes train/ and validation/, add_scalars one directory per curve ("Loss_train")
    r"|(?:(?:loss|acc(?:uracy)?|lr|metrics?)[_-])?(?:train(?:ing)?|val(?:id(?:ation)?)?|test|dev))$"
)


def is_log(name: str) -> bool:
    """Whether a file is named like console output."""
    bare = _ARCHIVE.sub("", name)
    return bool(_LOG.search(bare) or _LOG_NAME.match(bare))


def is_marker(name: str) -> bool:
    """Whether a training library writes files of this name into the directory of a run."""
    return bool(_MARKER.match(name))


def is_config(name: str) -> bool:
    """Whether a file is named like the configuration of a run."""
    return bool(_CONFIG.match(name))


def is_ambiguous(name: str) -> bool:
    """Whether only the content can tell what a file is."""
    return bool(_AMBIGUOUS.search(_ARCHIVE.sub("", name)))


def job_of(name: str) -> str:
    """Job id in a file's name, empty if there is none.

    >>> job_of("slurm-123456_7.out"), job_of("train.o4711"), job_of("eval-20260102.log"), job_of("train.log")
    ('123456_7', '4711', '', '')
    """
    match = _JOB.search(name)
    if match is None:
        return ""
    found = match["job"] or match["named"] or match["pbs"] or ""
    return "" if _DATE_LIKE.match(found) else found


def stem_of(name: str) -> str:
    """Name without archive and log suffix, the same for the two streams of one job.

    >>> stem_of("train-17.out"), stem_of("train-17.err.gz"), stem_of("job.e4711"), stem_of("a.console.txt"), stem_of("job96.e")
    ('train-17', 'train-17', 'job.4711', 'a', 'job96')

    Trackio exports a project as three tables.

    >>> stem_of("digits.parquet"), stem_of("digits_system.parquet"), stem_of("digits_configs.parquet")
    ('digits', 'digits', 'digits')
    """
    bare = re.sub(r"(?i)(?:(?:_(?:system|configs))?\.parquet|\.db)$", "", _ARCHIVE.sub("", name))
    bare = re.sub(
        r"(?i)\.[oe](\d{3,12})|(?<=\d)\.[oe]$", lambda found: f".{found[1]}" if found[1] else "", bare
    )
    bare = re.sub(r"(?i)\.(?:log|out|err|txt|jsonl?|csv)(?:\.\d{1,3})?$", "", bare)
    head, _, last = bare.rpartition(".")
    while head and last and not last.isdigit() and all(_ROLE.match(word) for word in re.split(r"[-_]", last)):
        bare = head
        head, _, last = bare.rpartition(".")
    return re.sub(r"(?i)[_-](?:std)?(?:out|err)$", "", bare) or bare


_OF_PHASE = LazyRegex(
    r"(?i)^(?:train(?:ing)?|val(?:id(?:ation)?)?|test|eval|dev)[_-](?=(?:loss(?:es)?|acc(?:uracy)?|err(?:ors?)?|logs?|metrics?|history|scores?)(?![a-z]))"
)


def curve_of(name: str) -> str:
    """The same as its stem, and the same for the files of one curve on training and on held-out data.

    >>> curve_of("train_loss_2.txt"), curve_of("val_loss_2.txt"), curve_of("train-17.out"), curve_of("loss_2.txt")
    ('loss_2', 'loss_2', 'train-17', 'loss_2')
    """
    return _OF_PHASE.sub("", stem_of(name))


_OF_HELD_OUT = LazyRegex(
    r"(?i)^(?:(?:logs?|metrics?|loss(?:es)?|results?|history)[_.-])?(?P<word>val|valid|validation|eval|evaluation|test)"
    r"(?:[_.-](?:logs?|metrics?|loss(?:es)?|results?|history|scores?)(?P<more>[_.-][\w.-]{1,80})?)?$"
)


def is_of_held_out(path: Path, *, alone: bool) -> bool:
    """Whether a file is named for evaluations; ``alone`` it counts without a file of the training beside it.

    One of a ``test`` may be a training that somebody tried out, if it stands alone.
    """
    match = _OF_HELD_OUT.match(_ENDING.sub("", path.name))
    if match is None or (alone and match["word"].lower() != "test" and not match["more"]):
        return match is not None
    return any(
        path.with_name(path.name.replace(match["word"], word, 1)).exists() for word in ("train", "training")
    )


def is_role(name: str) -> bool:
    """Whether a log's name says only which part of a run it is.

    >>> is_role("train_rank_3.log"), is_role("nccl.log"), is_role("lr3e-4.log"), is_role("gpt2-base.out")
    (True, True, False, False)
    """
    place = place_of(name)
    words = re.split(r"[-_.\s]+", stem_of(name))
    if place.rank is not None or place.local_rank is not None or place.node is not None:
        words = [re.sub(r"\d+$", "", word) for word in words]
    return all(_ROLE.match(word) for word in words)


_STREAM = LazyRegex(r"(?i)^std(?:out|err)(?:\.(?:log|txt))?$")


def is_stream(name: str) -> bool:
    """Whether a file is named after an output stream, as launchers name what each process printed.

    >>> is_stream("stderr.log"), is_stream("train.log")
    (True, False)
    """
    return bool(_STREAM.match(name))


def is_part(directory: str) -> bool:
    """Whether a directory is named like a part of a run: a rank, a host, a checkpoint, ``tb``, ``logs``."""
    return bool(_PART.match(directory)) or names_part(directory)


def library_run(directory: str, names: Iterable[str]) -> str:
    """What library made a directory for exactly one run, in words; empty if none is recognised."""
    present = set(names)
    if _W_AND_B.match(directory):
        return "W&B run directory"
    if _MLFLOW.match(directory) and "meta.yaml" in present:
        return "MLflow run directory"
    if _VERSION.match(directory) and any(is_marker(name) for name in present):
        return "Lightning version directory"
    if ".hydra" in present:
        return "Hydra run directory"
    if _STAMPED.match(directory) and ("vis_data" in present or any(is_log(name) for name in present)):
        return "time-stamped work directory"
    return ""


def same_but_for_numbers(names: Iterable[str]) -> bool:
    """Whether names differ only in their digits, as those of numbered or dated jobs do."""
    return len({re.sub(r"[0-9a-f]*\d[0-9a-f]*", "N", stem_of(name)) for name in names}) == 1
