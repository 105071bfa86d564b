"""The table of failure and status lines: real forms, their fields, and the decoys beside them."""

import re

import pytest
from log_reading import read_text

from analyzer.ingest.text.events.patterns import all_patterns, gib
from analyzer.vocabulary.events import ROLES

LINES = [
    ("autograd_anomaly_warning", {"function": "SqrtBackward0"},
     "UserWarning: Error detected in SqrtBackward0. Traceback of forward call that caused the error:"),
    ("sampling_nonfinite", {}, "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"),
    ("nan_detector", {"module": "decoder.layers.21", "pass": "forward", "input_max": 64288.0},
     "2020-12-10 12:38:53 | WARNING | fairseq.nan_detector | Inf detected in output of decoder.layers.21, shape: torch.Size([1024, 2, 1024]), forward input max: 64288.0, input min: -47264.0"),
    ("fairseq_min_loss_scale", {"minimum": 0.0001}, "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding."),
    ("loss_scale_overflow", {"reducing_to": 64.0}, "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0"),
    ("loss_scale_overflow", {"reducing_to": 32768.0}, "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0"),
    ("loss_scale_overflow", {"attempted": 32768.0, "reducing_to": 16384.0}, "optimizer not run, scale_before: 32768.0, scale_after: 16384.0"),
    ("loss_scale_overflow", {"reducing_to": 1024.0, "step": 3}, "step 3/80 loss 4.1 loss_scale 1024 (overflow, step skipped)"),
    ("unscale_fp16_gradients", {}, "ValueError: Attempting to unscale FP16 gradients."),
    ("no_inf_checks", {}, "AssertionError: No inf checks were recorded for this optimizer."),
    ("nan_stop", {"value": "nan"}, "Loss is nan, stopping training"),
    ("nan_stop", {"value": "NaN"}, "Aborting training due to NaN loss."),
    ("nan_stop", {"batch": 20}, "Batch 20: Invalid loss, terminating training"),
    ("nan_stop", {"step": 20, "epoch": 1}, "ValueError: In epoch: 1 step: 20, loss is NAN or INF, training process cannot continue, terminating training."),
    ("nan_stop", {"step": 311}, "FloatingPointError: Loss became infinite or NaN at iteration=311!"),
    ("loss_watchdog", {}, "Loss is too high, stopping training (loss_watchdog_threshold)"),
    ("gradient_skipped", {"value": "inf"}, "Gradient norm inf is invalid, skipping optimizer step."),
    ("tokenization_mismatch", {"counted": 120, "total": 121}, "WARNING: tokenization mismatch: 120 vs. 121. (ignored)"),
    ("empty_labels", {"share": "All"}, "ZeroDivisionError: Unsloth: All labels in your dataset are -100. Training losses will be all 0."),
    ("lr_before_step", {}, "tried to get lr value before scheduler/optimizer started stepping, returning lr=0"),
    ("bf16_unsupported", {"device": "gpu"}, "ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cuda>=11.0"),
    ("bf16_unsupported", {"gpu_name": "Tesla T4", "compute_capability": 7.5},
     "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5."),
    ("nonfinite_hook", {"module": "model.norm", "pass": "backward"}, "backward hook: NaN gradient in model.norm (Gemma3RMSNorm)"),
    ("nonfinite_hook", {"module": "model.layers.3"}, "forward hook: model.layers.3 output absmax=inf nonfinite=199"),
    ("module_absmax", {"module": "model.layers.0", "value": 19970.0}, "forward hook: model.layers.0 output absmax=1.997e+04 nonfinite=0"),
    ("cuda_oom", {"tried_gib": 4.0, "gpu": 0, "total_gib": 11.93, "allocated_gib": 4.0, "free_gib": 7.33},
     "RuntimeError: CUDA out of memory. Tried to allocate 4.00 GiB (GPU 0; 11.93 GiB total capacity; 4.00 GiB already allocated; 7.33 GiB free; 179.00 KiB cached)"),
    ("cuda_oom", {"tried_gib": 3.0, "reserved_gib": 1.24},
     "RuntimeError: CUDA out of memory. Tried to allocate 3.00 GiB (GPU 1; 11.93 GiB total capacity; 1.00 GiB already allocated; 2.33 GiB free; 1.24 GiB reserved in total by PyTorch) If reserved memory is >> allocated"),
    ("cuda_oom", {"tried_gib": 2.0, "gpu": 0, "total_gib": 23.65, "free_gib": 1.66},
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacty of 23.65 GiB of which 1.66 GiB is free."),
    ("cuda_oom", {"tried_gib": 0.1953125, "gpu": 2, "allocated_gib": 20.0, "unallocated_gib": 0.5},
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 200.00 MiB. GPU 2 has a total capacity of 178.35 GiB of which 71.44 MiB is free. Process 1189916 has 96.44 GiB memory in use. Of the allocated memory 20.00 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated."),
    ("cuda_oom", {"tried_gib": 2.0}, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU"),
    ("cuda_oom", {}, "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes."),
    ("cpu_oom", {}, "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
    ("host_oom_kill", {"pid": 4321, "process": "python", "anon_rss_kb": 99}, "Out of memory: Killed process 4321 (python) total-vm:1kB, anon-rss:99kB, file-rss:0kB"),
    ("host_oom_kill", {}, "reason: OOMKilled"),
    ("slurm_oom", {"kills": 1}, "slurmstepd: error: Detected 1 oom_kill event in StepId=130.33. Some of the step tasks have been OOM Killed."),
    ("shm_too_small", {}, "It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit."),
    ("device_side_assert", {}, "RuntimeError: CUDA error: device-side assert triggered"),
    ("index_assert", {"expression": "t >= 0 && t < n_classes"},
     "../aten/src/ATen/native/cuda/Loss.cu:250: nll_loss: block: [0,0,0], thread: [32,0,0] Assertion `t >= 0 && t < n_classes` failed."),
    ("illegal_memory_access", {}, "RuntimeError: CUDA error: an illegal memory access was encountered"),
    ("cublas_error", {"status": "CUBLAS_STATUS_EXECUTION_FAILED"}, "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`"),
    ("cudnn_error", {}, "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"),
    ("nccl_timeout", {"seq": 6463, "op": "ALLREDUCE", "timeout_ms": 1800000, "ran_ms": 1800017},
     "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6463, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800017 milliseconds before timing out."),
    ("nccl_error", {}, "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled system error, ncclSystemError"),
    ("dataloader_worker_killed", {"signal": "Bus error"}, "RuntimeError: DataLoader worker (pid 123) is killed by signal: Bus error. It is possible"),
    ("bus_error", {}, "Bus error (core dumped)"),
    ("sigkill", {}, "/run.sh: line 68: 2585424 Killed                  python train.py"),
    ("sigkill", {}, "  traceback : Signal 9 (SIGKILL) received by PID 12"),
    ("process_terminated", {}, "Terminated"),
    ("process_terminated", {}, "./run.sh: line 68: 2585424 Terminated              python train.py"),
    ("process_terminated", {}, "container exited with code 143"),
    ("phase_started", {"phase": "evaluation"}, "[rank 0] INFO train: validating after epoch 3"),
    ("phase_started", {"phase": "evaluation"}, "Starting evaluation on 20000 records"),
    (
        "mismatched_collective",
        {},
        "  what():  [enforce fail at gloo/transport/tcp/pair.cc:456] op.preamble.length <= op.nbytes. 32 vs 30.",
    ),
    ("segfault", {}, "[smciserver:227 :0:227] Caught signal 11 (Segmentation fault: address not mapped)"),
    ("keyboard_interrupt", {}, "KeyboardInterrupt"),
    ("slurm_cancelled", {"reason": "TIME LIMIT", "job": "561.17"},
     "slurmstepd: error: *** STEP 561.17 ON compute-hpc-node-25 CANCELLED AT 2024-05-01T04:11:25 DUE TO TIME LIMIT ***"),
    ("slurm_cancelled", {"unit": "JOB"}, "slurmstepd: error: *** JOB 78559 ON dgx1-002 CANCELLED AT 2023-07-18T11:40:55 ***"),
    ("disk_full", {}, "OSError: [Errno 28] No space left on device"),
    ("stale_file_handle", {}, "OSError: [Errno 116] Stale file handle"),
    ("gpu_xid", {"code": 79}, "[12345.678] NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
    ("gpu_named", {"name": "NVIDIA H100 80GB HBM3"}, "0, NVIDIA H100 80GB HBM3, GPU-9dca4400, 53, 0 %, 0 MiB, 97.02 W"),
    ("gpu_named", {"name": "NVIDIA A100-SXM4-80GB"}, "|   0  NVIDIA A100-SXM4-80GB          Off |"),
    ("training_completed", {}, "[INFO|trainer.py:1] Training completed. Do not forget to share your model on huggingface.co/models =)"),
    ("training_completed", {}, "| fairseq_cli.train | done training in 55555.5 seconds"),
    ("checkpoint_saved", {"step": 500}, "Saving model checkpoint to ./out/checkpoint-500"),
    ("checkpoint_saved", {"step": 2000}, "  successfully saved checkpoint at iteration    2000 to /ckpt"),
    ("resume_from_checkpoint", {"path": "out/checkpoint-500", "step": 500}, "Loading model from out/checkpoint-500."),
    ("resume_from_checkpoint", {"step": 1200}, "  Continuing training from global step 1200"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fields", "line"), LINES, ids=[f"{i}-{kind}" for i, (kind, _, _) in enumerate(LINES)]
)
def test_a_line_is_recognised_with_its_fields(kind, fields, line):
    run = read_text(line + "\n")

    found = [dict(event.fields) for event in run.events.of(kind)]
    assert len(found) == 1
    assert fields.items() <= found[0].items()


DECOYS = [
    ("record_undecodable", "struct.error: required argument is not an integer"),
    ("device_memory_hint", "Hint: see a list of allocated tensors when OOM happens in the manual"),
    ("kernel_died", "The old kernel died out of fashion; a polynomial kernel is used"),
    ("segfault", "The kernel appears to have died. It will restart automatically."),
    ("process_terminated", "    State:          Terminated"),
    ("process_terminated", "workers terminated; see exit code 1435"),
    ("phase_started", "validating aftermath"),
    ("sigkill", "Unable to shutdown process 12 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL"),
    ("nccl_timeout", "NCCL WARN Call to connect returned Connection refused"),
    ("gpu_xid", "Xid 79 is described in the manual of NVRM"),
    ("training_completed", "the adapter will be merged once training is complete"),
    ("training_completed", "    print('Training completed')"),
    ("training_completed", "Finished training warmup: 72.8s. Starting validation warmup"),
    ("nan_stop", "early stopping training because the loss is flat"),
    ("gpu_named", "tested with the NVIDIA driver 535 and nvidia-smi"),
    ("loss_scale_overflow", "[INFO] allreduce bucket overflow count: 0"),
    ("loss_scale_overflow", "No Grad overflow for 500 iterations"),
    ("connection_lost", "urllib3.connectionpool: Retrying after connection broken by Connection refused"),
    ("slurm_oom", "memory is fine: oom kill disabled"),
    ("cublas_error", "CUBLAS_STATUS_SUCCESS"),
    (
        "library_kernel_failed",
        "Check failed: status == CUBLAS_STATUS_SUCCESS (1 vs. 0)  CUBLAS_STATUS_NOT_INITIALIZED",
    ),
    (
        "extension_build_failed",
        "subprocess.CalledProcessError: Command '['python', 'train.py', '--compiler=gcc']' returned non-zero exit status 1.",
    ),
    ("operator_missing", "RuntimeError: \"log_vml_cpu\" not implemented for 'Int'"),
    ("barrier_missing_rank", "[Rank 3] Rank 3 reached monitoredBarrier"),
    ("index_assert", "Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed"),
]


@pytest.mark.parametrize(("kind", "line"), DECOYS)
def test_a_line_that_only_looks_like_it_is_not_taken(kind, line):
    assert not read_text(line + "\n").events.of(kind)


def test_a_warning_of_nccl_is_information_only():
    events = read_text("host:1:2 [0] NCCL WARN Call to connect failed\n").events.rows

    assert [(event.kind, event.role) for event in events] == [("nccl_warn", "info"), ("error_line", "info")]


def test_each_pattern_is_well_formed():
    patterns = all_patterns()
    literals = [literal for pattern in patterns for literal in pattern.literals]

    assert [p.kind for p in patterns if p.role not in ROLES or not p.literals] == []
    assert [text for text in literals if len(text.encode()) < 4 or set(text) & set("\r\n")] == []
    assert {kind for pattern in patterns for kind in pattern.fields.values()} <= {
        "int",
        "float",
        "str",
        "lower",
        "gib",
    }
    for pattern in patterns:
        assert all(re.compile(regex) for regex in (pattern.regex, *pattern.more, pattern.unless)), (
            pattern.kind
        )


def test_few_literals_are_so_short_that_the_scan_must_look_for_each_alone():
    short = {
        literal for pattern in all_patterns() for literal in pattern.literals if len(literal.encode()) < 7
    }

    assert len(short) <= 10  # each costs another pass over the log


def test_sizes_are_given_in_gib():
    assert (gib("2.00 GiB"), gib("512.00 MiB"), gib("1073741824 bytes")) == (2.0, 0.5, 1.0)


def test_a_repeated_gpu_name_is_one_event():
    text = "".join(f"{i}, NVIDIA H100 80GB HBM3, GPU-{i}, 53\n" for i in range(8))

    assert len(read_text(text).events.of("gpu_named")) == 1


def test_secrets_in_a_cited_line_are_masked():
    line = "OSError: [Errno 28] No space left on device api_key=abcdef0123456789\n"

    assert "abcdef" not in read_text(line).events.rows[0].text
