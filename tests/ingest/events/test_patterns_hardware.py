"""Lines of kernels, drivers and vendor tools about hardware, and about how runs end or begin anew."""

from __future__ import annotations

import pytest
from log_reading import read_text

LINES = [
    ("gpu_xid", "root_candidate", {"code": 48, "host": "node-a", "process": "python", "meaning": "double-bit ECC error"},
     "Nov  2 10:41:26 node-a kernel: [12345.678] NVRM: Xid (PCI:0000:65:00): 48, pid=1234, name=python, DBE (double bit error)"),
    ("gpu_xid", "cascade", {"code": 45}, "[1.2] NVRM: Xid (PCI:0000:65:00): 45, pid=1234, name=python, Ch 00000008"),
    ("gpu_xid", "info", {"code": 63}, "[1.2] NVRM: Xid (PCI:0000:65:00): 63, pid=1, name=x, Row Remapper: New row marked for remapping"),
    ("gpu_xid", "symptom", {"code": 31}, "[1.2] NVRM: Xid (PCI:0000:65:00): 31, pid=1, name=x, Ch 00000008, MMU Fault"),
    ("gpu_xid", "root_candidate", {"code": 999}, "[1.2] NVRM: Xid (PCI:0000:65:00): 999, something new"),
    ("xid_gsp", "root_candidate", {"host": "node-b"}, "2024-11-02T10:41:26.123456+00:00 node-b kernel: NVRM: Xid (PCI:0000:9b:00): 119, pid=77, name=python3, Timeout"),
    ("xid_memory_contained", "root_candidate", {"code": 94}, "XidCriticalError: Xid=94 on Device=GPU-aaaa, the device will go unhealthy."),
    ("xid_recovery", "info", {"action": "Node Reboot Required"}, "[1.2] NVRM: Xid (PCI:0000:65:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"),
    ("sxid_fatal", "root_candidate", {"code": 20034, "switch": 0}, "[1.7] nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"),
    ("sxid", "info", {"code": 12028}, "[1.7] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)"),
    ("gpu_off_bus", "root_candidate", {}, "Unable to determine the device handle for GPU 0000:65:00.0: GPU is lost.  Reboot the system to recover this GPU"),
    ("gpu_unknown_error", "root_candidate", {}, "Unable to determine the device handle for GPU0000:65:00.0: Unknown Error"),
    ("gpu_slowdown", "info", {"reason": "thermal"}, "        HW Thermal Slowdown           : Active"),
    ("gpu_ecc_counter", "info", {"memory": "DRAM", "errors": 3}, "            DRAM Uncorrectable            : 3"),
    ("pcie_fatal_error", "root_candidate", {"device": "0000:17:00.0"}, "[5.1] nvidia 0000:17:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer"),
    ("pcie_link_narrow", "info", {"width": 8, "capable_width": 16},
     "[0.2] pci 0000:01:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:00:01.0 (capable of 126.016 Gb/s with 8.0 GT/s PCIe x16 link)"),
    ("nic_port_down", "symptom", {"port": "ib0"}, "[9.1] mlx5_core 0000:5e:00.0 ib0: Link down"),
    ("nic_fault", "root_candidate", {"adapter": "0000:41:00.0"}, "[17.9] mlx5_core 0000:41:00.0: poll_health:852:(pid 0): device's health compromised - reached miss count"),
    ("machine_check", "root_candidate", {}, "[8.8] mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 8: fe00000000800400"),
    ("kernel_panic", "root_candidate", {"reason": "Fatal machine check"}, "[9.9] Kernel panic - not syncing: Fatal machine check"),
    ("kernel_lockup", "symptom", {"stuck_s": 22}, "[9.9] watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [python:4321]"),
    ("hung_task", "info", {"blocked_s": 120}, "[9.9] INFO: task python:4321 blocked for more than 120 seconds."),
    ("gpu_ring_timeout", "root_candidate", {}, "[1.1] [drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring comp_1.0.1 timeout, signaled seq=1, emitted seq=3"),
    ("ras_uncorrectable", "root_candidate", {"errors": 2, "block": "umc"}, "[1.1] amdgpu 0000:de:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block"),
    ("npu_memory_error", "root_candidate", {"what": "HBM MULTI BIT ECC ERROR"}, "RuntimeError: HBM MULTI BIT ECC ERROR."),
    ("memlock_limit", "root_candidate", {}, "node-a:12:34 [0] NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory"),
    ("sigkill", "root_candidate", {}, "    exitCode: 137"),
    ("host_oom_kill", "root_candidate", {"pid": 4321, "process": "python"}, "[8.1] Memory cgroup out of memory: Killed process 4321 (python) total-vm:2kB, anon-rss:1kB"),
    ("dataloader_teardown", "teardown", {}, "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f0>"),
    ("configured_stop", "info", {"rule": "at iteration 5000"}, " [exiting program at iteration 5000] datetime: 2024-01-01 10:00:00"),
    ("configured_stop", "info", {"rule": "early stopping"}, "Epoch 00012: early stopping"),
    ("configured_stop", "info", {"rule": "Max steps reached"}, "Max steps reached, finishing."),
    ("configured_stop", "info", {"rule": "early stopping"}, "Epoch 00012: early stopping LIMIT"),
    ("configured_stop", "info", {"rule": "Early stopping"}, "Early stopping"),
    ("configured_stop", "info", {"rule": "No improvement for 10 epochs"}, "No improvement for 10 epochs. Stopping training."),
    ("configured_stop", "info", {"rule": "Stopped early"}, "Stopped early at epoch 12"),
    ("elastic_restart", "info", {"left": 3, "budget": 5}, "[default] Worker group FAILED. 3/5 attempts left; will restart worker group"),
    ("tracker_step_ignored", "info", {"logged": 7, "current": 8},
     "wandb: WARNING Tried to log to step 7 that is less than the current step 8. Steps must be monotonically increasing, so this data will be ignored."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "role", "fields", "line"), LINES, ids=[f"{i}-{row[0]}" for i, row in enumerate(LINES)]
)
def test_a_line_is_recognised_with_its_role_and_fields(kind, role, fields, line):
    (event,) = read_text(line + "\n").events.of(kind)

    assert event.role == role
    assert fields.items() <= dict(event.fields).items()


