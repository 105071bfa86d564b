"""Grammars of the lines by which trainers print their metrics; one program a file.

Order decides: the first grammar that understands a line keeps it, so the specific ones stand before the
general one. Whatever none of them understands for certain stays unread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.ingest.text.failures.bare_exceptions import BareExceptions
from analyzer.ingest.text.failures.fault_dumps import FaultDumps
from analyzer.ingest.text.failures.generation import GenerationLines
from analyzer.ingest.text.failures.hook_reports import HookReports
from analyzer.ingest.text.failures.stack_samples import StackSamples
from analyzer.ingest.text.failures.torchrun_reports import TorchrunReports
from analyzer.ingest.text.failures.tracebacks import Tracebacks
from analyzer.ingest.text.rows.forms.block_forms import BlockForms
from analyzer.ingest.text.rows.forms.forms_home import HOME_FORMS
from analyzer.ingest.text.rows.forms.forms_language import LANGUAGE_FORMS
from analyzer.ingest.text.rows.forms.forms_speech import SPEECH_FORMS
from analyzer.ingest.text.rows.forms.forms_vision import VISION_FORMS
from analyzer.ingest.text.rows.forms.row_forms import RowForms
from analyzer.ingest.text.rows.learned.templates import TemplateRows
from analyzer.ingest.text.rows.tables.boxes import Boxes
from analyzer.ingest.text.rows.tables.printed_objects import JsonLines
from analyzer.ingest.text.rows.tables.printed_tables import PrintedTables
from analyzer.ingest.text.rows.trainers.deepspeed_chat import DeepSpeedChatLines
from analyzer.ingest.text.rows.trainers.deepspeed_lines import DeepSpeedLines
from analyzer.ingest.text.rows.trainers.deepspeed_timers import DeepSpeedTimers
from analyzer.ingest.text.rows.trainers.deepxde_lines import DeepXdeLines
from analyzer.ingest.text.rows.trainers.fairseq_lines import FairseqLines
from analyzer.ingest.text.rows.trainers.hf_console import HfConsole
from analyzer.ingest.text.rows.trainers.hf_summary import HfSummary
from analyzer.ingest.text.rows.trainers.keras_lines import KerasLines
from analyzer.ingest.text.rows.trainers.megatron_lines import MegatronLines
from analyzer.ingest.text.rows.trainers.mmengine_lines import MmengineLines
from analyzer.ingest.text.rows.trainers.progress_bars import ProgressBars
from analyzer.ingest.text.rows.trainers.yolo_lines import YoloLines, YoloResults
from analyzer.ingest.text.setup.argument_dumps import ArgumentDumps
from analyzer.ingest.text.setup.banners import Banners
from analyzer.ingest.text.setup.container_records import ContainerRecords
from analyzer.ingest.text.setup.deepspeed_config import DeepSpeedConfigDump
from analyzer.ingest.text.setup.job_records import JobRecords

if TYPE_CHECKING:
    from analyzer.ingest.text.log_line import LineGrammar


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
        DeepXdeLines(),
        FairseqLines(),
        MmengineLines(),
        RowForms(LANGUAGE_FORMS + VISION_FORMS + SPEECH_FORMS + HOME_FORMS),
        BlockForms(),
        Boxes(),
        YoloLines(),
        YoloResults(),
        KerasLines(),
        ArgumentDumps(),
        Banners(),
        GenerationLines(),
        JsonLines(),
        PrintedTables(),
        TemplateRows(),
    )
