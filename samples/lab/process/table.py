"""The table of process faults."""

from __future__ import annotations

from .faults_loop import LOOP_FAULTS
from .faults_ranks import RANKS_FAULTS
from .faults_trainer import TRAINER_FAULTS
from .plan import ProcessFault

PROCESS_FAULTS: dict[str, ProcessFault] = {
    fault.name: fault for fault in (*LOOP_FAULTS, *TRAINER_FAULTS, *RANKS_FAULTS)
}
