"""Lines that hold the words of ``programs/wordings*.yaml`` and say something else."""

from __future__ import annotations

import pytest
from log_reading import read_text

LOOK_ALIKES = [
    # a head that met no object has no means
    (
        "nonfinite_loss_message",
        "Region 106 Avg IOU: -nan, Class: -nan, Obj: -nan, No Obj: 0.01, .5R: -nan, .75R: -nan,  count: 0",
    ),
    (
        "nonfinite_loss_message",
        "v3 (iou loss) Region 37 Avg (IOU: 0.5), count: 12, class_loss = 8.5, iou_loss = 0.25, total_loss = 8.75",
    ),
    ("job_time_limit", "INFO MaxRuntimeInSeconds 86400 is asked for"),
    ("job_time_limit", "the request has timed out after 3 attempts, calling again"),
    ("job_preempted", "INFO 12 MiB of the pool was reclaimed"),
    ("job_cancelled", "INFO the record was deleted upon request"),
    ("node_failure", "INFO no host is on the list of NodeLost events"),
    ("sighup", "INFO a handler for signal SIGHUP is installed"),
    ("resources_unavailable", "0/4 nodes are available at the moment, the pod waits"),
    ("image_pull_failed", "INFO manifest for the data was written"),
    ("nccl_timeout", "INFO comm task timeout: 1800 s is the default"),
    ("gpu_off_bus", "INFO health check passed: XID 0"),
    ("segfault", "trainer-1 exited with code 0"),
    ("sigkill", "train.service: Main process exited, code=exited, status=9"),
    ("disk_full", "INFO Usage of EmptyDir volume is watched"),
    ("access_denied", "WARNING license checkout failed, going on without"),
    ("service_unreachable", "INFO curl: (7) is what a closed port gives"),
    ("module_missing", "run.sh: line 4: nvidia-smi: command not found"),
    ("module_missing", "config: the key accelerate: not found, the default is taken"),
    ("cuda_oom", "INFO worker.py] Available KV cache memory: 41.20 GiB"),
    ("cuda_oom", "INFO setting the desired GPU memory utilization to 0.9"),
    ("no_accelerator", "WARNING: No NVIDIA GPU found, falling back to the CPU"),
    ("library_mismatch", "DeprecationWarning: `np.string_` was removed in the NumPy 2.0 release"),
    ("argument_rejected", "INFO the batch size 96 is divisible by the world size 8"),
    ("argument_rejected", "Hint: the number of heads must be divisible by the tensor parallel size"),
    ("argument_rejected", "unknown optimizer state is dropped"),
    ("access_denied", "WARNING AuthenticationError: retrying in 2 s"),
    ("shm_too_small", "the tests cover ObjectStoreFullError and others"),
    ("missing_path", "INFO steps/train.sh: expected files are listed in conf/files"),
    ("checkpoint_corrupt", "INFO no error while deserializing header: 812 tensors"),
    ("xla_compile_failed", "I0101 gemm_fusion_autotuner.cc:41] Autotuning finished for HLO: %gemm"),
    ("nccl_timeout", "INFO NCCL operation ncclAllReduce took 12 ms, timeout 600 s"),
    ("resources_unavailable", "INFO Total available GPUs 8, desired GPUs 8"),
    ("peer_gpu_access", "INFO peer access is supported between these two devices"),
    ("illegal_memory_access", "hsa_init returned HSA_STATUS_SUCCESS"),
    ("nan_stop", "the parameter alpha has valid values"),
    ("argument_rejected", "ValueError: y must be one of the labels that were fitted"),
    ("argument_rejected", "the seed should be one of 1, 2, 3"),
    ("argument_rejected", "unknown model size, counting the parameters"),
    ("missing_path", "WARNING Image path /data/img/1.png not found, skipping it"),
    ("missing_path", "INFO cache /home/u/.cache does not exist, it will be created"),
    ("missing_path", "RuntimeError: Parent directory /out/run1 does not exist."),
    ("record_undecodable", "WARNING NoBackendError: skipping one clip"),
    ("access_denied", "WARNING urllib.error.HTTPError: HTTP Error 403: Forbidden, retrying"),
    ("keyboard_interrupt", "INFO handlers are registered for SIGINT and SIGTERM"),
    ("library_mismatch", "INFO the CPU supports AVX instructions"),
    ("hub_unreachable", "httpx.ConnectError: [Errno 111] Connection refused"),
    ("job_time_limit", "State: COMPLETED (exit code 0)"),
    ("rendezvous_failure", "INFO bootstrap.cc:89 CCOM INFO waiting for incoming connection"),
    ("device_memory_hint", "DEBUG create cublas handle on stream 0"),
    ("missing_path", "INFO No checkpoints found in out/run1, training starts anew"),
    ("environment_unsolvable", "INFO acme requires a different Python: skipped on this platform"),
    ("library_mismatch", "I cpu_feature_guard.cc] optimized to use AVX2 in critical operations"),
    ("no_accelerator", "WARNING No GPU device found, falling back to the CPU"),
    ("module_missing", "INFO apex is not installed; please install apex for speed"),
    ("missing_path", "WARNING lmdb.Error: /cache/a: No such file or directory, skipping"),
    ("state_dict_mismatch", "INFO the class weights file is not a file in the archive list"),
    ("cuda_oom", "INFO memory_pool: 12 GB free"),
    ("cpu_oom", "mlx5: ibv_reg_mr(address=0x7f21, length=8388608) failed: Cannot allocate memory"),
    ("memlock_limit", "OSError: [Errno 12] Cannot allocate memory"),
    ("operator_missing", "Operator fused_thing is not implemented for GPU, falling back to the CPU"),
    ("operator_missing", "layer.cc:41] falling back: no registered 'Gather' OpKernel for 'GPU' devices"),
    (
        "library_mismatch",
        "W plugin.cc:88] graph optimizer failed: NOT_FOUND: Op type not registered 'Gather' in binary",
    ),
    (
        "missing_path",
        "W OP_REQUIRES failed at save_restore_v2_ops.cc:205 : Not found: /out/ckpt_tempstate1; No such file or directory",
    ),
    (
        "illegal_memory_access",
        "[ 88.1] amdgpu 0000:43:00.0: GPU fault detected: 147 0x01d2 for process Xorg pid 71",
    ),
    ("illegal_memory_access", "[ 88.1] amdgpu 0000:43:00.0: VM_L2_PROTECTION_FAULT_STATUS:0x00000000"),
    ("checkpoint_write_failed", "INFO FileStream.Write took 12 ms"),
    ("module_missing", "Package list not found, the default is taken"),
]


@pytest.mark.parametrize(("kind", "line"), LOOK_ALIKES)
def test_a_line_with_the_same_words_is_not_taken(kind, line):
    assert not read_text(line + "\n").events.of(kind)
