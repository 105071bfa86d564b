"""What a system answers in other languages or by number alone, and limits that are told by their number."""

from __future__ import annotations

import pytest

from analyzer import diagnose

ROWS = "".join(f"step {n}00 loss {3 - n / 10:.2f}\n" for n in range(1, 9))


def cause_of(tmp_path, text):
    log = tmp_path / "train.log"
    log.write_text(text, encoding="utf-8")
    return diagnose(log).findings[0].cause.id


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("PermissionError: [WinError 32] Le processus ne peut pas accéder au fichier: 'out\\\\a.pt'", "file-locked"),
        ("OSError: [WinError 64] 指定的网络名不再可用。: 'Z:\\\\data\\\\a.png'", "shared-filesystem-hang"),
        ("OSError: [WinError 23] Datenfehler (CRC-Prüfung): 'E:\\\\data\\\\a.bin'", "local-disk-fault"),
        ("OSError: [WinError 112] 磁盘空间不足。", "disk-full"),
        ("cp: Schreibfehler: Auf dem Gerät ist kein Speicherplatz mehr verfügbar", "disk-full"),
        ("mkdir: невозможно создать каталог «/data/x»: Отказано в доступе", "checkpoint-path-unwritable"),
        ("bash: nvcc: コマンドが見つかりません", "system-program-missing"),
        ("bash: fork: 无法分配内存", "host-oom-kill"),
        ("python: can't open file '/home/a/train.py': [Errno 116] Stale file handle", "shared-filesystem-hang"),
        ("python: can't open file '/home/a/train.py': [Errno 2] No such file or directory", "missing-input-path"),
        ("RuntimeError: acme_op(): input tensor must fit into 32-bit index math", "size-limit-exceeded"),
        ("ValueError: the graph holds more than 2147483647 elements", "size-limit-exceeded"),
        ("Error polling for event status: failed to query event: CUDA_ERROR_ECC_UNCORRECTABLE", "gpu-ecc-uncorrected"),
        ("smartd[9]: Device: /dev/sdb [SAT], 12 Currently unreadable (pending) sectors", "local-disk-fault"),
        ("ResourceExhaustedError: OOM when allocating tensor with shape[9,9] and type float on /job:a/task:0/device:CPU:0 by allocator cpu", "host-oom-kill"),
        ("ResourceExhaustedError: OOM when allocating tensor with shape[9,9] and type float on /job:a/task:0/device:GPU:0 by allocator GPU_0_bfc", "gpu-out-of-memory"),
        ('Exception in thread "main" java.lang.OutOfMemoryError: unable to create native thread', "process-limit"),
        ("InductorError: PermissionError: [Errno 13] Permission denied: '/tmp/cache/a'", "checkpoint-path-unwritable"),
        ("nvcc error   : 'cicc' died due to signal 9 (Kill signal)\nninja: build stopped: subcommand failed.\nRuntimeError: Error compiling objects for extension", "process-sigkilled"),
        ("virtual memory exhausted: Cannot allocate memory\nninja: build stopped: subcommand failed.\nRuntimeError: Error compiling objects for extension", "host-oom-kill"),
        ("gcc: error: unrecognized option\nninja: build stopped: subcommand failed.\nRuntimeError: Error compiling objects for extension", "library-abi-mismatch"),
        ("SSLError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate is not yet valid (_ssl.c:1131)", "clock-skew"),
        ("google.auth.exceptions.InvalidValue: Token used too early, 17 < 19. Check that your computer's clock is set correctly.", "clock-skew"),
        ("luajit: train.lua:51: cannot open <data/train.t7> in mode r  at DiskFile.c:673", "missing-input-path"),
        ("luajit: train.lua:91: cannot open <out/epoch_1.t7> in mode w  at DiskFile.c:673", "checkpoint-path-unwritable"),
        ("ClientError: Cannot pull the training image 1.example/train:latest.", "image-pull-failure"),
        ("Job not requeued because: timed-out too many times.", "requeue-chain-exhausted"),
        ("IOError: Unable to create file (Unable to open file: name = 'data/a.h5', errno = 2, error message = 'no such file or directory', flags = 15, o_flags = c2)", "missing-input-path"),
        ("OSError: Unable to create file (unable to open file: name = 'out/a.h5', errno = 2, error message = 'No such file or directory', flags = 13, o_flags = 242)", "checkpoint-path-unwritable"),
        ("n1:7:7 [0] misc/ibvwrap.cu:269 WARN Call to ibv_create_qp failed", "memlock-limit"),
        ("RuntimeError: Wait timeout", "rendezvous-timeout"),
        ("MIOpen Error: /src/hipoc/hipoc_program.cpp:286: Code object build failed. Source: MIOpenIm2d2Col.cl", "library-abi-mismatch"),
        ('Traceback (most recent call last):\n  File "train.py", line 9, in main\n    run.finish()\n  File "/v/site-packages/wandb/sdk/internal/api.py", line 42, in upload_urls\n    ask()\n  File "/v/site-packages/gql/client.py", line 52, in execute\n    raise Exception(str(result))\nException: the call was cancelled, code 500', "tracker-unreachable"),
        ('Traceback (most recent call last):\n  File "train.py", line 9, in load\n    model.load_state_dict(saved)\n  File "/v/site-packages/torch/nn/modules/module.py", line 830, in load_state_dict\n    self.name, text))\nRuntimeError: Error(s) in loadi', "checkpoint-config-mismatch"),
        ('[ERROR] [bitsandbytes.cextension:88] Could not load bitsandbytes native library: /v/bitsandbytes/libbitsandbytes_cpu.so: cannot open shared object file: No such file or directory\nTraceback (most recent call last):\n  File "/v/site-packages/bitsandbytes/cextension.py", line 85, in <module>\n    lib = get()\nOSError: /v/bitsandbytes/libbitsandbytes_cpu.so: cannot open shared object file: No such file or directory\nTraceback (most recent call last):\n  File "train.py", line 9, in main\n    read()\nFileNotFoundError: [Errno 2] No such file or directory: \'data/a.json\'', "missing-input-path"),
    ],
)  # fmt: skip
def test_the_cause_is_told_by_number_or_in_any_language(tmp_path, line, cause):
    assert cause_of(tmp_path, f"step 1 loss 2.5\n{line}\n") == cause


@pytest.mark.parametrize(
    "line",
    [
        "checked 8 GPUs: 0 uncorrectable ECC errors",
        "smartd[9]: Device: /dev/sdb [SAT], 0 Currently unreadable (pending) sectors",
        "[W] Trial 4 failed with parameters: {'lr': 0.4} because of the following error: RuntimeError('CUDA out of memory. Tried to allocate 20.00 MiB').",
        "Batch size 128 failed, trying batch size 96: CUDA out of memory. Tried to allocate 1.20 GiB",
        "WARNING: the model is larger than 2GB and is stored beside the graph",
        "config: max_length = 2147483647, int32 = True",
    ],
)
def test_what_accuses_nobody(tmp_path, line):
    log = tmp_path / "train.log"
    log.write_text(f"{line}\n{ROWS}", encoding="utf-8")

    assert diagnose(log).status not in {"failed", "degraded"}
