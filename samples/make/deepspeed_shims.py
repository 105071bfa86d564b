"""Shims that let DeepSpeed and mmengine run without a GPU. They change no number of a run.

* DeepSpeed's CPU accelerator refuses fp16 although torch emulates it (numerically real: it
  overflows above 65504 and flushes below 6e-8), so the support check is answered with yes.
* mmengine 0.10.7 imports `deepspeed.runtime.fp16.onebit`, which DeepSpeed 0.19 removed: an empty
  stand-in holds the three optimizer names, which no run here uses.
* mmengine calls `torch.cuda.set_device` unconditionally: it does nothing here.

The libraries are imported inside the functions: the makers themselves need neither.
"""

from __future__ import annotations

import socket
import sys
import types

FP16_SHIM = "DeepSpeed's CPU accelerator is told that fp16 is supported (torch emulates it)."
MMENGINE_SHIM = (
    "a stand-in for the module `deepspeed.runtime.fp16.onebit` (mmengine imports it, DeepSpeed "
    "0.19 removed it); `torch.cuda.set_device` does nothing; the gloo backend."
)


def allow_fp16() -> None:
    """Let DeepSpeed use torch's emulated fp16 on the CPU."""
    from deepspeed.accelerator import get_accelerator

    get_accelerator().is_fp16_supported = lambda: True


def allow_mmengine() -> None:
    """Let mmengine's DeepSpeedStrategy be imported with DeepSpeed 0.19 and run without CUDA."""
    import torch

    onebit = types.ModuleType("deepspeed.runtime.fp16.onebit")
    for name in ("OnebitAdam", "OnebitLamb", "ZeroOneAdam"):
        setattr(onebit, name, type(name, (torch.optim.Optimizer,), {}))
    sys.modules[onebit.__name__] = onebit
    torch.cuda.set_device = lambda _device: None


def single_process_env() -> dict[str, str]:
    """What a launcher would set for one process on one machine, on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return {
        "DS_ACCELERATOR": "cpu",
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def launcher_env() -> dict[str, str]:
    """The environment of a run that the `deepspeed` launcher starts on the CPU."""
    return {"DS_ACCELERATOR": "cpu"}
