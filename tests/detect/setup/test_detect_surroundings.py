"""What a run runs on and with is told only where something names it."""

import pytest
from make_run import RunMaker, falling


def told(maker):
    plain = maker.log({"loss": falling(30)}).plain()
    return {
        name: plain.get(f"run.{name}")
        for name in ("library", "platform", "backend", "subject", "saved", "never_saved")
    }


@pytest.mark.parametrize(
    ("text", "library", "platform", "backend"),
    [
        ("RuntimeError: HIP error: invalid device function (torch)", "torch", "rocm", None),
        (
            "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2356",
            "torch",
            "cuda",
            "nccl",
        ),
        ("[c10d] ProcessGroupGloo timed out", "torch", None, "gloo"),
        ("jaxlib.xla_extension.XlaRuntimeError: INTERNAL: NCCL operation failed", "jax", "cuda", "nccl"),
        ("EI0002: HCCL the wait execution of the Notify register times out", None, "ascend", "hccl"),
        ("tensorflow.python.framework.errors_impl: OP_REQUIRES failed", "tensorflow", None, None),
        (
            "Error allocating device buffer: There are 134M free.; (1x0x0_HBM0): while running",
            None,
            "tpu",
            None,
        ),
        ("std::runtime_error: [METAL] Command buffer execution failed", "mlx", "mps", None),
        ("! java.lang.NumberFormatException: Infinite or NaN", "java", None, None),
        ("ERROR: MethodError: no method matching iterate(::Nothing)", "julia", None, None),
        ("luajit: bad argument #1 to 'new' (out of range)", "lua", None, None),
        ("OutOfRangeError (see above for traceback): End of sequence", "tensorflow", None, None),
        ("cudaErrorNoDevice: no device is detected (cupy)", "chainer", "cuda", None),
        ("the script raised an exception", None, None, None),
    ],
)
def test_library_platform_and_backend_by_what_messages_say(text, library, platform, backend):
    found = told(RunMaker().event("python_traceback", text=text))

    assert (found["library"], found["platform"], found["backend"]) == (library, platform, backend)


def test_a_trainer_tells_its_library_and_kind_of_data():
    assert (told(RunMaker("ultralytics"))["library"], told(RunMaker("ultralytics"))["subject"]) == (
        "torch",
        "vision",
    )
    assert told(RunMaker("maxtext"))["library"] == "jax"
    assert told(RunMaker("llamafactory"))["subject"] == "language"


def test_two_kinds_of_data_leave_it_open():
    assert told(RunMaker("llamafactory", "ultralytics"))["subject"] is None


def test_the_marketing_name_of_a_device_counts_first():
    maker = RunMaker().event("python_traceback", text="torch: CUDA out of memory")
    maker.file().layout(gpu_name="AMD Instinct MI300X")

    assert told(maker)["platform"] == "rocm"


@pytest.mark.parametrize(
    ("keys", "never"),
    [
        ({"save_steps": 500}, True),
        ({"save_steps": 10}, None),
        ({"save_strategy": "no"}, True),
        ({"save_steps": 0.5}, None),
        ({}, None),
    ],
)
def test_a_run_that_ended_before_its_first_save_has_nothing_to_resume(keys, never):
    assert told(RunMaker().config(**keys))["never_saved"] is never


def test_a_checkpoint_that_was_reported_was_saved():
    found = told(
        RunMaker().config(save_steps=500).event("checkpoint_saved", path="out/checkpoint-10", step=10)
    )

    assert (found["saved"], found["never_saved"]) == (True, None)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_a_name_that_every_machine_has_is_no_node_to_leave_out(name):
    maker = RunMaker().event("torchrun_worker_failed", role="root_candidate", host=name, rank=1, exitcode=1)

    assert "failure.first.host" not in maker.plain()
