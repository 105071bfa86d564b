"""Lines about software, configuration and storage: each gives its event with fields, and its look-alike does not."""

from __future__ import annotations

import pytest
from log_reading import read_text

LINES = [
    (
        "index_assert",
        {"check": "lookup"},
        '../aten/src/ATen/native/cuda/IndexKernelUtils.cu:16: vectorized_gather_kernel: block: [2,0,0], thread: [0,0,0] Assertion `ind >=0 && ind < ind_dim_size && "vectorized gather kernel index out of bounds"` failed.',
    ),
    ("autograd_misuse", {"form": "a tensor was changed in place", "operation": "ReluBackward0"},
     "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.cuda.FloatTensor [8, 64]], which is output 0 of ReluBackward0, is at version 2; expected version 1 instead."),
    ("autograd_misuse", {"form": "tensors of different devices met", "devices": "cuda:0 and cpu"},
     "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (when checking argument for argument mat1 in method wrapper_CUDA_addmm)"),
    ("autograd_misuse", {"form": "input and weights lie on different devices", "input": "FloatTensor"},
     "RuntimeError: Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same"),
    ("loss_detached", {}, "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"),
    ("library_mismatch", {"symbol": "_ZN3c104cuda9SetDeviceEi"}, "ImportError: /opt/venv/lib/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"),
    ("library_mismatch", {"version": "GLIBC_2.32"}, "ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required by /opt/venv/lib/apex.so)"),
    ("library_mismatch", {"needed": "tokenizers>=0.21,<0.22", "found": "tokenizers==0.19.1"},
     "ImportError: tokenizers>=0.21,<0.22 is required for a normal functioning of this module, but found tokenizers==0.19.1."),
    ("library_mismatch", {"toolkit": "11.8", "built_with": "12.4"},
     "RuntimeError: The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.4). Please make sure to use the same CUDA versions."),
    ("extension_build_failed", {"extension": "cpu_adam"}, "RuntimeError: Error building extension 'cpu_adam'"),
    ("module_missing", {"module": "flash_attn"}, "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: the package flash_attn seems to be not installed."),
    ("cuda_driver_mismatch", {}, "/opt/env/torch/cuda/__init__.py:141: UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040)."),
    ("environment_unsolvable", {}, "ResolvePackageNotFound: "),
    ("environment_unsolvable", {"package": "torch==1.4.0"}, "ERROR: No matching distribution found for torch==1.4.0"),
    ("service_unreachable", {"what": "vLLM", "waited_s": 240.0}, "ConnectionError: The vLLM server can't be reached at http://0.0.0.0:8000 after 240.0 seconds. Make sure it is running."),
    ("service_unreachable", {"host": "10.0.0.7", "port": 8000},
     "requests.exceptions.ConnectionError: HTTPConnectionPool(host='10.0.0.7', port=8000): Max retries exceeded with url: /generate (Caused by x)"),
    ("service_unreachable", {}, "INFO - trl.extras.vllm_client - Server is not up yet. Retrying in 2.0 seconds..."),
    ("library_mismatch", {}, "Original error: UNIMPLEMENTED: DNN library is not found."),
    ("record_undecodable", {}, "ValueError: Could not find a format to read the specified file in mode 'i'"),
    ("module_missing", {"module": "acmeadam"}, "ImportError: No acmeadam / acmeadam is not there"),
    ("module_missing", {"module": "acmeadam"}, "ImportError: No acmeadam package, so choose another optimizer"),
    ("keyboard_interrupt", {}, " 62%|###   | 5/8 [00:04<00:02]^CTraceback (most recent call last):"),
    ("keyboard_interrupt", {}, "^CException ignored in: <function Loader.__del__ at 0x7f>"),
    ("keyboard_interrupt", {}, "[2026-08-15 08:42:11,420] [INFO] [launch.py:328:sigkill_handler] Main process received SIGINT, exiting"),
    ("import_failed", {"name": "Cache", "origin": "transformers.cache_utils"}, "ImportError: cannot import name 'Cache' from 'transformers.cache_utils' (/opt/venv/lib/cache_utils.py)"),
    ("cuda_driver_mismatch", {"needed": "12.4"}, "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver"),
    ("no_kernel_image", {"wanted": "Ampere"}, "RuntimeError: FlashAttention only supports Ampere GPUs or newer."),
    ("no_kernel_image", {"capability": "compute_120"}, "nvcc fatal   : Unsupported gpu architecture 'compute_120'"),
    ("compile_failed", {"dynamo": "BackendCompilerFailed", "backend": "inductor"}, "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:"),
    ("compile_failed", {"dynamo": "Unsupported"}, "torch._dynamo.exc.Unsupported: call_function BuiltinVariable(print)"),
    ("recompile_limit", {"limit": "recompile_limit", "value": 8}, "W0302 12:27:06.332000 158 torch/_dynamo/convert_frame.py:1551] [2/8] torch._dynamo hit config.recompile_limit (8)"),
    ("illegal_instruction", {}, "run.sh: line 4: 4321 Illegal instruction     (core dumped) python train.py"),
    ("container_start_failed", {"what": "OCI runtime create failed"}, "docker: Error response from daemon: OCI runtime create failed: runc create failed: unable to start container process"),
    ("container_start_failed", {"what": "ImagePullBackOff"}, "20s  Warning  BackOff  pod/train-0  Error: ImagePullBackOff"),
    ("container_start_failed", {}, "FATAL:   container creation failed: mount /data->/data error: while mounting /data"),
    ("tf32_unused", {"gpu": "NVIDIA A100-SXM4-80GB"},
     "You are using a CUDA device ('NVIDIA A100-SXM4-80GB') that has Tensor Cores. To properly utilize them, you should set `torch.set_float32_matmul_precision('medium' | 'high')`"),
    ("state_dict_rejected", {"module": "Net"}, "RuntimeError: Error(s) in loading state_dict for Net:"),
    ("state_dict_mismatch", {"parameter": "head.weight", "stored": "10, 64", "wanted": "12, 64"},
     "\tsize mismatch for head.weight: copying a param with shape torch.Size([10, 64]) from checkpoint, the shape in current model is torch.Size([12, 64])."),
    ("state_dict_mismatch", {"missing": "body.weight"}, '\tMissing key(s) in state_dict: "body.weight", "body.bias".'),
    ("empty_stored_weight", {"parameter": "head.weight"},
     "\tsize mismatch for head.weight: copying a param with shape torch.Size([0]) from checkpoint, the shape in current model is torch.Size([12, 64])."),
    ("argument_rejected", {"unknown": "--lerning_rate"}, "train.py: error: unrecognized arguments: --lerning_rate 1e-4"),
    ("argument_rejected", {"model": "TrainingArguments", "unknown": "evaluation_strategy"},
     "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'"),
    ("argument_rejected", {"error": "ConfigAttributeError"}, "omegaconf.errors.ConfigAttributeError: Missing key optimiser"),
    ("argument_rejected", {"model": "DeepSpeedZeroConfig"}, "pydantic_core._pydantic_core.ValidationError: 1 validation error for DeepSpeedZeroConfig"),
    ("deepspeed_batch_mismatch", {"train": 64, "micro": 4, "accumulation": 8, "world": 1},
     "AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 64 != 4 * 8 * 1"),
    ("deepspeed_batch_mismatch", {"key": "train_micro_batch_size_per_gpu"}, "- ds train_micro_batch_size_per_gpu=4 vs hf per_device_train_batch_size=2"),
    ("access_denied", {"status": 403, "repository": "some-org/some-model"}, "huggingface_hub.errors.HfHubHTTPError: 403 Client Error: Forbidden for url: https://huggingface.co/some-org/some-model/resolve/main/config.json"),
    ("access_denied", {}, "wandb.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])"),
    ("hub_repository_unknown", {"repository": "./model"}, "OSError: ./model is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'"),
    ("offline_cache_miss", {}, "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files."),
    ("hub_unreachable", {"host": "huggingface.co", "what": "Read timed out"}, "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out. (read timeout=10)"),
    ("disk_full", {"path": "/data/out/a.bin"}, "OSError: [Errno 28] No space left on device: '/data/out/a.bin'"),
    ("file_server_silent", {"server": "store-1"}, "[98123.120000] nfs: server store-1 not responding, still trying"),
    ("path_unwritable", {"path": "/data/cache"}, "PermissionError: [Errno 13] Permission denied: '/data/cache'"),
    ("path_unwritable", {"parent": "/data/out"}, "RuntimeError: Parent directory /data/out does not exist."),
    ("missing_path", {"path": "/data/a.bin"}, "FileNotFoundError: [Errno 2] No such file or directory: '/data/a.bin'"),
    ("missing_path", {"local": "./no/such/model"}, "OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': './no/such/model'. Use `repo_type` argument if needed."),
    ("checkpoint_corrupt", {}, "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"),
    ("checkpoint_corrupt", {"operand": 118}, "Unsupported operand 118"),
    ("lfs_pointer", {}, "_pickle.UnpicklingError: invalid load key, 'v'."),
    ("checkpoint_write_failed", {"reached": 704, "expected": 598}, "RuntimeError: [enforce fail at inline_container.cc:672] . unexpected pos 704 vs 598"),
    ("object_store_error", {"error": "SlowDown"}, "botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the GetObject operation (reached max retries: 4): Please reduce your request rate."),
    ("object_store_error", {"google": "ServiceUnavailable"}, "google.api_core.exceptions.ServiceUnavailable: 503 GET https://storage.googleapis.com/storage/v1/b/x"),
    ("object_store_retry", {}, "Request timed out (504), retrying in 4 s"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fields", "line"), LINES, ids=[f"{i}-{kind}" for i, (kind, _, _) in enumerate(LINES)]
)
def test_a_line_is_recognised_with_its_fields(kind, fields, line):
    found = [dict(event.fields) for event in read_text(line + "\n").events.of(kind)]

    assert len(found) == 1
    assert fields.items() <= found[0].items()


DECOYS = [
    ("library_mismatch", "docker: nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file"),
    ("library_mismatch", "2026-03-02 W tensorflow dso_loader.cc:64] Could not load 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object file"),
    ("library_mismatch", "08:12 [I] Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so: libtpu.so: cannot open shared object file: No such file"),
    ("import_failed", "ModuleNotFoundError: No module named 'einops'"),
    ("no_kernel_image", "Bfloat16 is only supported on GPUs with compute capability of at least compute capability 8.0"),
    ("compile_failed", "WARNING: torch._dynamo hit config.cache_size_limit (8)"),
    ("compile_failed", "torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached with fullgraph=True."),
    ("arithmetic_trap", "FloatingPointError: Minimum loss scale reached"),
    ("state_dict_mismatch", "\tsize mismatch for w: copying a param with shape torch.Size([0]) from checkpoint, the shape in current model is torch.Size([4])."),
    ("service_unreachable", "mlflow.exceptions.MlflowException: HTTPConnectionPool(host='10.0.0.7', port=5000): Max retries exceeded with url: /api/2.0/mlflow/runs/create"),
    ("service_unreachable", "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /x"),
    ("segfault", "slurmstepd: error: pyxis:          34747 Segmentation fault      (core dumped) | pwck -R root"),
    ("access_denied", "wandb.errors.errors.AuthenticationError: An error occurred while verifying the API key."),
    ("argument_rejected", "ValueError: 300 is not a valid token"),
    ("argument_rejected", "TypeError: forward() got an unexpected keyword argument 'labels'"),
    ("config_key_unused", "The tokens beyond 2048 will be ignored"),
    ("option_cut_off", "bash: line 3: nvtop: command not found"),
    ("option_cut_off", "bash: --version: command not found"),
    ("command_not_found", "zsh: command not found: --lr"),
    ("command_not_found", "x.sh: 3: --lr: not found"),
    ("hosts_stated", "TensorBoard at http://localhost:6006/"),
    ("hosts_stated", "graph nodes: 12.5 on the mean"),
    ("access_denied", "wandb: WARNING retry: 403 Client Error: Forbidden for url: https://api.wandb.ai/graphql"),
    ("hub_unreachable", "Retrying after HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out."),
    ("disk_full", "RuntimeError: unable to write to file </torch_123>: No space left on device in shared memory"),
    ("path_unwritable", "Permission denied (publickey,password)."),
    ("path_unwritable", "PermissionError: [Errno 13] Permission denied: '/dev/nvidia0'"),
    ("missing_path", "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pymp-abc/listener-1'"),
    ("missing_path", "12:40:01 - WARNING - tidy - wanted to remove old weights /out/900.pt but found none. ([Errno 2] No such file or directory: '/out/900.pt')"),
    ("missing_path", "failed to delete the last snapshot: [Errno 2] No such file or directory: '/out/last.pt'"),
    ("host_oom_kill", "A worker unexpectedly exits. Some common causes include: (1) the process was killed by the OOM killer due to high memory usage, (2) a crash"),
    ("checkpoint_corrupt", "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded"),
    ("checkpoint_corrupt", "Unsupported operand type(s) for +: 'int' and 'str'"),
    ("object_store_error", "WARNING: An error occurred (SlowDown), will retry"),
    ("state_dict_mismatch", "- MISSING\t:those params were newly initialized because missing from the checkpoint."),
    ("pretrained_loaded", "INFO no pretrained weights were loaded, training starts at random"),
    ("pretrained_loaded", "failed to load pretrained weights: file is cut"),
    ("pretrained_loaded", "Transferred 0/120 items from body.pt"),
    ("pretrained_loaded", "Warning: parameters of the pretrained model do not exist here"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "line"), DECOYS)
def test_a_line_that_only_looks_like_it_is_not_taken(kind, line):
    assert not read_text(line + "\n").events.of(kind)


def test_a_full_disk_is_named_although_the_archive_complains_too():
    line = "RuntimeError: [enforce fail at inline_container.cc:337] . PytorchStreamWriter failed writing file data/0: No space left on device\n"
    run = read_text(line)

    assert run.events.of("disk_full")
    assert not run.events.of("checkpoint_write_failed")
