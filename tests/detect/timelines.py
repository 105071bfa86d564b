"""Timing traces in the layout of PyTorch's profiler, and the plain arithmetic that their summaries must equal."""

from __future__ import annotations

import json

EVENT = '  {{\n    "ph": "X", "cat": "{cat}", "name": {name}, "pid": {pid}, "tid": {tid},\n    "ts": {ts}, "dur": {dur},\n    "args": {{\n      {args}\n    }}\n  }}'
FLOW = '  {{\n    "ph": "s", "id": {id}, "pid": 1, "tid": 1, "ts": {ts},\n    "cat": "ac2g", "name": "ac2g"\n  }}'


class Timeline:
    """Grows a trace: operators and launches on the host, kernels and copies on streams. Times in microseconds."""

    def __init__(self, rank=0, world_size=1):
        self.header = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}],
                       "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world_size}}  # fmt: skip
        self.events = []
        self.calls = 0

    def host(self, name, ts, dur, cat="cpu_op", **args):
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}
        )

    def device(self, name, ts, dur, *, launch_ts, launch_dur=5.0, cat="kernel", stream=7, external=0):
        self.calls += 1
        call = "cudaLaunchKernel" if cat == "kernel" else "cudaMemcpyAsync"
        own = {"External id": external} if external else {}
        self.host(call, launch_ts, launch_dur, "cuda_runtime", **own, cbid=211, correlation=self.calls)
        self.events.append(
            {"ph": "s", "id": self.calls, "pid": 1, "tid": 1, "ts": launch_ts, "cat": "ac2g", "name": "ac2g"}
        )
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": ts, "dur": dur,
                            "args": {**own, "device": 0, "stream": stream, "correlation": self.calls}})  # fmt: skip

    def lines(self):
        """As PyTorch writes it."""
        texts = []
        for event in self.events:
            if event["ph"] != "X":
                texts.append(FLOW.format(**event))
                continue
            args = ", ".join(
                f"{json.dumps(key)}: {json.dumps(value)}" for key, value in event["args"].items()
            )
            texts.append(EVENT.format(**{**event, "name": json.dumps(event["name"]), "args": args}))
        head = json.dumps(self.header, indent=2)[:-2]
        return (
            head + ',\n  "traceEvents": [\n' + ",\n".join(texts) + '\n  ],\n  "traceName": "t.json"\n}\n'
        ).encode()

    def spread(self):
        """As PyTorch 2.13 writes it: a key a line, and a blank line first."""
        texts = [json.dumps(event, indent=2).replace("\n", "\n  ") for event in self.events]
        head = json.dumps(self.header, indent=2)[:-2]
        return (head + ',\n    "traceEvents": [\n    \n  ' + ",\n  ".join(texts) + "\n  ]}\n").encode()

    def compact(self):
        """The same without a line feed."""
        return json.dumps({**self.header, "traceEvents": self.events}, separators=(",", ":")).encode()


def step(timeline, start, *, number=0, compute=8000.0, exposed=0.0, copy=0.0, gap=0.0, kernels=80, data=0.0):
    """One step on one stream: loading, copy, kernels back to back, communication, then nothing for ``gap``."""
    at = start + data
    if data:
        timeline.host(
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", start, data, "user_annotation"
        )
    if copy:
        timeline.device("Memcpy HtoD (Pageable -> Device)", at, copy, launch_ts=at - 8, cat="gpu_memcpy")
        at += copy
    for index in range(kernels):
        external = 1000 * number + index + 1
        timeline.host(
            "aten::mm" if index % 2 else "aten::add",
            at - 9,
            8,
            **{"External id": external, "Record function id": external},
        )
        timeline.device(
            "gemm" if index % 2 else "add", at, compute / kernels, launch_ts=at - 8, external=external
        )
        at += compute / kernels
    if exposed:
        timeline.device("ncclDevKernel_AllReduce_Sum", at, exposed, launch_ts=at - 8, stream=20)
        at += exposed
    timeline.host(f"ProfilerStep#{number}", start, at + gap - start, "user_annotation")
    return at + gap


def nanoseconds(microseconds):
    """Exact for the decimals of a file, if those were parsed as such."""
    return round(microseconds * 1000)


def covered(intervals):
    """Length of the union of intervals, by sweeping over them."""
    total, reach = 0, -(1 << 63)
    for start, end in sorted(intervals):
        if end > reach:
            total += end - max(start, reach)
            reach = end
    return total


def recomputed(events):
    """Parts of the window of the device in seconds, from parsed events, by plain loops."""
    device = [
        e
        for e in events
        if e.get("ph") == "X"
        and e.get("cat") in {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}
    ]
    if not device:
        return {}

    def spans(chosen):
        return [(nanoseconds(e["ts"]), nanoseconds(e["ts"]) + nanoseconds(e.get("dur", 0))) for e in chosen]

    kernels = [e for e in device if e["cat"] in {"kernel", "Kernel"}]
    compute = [e for e in kernels if not e["name"].lower().startswith("nccl")]
    window = max(end for _, end in spans(device)) - min(start for start, _ in spans(device))
    busy, working, computing = covered(spans(device)), covered(spans(kernels)), covered(spans(compute))
    parts = {
        "window_s": window, "compute_s": computing, "exposed_communication_s": working - computing, "exposed_copy_s": busy - working,
        "idle_s": window - busy, "communication_s": covered(spans([e for e in kernels if e["name"].lower().startswith("nccl")])),
    }  # fmt: skip
    return {name: value / 1e9 for name, value in parts.items()}
