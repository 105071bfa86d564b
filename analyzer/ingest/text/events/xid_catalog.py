"""What NVIDIA's Xid codes mean, in a few words each, and which codes belong together.

The codes are those of NVIDIA's public catalogue (https://docs.nvidia.com/deploy/xid-errors/). A code that
does not stand here is reported with its number only.
"""

from __future__ import annotations

from collections.abc import Mapping

XID_MEANINGS: Mapping[str, str] = {
    "8": "the GPU stopped processing",
    "11": "invalid or corrupted command stream",
    "13": "exception in the compute engine: out-of-range access or illegal instruction",
    "25": "invalid or illegal command stream",
    "31": "memory page fault: a kernel used an address that is not mapped",
    "32": "invalid or corrupted command stream",
    "37": "driver firmware error",
    "38": "driver firmware error: watchdog timeout",
    "39": "copy engine exception",
    "40": "copy engine exception",
    "41": "copy engine exception",
    "43": "the GPU stopped processing the work of one program",
    "44": "engine fault during a context switch",
    "45": "clean-up of a program's work after an earlier error or a kill",
    "46": "the GPU stopped processing",
    "48": "double-bit ECC error",
    "54": "auxiliary power is not connected",
    "60": "video processor exception",
    "61": "internal micro-controller breakpoint",
    "62": "internal micro-controller halted",
    "63": "a bad memory row was recorded for remapping",
    "64": "remapping of a bad memory row failed",
    "66": "illegal access by the driver",
    "67": "illegal access by the driver",
    "69": "class error in the compute engine",
    "74": "NVLink error",
    "78": "virtual GPU failed to start",
    "79": "the GPU has fallen off the bus",
    "80": "corrupted data was sent to the GPU",
    "92": "high rate of single-bit ECC errors",
    "93": "wear limit of the InfoROM exceeded",
    "94": "memory error contained to one program",
    "95": "memory error that was not contained",
    "109": "context switch timed out",
    "110": "security fault",
    "119": "the GPU system processor did not answer in time",
    "120": "error of the GPU system processor",
    "121": "error of the chip-to-chip link",
    "136": "NVLink training failed",
    "137": "NVLink privilege error: an access from a peer failed",
    "140": "ECC error that was not recovered",
    "141": "fast-path error of CUDA",
    "143": "the GPU failed to initialise",
    "144": "NVLink error (SAW)",
    "145": "NVLink error (RLW)",
    "146": "NVLink error (TLW)",
    "147": "NVLink error (TREX)",
    "148": "NVLink error (link control)",
    "149": "NVLink error (NETIR)",
    "150": "NVLink error (MSE)",
    "151": "key rotation error",
    "154": "the driver changed its recovery advice",
    "155": "NVLink error that software defines",
    "156": "a damaged resource was retired",
    "157": "retirement of a damaged resource failed",
    "158": "fatal timeout of the GPU",
    "159": "coherent-link error without data",
    "160": "a memory channel was retired",
    "161": "retirement of a memory channel failed",
    "162": "power smoothing engaged again",
    "163": "power smoothing disengaged",
    "164": "power smoothing nears its lifetime",
    "165": "power smoothing has reached its lifetime",
    "167": "fatal timeout of the PCIe link",
    "168": "errors in the write-protected memory region",
    "169": "internal micro-controller halted",
    "171": "uncorrectable DRAM error",
    "172": "uncorrectable SRAM error",
}  # fmt: skip

APPLICATION = r"13|31|32|69"
"""A bad kernel or command of the program raises these; so does, more rarely, a damaged GPU."""

CLEAN_UP = r"43|45"
"""They record that a program's work was thrown away, never why."""

INFORMATIVE = r"63|92|93|106|107|154|156|160|162|163|164|165"
"""NVIDIA asks for no action on the program; what went wrong has another code."""

MEMORY = r"48|64|95|140|171|172"
NVLINK = r"74|13[67]|14[3-9]|150|155"
GSP = r"119|120"
DEVICE = r"8|38|44|46|54|61|62|109|110|121|151|157|158|159|161|168|169"
"""Faults of the device itself whose kind the code does not tell further."""
