"""Grammars of the lines by which trainers print their metrics; one program a file.

Order decides: the first grammar that understands a line keeps it, so the specific ones stand before the
general one. Whatever none of them understands for certain stays unread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.ingest.bare_exceptions import BareExceptions
from analyzer.ingest.fault_dumps import FaultDumps
from analyzer.ingest.metric_lines.argument_dumps import ArgumentDumps
from analyzer.ingest.metric_lines.banners import Banners
from analyzer.ingest.metric_lines.block_forms import BlockForms
from analyzer.ingest.metric_lines.container_records import ContainerRecords
from analyzer.ingest.metric_lines.deepspeed_chat import DeepSpeedChatLines
from analyzer.ingest.metric_lines.deepspeed_config import DeepSpeedConfigDump
from analyzer.ingest.metric_lines.deepspeed_lines import DeepSpeedLines
from analyzer.ingest.metric_lines.deepspeed_timers import DeepSpeedTimers
from analyzer.ingest.metric_lines.fairseq_lines import FairseqLines
from analyzer.ingest.metric_lines.forms_home import HOME_FORMS
from analyzer.ingest.metric_lines.forms_language import LANGUAGE_FORMS
from analyzer.ingest.metric_lines.forms_speech import SPEECH_FORMS
from analyzer.ingest.metric_lines.forms_vision import VISION_FORMS
from analyzer.ingest.metric_lines.generation import GenerationLines
from analyzer.ingest.metric_lines.hf_console import HfConsole
from analyzer.ingest.metric_lines.hf_summary import HfSummary
from analyzer.ingest.metric_lines.hook_reports import HookReports
from analyzer.ingest.metric_lines.job_records import JobRecords
from analyzer.ingest.metric_lines.json_lines import JsonLines
from analyzer.ingest.metric_lines.keras_lines import KerasLines
from analyzer.ingest.metric_lines.megatron_lines import MegatronLines
from analyzer.ingest.metric_lines.mmengine_lines import MmengineLines
from analyzer.ingest.metric_lines.printed_tables import PrintedTables
from analyzer.ingest.metric_lines.progress_bars import ProgressBars
from analyzer.ingest.metric_lines.row_forms import RowForms
from analyzer.ingest.metric_lines.step_lines import StepLines
from analyzer.ingest.metric_lines.torchrun_reports import TorchrunReports
from analyzer.ingest.metric_lines.yolo_lines import YoloLines, YoloResults
from analyzer.ingest.stack_samples import StackSamples
from analyzer.ingest.tracebacks import Tracebacks

if TYPE_CHECKING:
    from analyzer.ingest.log_line import LineGrammar


def grammars() -> tuple[LineGrammar, ...]:
    """A fresh set of grammars, in the order in which they are asked."""
    return (
        BareExceptions(),
        Tracebacks(),
        FaultDumps(),
        StackSamples(),
        TorchrunReports(),
        JobRecords(),
        ContainerRecords(),
        HookReports(),
        HfConsole(),
        HfSummary(),
        ProgressBars(),
        MegatronLines(),
        DeepSpeedLines(),
        DeepSpeedChatLines(),
        DeepSpeedTimers(),
        DeepSpeedConfigDump(),
        FairseqLines(),
        MmengineLines(),
        RowForms(LANGUAGE_FORMS + VISION_FORMS + SPEECH_FORMS + HOME_FORMS),
        BlockForms(),
        YoloLines(),
        YoloResults(),
        KerasLines(),
        ArgumentDumps(),
        Banners(),
        GenerationLines(),
        JsonLines(),
        PrintedTables(),
        StepLines(),
    )