DECOYS = [
    ("gpu_slowdown", "        HW Slowdown                   : Not Active"),
    ("gpu_slowdown", "        SW Power Cap                  : Active"),
    ("gpu_ecc_counter", "            DRAM Uncorrectable            : 0"),
    ("ecc_error", "        Double Bit ECC                : 0"),
    ("ras_uncorrectable", "[1.1] amdgpu 0000:de:00.0: amdgpu: no uncorrectable hardware errors detected in umc block"),
    ("machine_check", "[8.8] mce: [Hardware Error]: Machine check events logged"),
    ("machine_check", "[8.8] EDAC MC0: 1 CE memory read error on CPU_SrcID#0"),
    ("pcie_fatal_error", "[5.1] pcieport 0000:16:01.0: AER: Corrected error received: 0000:17:00.0"),
    ("pcie_link_narrow",
     "[0.2] pci 0000:01:00.0: 63.0 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x16 link at 0000:00:01.0 (capable of 126.0 Gb/s with 8.0 GT/s PCIe x16 link)"),
    ("sigkill", "processed 1370 files, exit code 1"),
    ("configured_stop", "early_stopping: True"),
    ("configured_stop", "Max steps reached, terminating the episode."),
    ("configured_stop", "Maximum steps reached: ending rollout 14"),
    ("configured_stop", "max steps reached, will be stopping after this epoch"),
    ("configured_stop", "using early stopping at patience 5"),
    ("configured_stop", "EarlyStopping counter: 3 out of 10"),
    ("configured_stop", "Training will be stopped early after 5 epochs without improvement"),
    ("configured_stop", "early stopping: stop training if val_loss does not improve"),
    ("cpu_oom", "NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory"),
    ("memlock_limit", "NCCL INFO Call to ibv_reg_mr succeeded"),
    ("nic_fault", "nvme nvme0: unrecoverable hardware error count 0"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "line"), DECOYS)
def test_a_line_that_only_looks_like_it_is_not_taken(kind, line):
    assert not read_text(line + "\n").events.of(kind)


def test_what_python_ignores_is_no_failure_of_the_program():
    text = (
        "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f0>\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/lib/dataloader.py", line 1479, in __del__\n'
        "    self._shutdown_workers()\n"
        "AssertionError: can only test a child process\n"
    )

    events = read_text(text).events
    assert not events.of("python_traceback")
    assert [event.role for event in events.of("ignored_exception")] == ["teardown"]
