"""Who was called wrongly: a library of another version, the run's own code, or a class that a configuration names."""

from __future__ import annotations

import pytest

import analyzer

LIB = "/opt/venv/lib/python3.10/site-packages"
HEAD = 'Traceback (most recent call last):\n  File "train.py", line 90, in <module>\n    main()\n'
TRAINER = (
    f'  File "{LIB}/transformers/trainer.py", line 2748, in compute_loss\n    outputs = model(**inputs)\n'
)
CALL = (
    f'  File "{LIB}/torch/nn/modules/module.py", line 1501, in _call_impl\n    return forward_call(*args)\n'
)
MODEL = f'  File "{LIB}/transformers/models/tiny/modeling_tiny.py", line 70, in forward\n    self.layer(hidden, cache_slots=slots)\n'
ENGINE = f'  File "{LIB}/accelerate/accelerator.py", line 900, in prepare\n    return build(model)\n'
REGISTRY = f'Traceback (most recent call last):\n  File "{LIB}/mmcv/utils/registry.py", line 52, in build_from_cfg\n    return obj_cls(**args)\n'
SPAWNED = """Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "C:\\Python39\\lib\\multiprocessing\\spawn.py", line 116, in spawn_main
    exitcode = _main(fd, parent_sentinel)
  File "C:\\Python39\\lib\\multiprocessing\\spawn.py", line 134, in _check_not_importing_main
    raise RuntimeError('''
RuntimeError:
        An attempt has been made to start a new process before the
        current process has finished its bootstrapping phase.
"""
WORKER = "RuntimeError: DataLoader worker (pid(s) 4711) exited unexpectedly\n"
ROWS = "".join(f"step {step} loss {2.0 - step / 900:.4f} lr 0.001\n" for step in range(0, 900, 50))
OWN, VERSIONS, SETTING, PROGRAM = (
    "user-code-exception",
    "library-abi-mismatch",
    "invalid-config-argument",
    "system-program-missing",
)
LOGS = {
    "schedule-called-without-its-metric": (
        HEAD
        + "TypeError: ReduceLROnPlateau.step() missing 1 required positional argument: 'metrics'\n",
        OWN,
    ),
    "schedule-that-lost-an-option": (
        HEAD + "TypeError: ReduceLROnPlateau.__init__() got an unexpected keyword argument 'verbose'\n",
        VERSIONS,
    ),
    "own-model-called-by-a-trainer": (
        HEAD + TRAINER + CALL + "TypeError: TinyPooler.forward() got an unexpected keyword argument 'token_type_ids'\n",
        OWN,
    ),
    "layer-called-by-a-model-of-a-package": (
        HEAD + TRAINER + CALL + MODEL + CALL + "TypeError: forward() got an unexpected keyword argument 'cache_slots'\n",
        VERSIONS,
    ),
    "package-that-calls-a-package": (
        HEAD + ENGINE + "TypeError: build() got an unexpected keyword argument 'fused_step'\n",
        VERSIONS,
    ),
    "index-on-another-device": (
        HEAD
        + "    rows = bank[order]\nRuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)\n",
        OWN,
    ),
    "what-julia-calls-an-argument": (
        "ERROR: LoadError: ArgumentError: array must be non-empty\nStacktrace:\n [1] first(itr::Vector{Float32})\n   @ Base ./abstractarray.jl:452\n",
        OWN,
    ),
    "what-a-parser-calls-an-argument": (
        HEAD + "argparse.ArgumentError: argument --lr: conflicting option string: --lr\n",
        SETTING,
    ),
    "no-guard-of-the-main-part": (SPAWNED + HEAD + WORKER, OWN),
    "worker-lost-alone": (HEAD + WORKER, "dataloader-worker-killed"),
    "nothing-to-build-with": (HEAD + "RuntimeError: Ninja is required to load C++ extensions\n", PROGRAM),
    "make-without-a-compiler": ("make: nvcc: No such file or directory\nmake: *** [Makefile:4: ops.so] Error 127\n", PROGRAM),
    "package-of-r": ("Error in library(acme) : there is no package called 'acme'\nExecution halted\n", "package-missing"),
    "started-again-with-a-wrong-option": (ROWS + "train.py: error: unrecognized arguments: --epohcs 5\n", SETTING),
}  # fmt: skip


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.usefixtures("causes_only")
def test_who_was_called_wrongly(tmp_path, name):
    text, cause = LOGS[name]
    log = tmp_path / "train.log"
    log.write_text("loading configuration\n" + text, encoding="utf-8")
    assert analyzer.diagnose(log).findings[0].cause.id == cause


def test_a_class_that_does_not_take_the_keys_of_the_configuration_is_no_clash_of_versions(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(REGISTRY + "TypeError: __init__() got an unexpected keyword argument 'with_gate'\n", encoding="utf-8")  # fmt: skip
    found = {finding.cause.id: finding.probability for finding in analyzer.diagnose(log).findings}
    assert SETTING in found
    assert found.get(VERSIONS, 0.0) < 0.6
