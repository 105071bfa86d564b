"""Grammars of the lines by which trainers print their metrics; one program a file.

Order decides: the first grammar that understands a line keeps it, so the specific ones stand before the
general one. Whatever none of them understands for certain stays unread.
"""

from __future__ import annotations

from importlib import import_module

from analyzer.ingest.text.log_line import Learnable, LineGrammar, LineReader, LogLine, LogState
from analyzer.ingest.text.rows.forms.block_forms import BlockForms
from analyzer.ingest.text.rows.forms.row_forms import RowForms
from analyzer.ingest.text.rows.learned.templates import TemplateRows
from analyzer.ingest.text.rows.tables.boxes import Boxes
from analyzer.ingest.text.rows.tables.printed_objects import JsonLines
from analyzer.ingest.text.rows.tables.printed_tables import PrintedTables
from analyzer.ingest.text.rows.trainers.hf_console import HfConsole
from analyzer.ingest.text.rows.trainers.progress_bars import ProgressBars


class _Late:
    """A grammar that is imported when the first line comes that holds one of its literals.

    Args:
        home: ``module:Class`` under ``analyzer.ingest.text``.
        literals: See ``LineGrammar.literals``.
    """

    def __init__(self, home: str, *literals: str) -> None:
        self.literals = literals
        self._home = home
        self._reader: LineReader | None = None

    @property
    def reader(self) -> LineReader:
        """The grammar itself."""
        if self._reader is None:
            module, _, name = self._home.partition(":")
            self._reader = getattr(import_module(f"analyzer.ingest.text.{module}"), name)()
        return self._reader

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        return self.reader.feed(line, log)

    def finish(self, log: LogState) -> None:
        """See ``LineGrammar.finish``."""
        if self._reader is not None:
            self._reader.finish(log)


class _LateRows(_Late, Learnable):
    """A late grammar that is ``Learnable``; it is asked about its rows only after it read one."""

    @property
    def rows_stand_alone(self) -> bool:
        """See ``Learnable``."""
        assert isinstance(self.reader, Learnable)
        return self.reader.rows_stand_alone

    def passed(self, rows: int, number: int, step: int | None) -> None:
        """See ``Learnable``."""
        assert isinstance(self.reader, Learnable)
        self.reader.passed(rows, number, step)


def grammars() -> tuple[LineGrammar, ...]:
    """A fresh set of grammars, in the order in which they are asked."""
    return (
        _Late("failures.bare_exceptions:BareExceptions", "Error: ", "Exception: ", "luajit: ", "bin/lua: ", "qlua: /", "bin/th: "),
        _Late("failures.tracebacks:Tracebacks", "Traceback (most recent call last)", "During handling of the above exception", "The above exception was the direct cause", '", line '),
        _Late("failures.fault_dumps:FaultDumps", "Fatal Python error: ", "Timeout (0:", "Timeout (1:", "Timeout (2:"),
        _Late("failures.stack_samples:StackSamples", '): "MainThread"'),
        _Late("failures.torchrun_reports:TorchrunReports", "Root Cause (first observed failure):", "Failures:"),
        _Late("setup.job_records:JobRecords", "ExitCode", "JobState=", "JobID|", "JobIDRaw|"),
        _Late("setup.container_records:ContainerRecords", "Terminated", "terminated:", '"terminated": ', '"OOMKilled": '),
        _Late("failures.hook_reports:HookReports", "Detected inf/nan during batch_number="),
        HfConsole(),
        ProgressBars(),
        _LateRows("rows.trainers.megatron_lines:MegatronLines", "elapsed time per iteration (ms)", "validation loss at "),
        _LateRows("rows.trainers.deepspeed_lines:DeepSpeedLines", ", skipped="),
        _Late("rows.trainers.deepspeed_chat:DeepSpeedChatLines", "***** Evaluating ", "average reward score: "),
        _Late("setup.deepspeed_config:DeepSpeedConfigDump", "json = {", ":print]   "),
        _Late("rows.trainers.deepxde_lines:DeepXdeLines", *(f"{digits:02d}]    [" for digits in range(20)), "nan]   ", "inf]   "),
        _Late("rows.trainers.fairseq_lines:FairseqLines", 'num_updates": ', " num_updates=", "| num_updates "),
        _Late("rows.tables.task_scores:TaskScores", "_Exp/eval_phase/", "ExperienceForgetting/", "on task ", *(f"ask {digit}{end}" for digit in range(10) for end in (": ", " - ", " = ", " acc", " Acc"))),
        RowForms(),
        BlockForms(),
        Boxes(),
        _Late("rows.trainers.yolo_lines:YoloLines", "GPU_mem ", "gpu_mem ", "labels  img_size", "iou_loss  dfl_loss"),
        _Late("rows.trainers.yolo_lines:YoloResults", "G   0.0", "G    0.", "G     0.", "G     1.", "G     2.", *(f"G     {digit}." for digit in range(3, 10)), "G      "),
        _Late("rows.trainers.keras_lines:KerasLines", "Epoch ", *(f"epoch:{digit}" for digit in range(10)), " - loss: ", " - val_loss: ", "/step - "),
        _Late("setup.argument_dumps:ArgumentDumps", "TrainingArguments(", "SFTConfig(", "DPOConfig(", "GRPOConfig(", "--- arguments ---", "Model config ", "Namespace(", "onfig: {", "onfig={", "onfiguration: {", "args: {", "Args: {", " args={", "rguments: {", "arameters: {", "arams: {", "ettings: {", "ptions: {", "'batch_size': ", '"batch_size": '),
        _Late("setup.command_lines:CommandLines", "python train", "python main", "python run", "python tools/", "python scripts/", "python src/", "python examples/", "python finetune", "python fine_tune", "+ python", "$ python", "# python", "!python ", "> python", "ommand: python", "md: python", "nning: python", "ecuting: python", "python3 train", "python3 main", "python3 tools/", "python3 -u ", "python -u ", "S=0 python", "+ torchrun ", "$ torchrun ", "torchrun --", "accelerate launch "),
        _Late("setup.banners:Banners", "batch size per device = ", "Batch size per device = ", "ccumulation steps = ", "Num Epochs = ", "Num examples = ", "Total optimization steps = ", "Total steps = ", "otal batch size", "rainable parameters = ", "DeepSpeed info: version", "deepspeed info .", "ransformers: ", "ransformers = ", "ransformers version", "`transformers` version", "ytorch: ", "PyTorch: ", "PyTorch version", "    Torch: ", "torch version ", "Unsloth", "Max memory: ", "Bfloat16 = ", "Num GPUs", "All distributed processes registered", "compute dtype: ", "Mixed precision type: ", " Automatic Mixed Precision", "16-bits training: ", "Overriding: ", "U available: ", "` stopped: ", " ZeRO stage ", "DeepSpeed Basic Optimizer = ", "Creating fp16 ", "Creating BF16 optimizer", "dist_world_size=", "using world size: "),
        _Late("failures.generation:GenerationLines", "generat", "Generat", "sample:", "Sample:", "output:", "Output:", "ompletion:", "esponse:"),
        _Late("rows.tables.printed_histories:PrintedHistories", "loss': [", 'loss": ['),
        JsonLines(),
        _Late("rows.tables.ruled_tables:RuledTables", "timestamp            duration"),
        _Late("rows.tables.ruled_tables:TaskTables", "|n-shot|", "|Metric|"),
        _Late("rows.tables.ruled_tables:OverlapTables", "|  all  |  .50  |"),
        PrintedTables(),
        TemplateRows(),
    )  # fmt: skip
