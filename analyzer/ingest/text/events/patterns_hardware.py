"""Lines of the kernel, its drivers and the vendors' tools about hardware: GPUs, links, network cards, hosts.

A GPU of NVIDIA speaks through the kernel::

    [12345.678] NVRM: Xid (PCI:0000:65:00): 79, pid=4321, name=python, GPU has fallen off the bus.
"""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern
from analyzer.ingest.text.events.xid_catalog import (
    APPLICATION,
    CLEAN_UP,
    DEVICE,
    GSP,
    INFORMATIVE,
    MEMORY,
    NVLINK,
    XID_MEANINGS,
)

# Who wrote a kernel line: syslog ("Nov  2 10:41:26 node-a kernel: "), or a tool that collects from many hosts.
_HOST = (
    r"^(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,+Z-]{8,30}) (?P<host>[\w.-]{1,64}) kernel:",
    r"^(?P<host>[A-Za-z][\w.-]{0,63}): \[",
)

# The code is the number after "): ", never the first digits after "Xid".
# Newer drivers add to a clean-up what it follows: "45, pid=4321, name=python, Ch 00000001 caused by previous Xid 149".
_XID = r"(?:NVRM: Xid \((?P<device>[^)]{1,60})\): |XidCriticalError: Xid=|caused by previous Xid )"
_XID_LITERALS = ("NVRM: Xid", "XidCriticalError: Xid=")
_XID_MORE = (*_HOST, r"pid='?(?P<pid>\d{1,9})", r"name='?(?P<process>[\w./-]{1,60})")


def _xid(kind: str, role: str, codes: str, *more: str) -> Pattern:
    """One row for some codes; the meaning of the code is a field of its own."""
    return Pattern(
        kind,
        role,
        _XID_LITERALS,
        rf"{_XID}(?P<code>(?P<meaning>{codes}))(?!\d)",
        {"code": "int", "pid": "int"},
        more=(*_XID_MORE, *more),
        words={"meaning": XID_MEANINGS},
    )


_XIDS: tuple[Pattern, ...] = (
    _xid("gpu_xid", "cascade", CLEAN_UP),
    _xid("gpu_xid", "info", INFORMATIVE),
    _xid("gpu_xid", "symptom", APPLICATION),
    _xid("gpu_xid", "root_candidate", rf"(?!(?:{CLEAN_UP}|{INFORMATIVE}|{APPLICATION})(?!\d))\d{{1,4}}"),
    # The codes that decide, each under its own name: a kernel log often holds several.
    _xid("xid_application", "symptom", APPLICATION),
    _xid("xid_cleanup", "cascade", CLEAN_UP),
    _xid("xid_off_bus", "root_candidate", "79"),
    _xid("xid_memory", "root_candidate", MEMORY),
    _xid("xid_memory_contained", "root_candidate", "94"),
    _xid("xid_row_remap", "info", "63|156|160"),
    _xid("xid_nvlink", "root_candidate", NVLINK),
    _xid("xid_gsp", "root_candidate", GSP),
    # What newer drivers write beside the code, or instead of it
    Pattern(
        "xid_gsp",
        "root_candidate",
        (
            "GSP RPC timeout detected",
            "_kgspLogRpcTimeout: ",
            "_kgspIsHeartbeatTimedOut: ",
            "rpcRecvPoll timedout",
            "for RPC response from GSP",
            "waiting for RPC from GSP",
        ),
        r"GSP RPC timeout detected|_kgspLogRpcTimeout: \*|_kgspIsHeartbeatTimedOut: Heartbeat timed out|rpcRecvPoll timedout|[Tt]imeout (?:after .{1,20})?(?:waiting )?for RPC (?:response )?from GSP",
        more=_HOST,
    ),
    _xid("xid_pcie", "root_candidate", "167"),
    _xid("xid_device", "root_candidate", DEVICE),
    _xid("xid_recovery", "info", "154", r" to 0x\w{1,4} \((?P<action>[\w ,/-]{1,60})\)"),
)

_GPUS: tuple[Pattern, ...] = (
    Pattern(
        "ecc_error",
        "root_candidate",
        ("uncorrectable ECC error", "Uncorrectable ECC error", "double bit ECC error", "Double Bit ECC"),
        r"[Uu]ncorrectable ECC error|[Dd]ouble [Bb]it ECC",
        more=_HOST,
        unless=r"Double Bit ECC[^:\r\n]{0,40}:\s{0,40}(?:0|N/A)\s*$",  # a row of nvidia-smi -q
    ),
    # nvidia-smi -q: counters since the last reset or ever, and the state of the row remapper
    Pattern(
        "gpu_ecc_counter",
        "info",
        ("DRAM Uncorrectable ", "SRAM Uncorrectable "),
        r"(?P<memory>[DS]RAM) Uncorrectable(?: Parity| SEC-DED)?\s{1,60}: (?P<errors>[1-9]\d{0,17})\b",
        {"errors": "int"},
    ),
    Pattern(
        "row_remap_failed",
        "root_candidate",
        ("Remapping Failure Occurred", "SRAM Threshold Exceeded"),
        r"(?:Remapping Failure Occurred|SRAM Threshold Exceeded)\s{1,60}: Yes",
    ),
    Pattern(
        "gpu_off_bus",
        "root_candidate",
        (
            "has fallen off the bus",
            "GPU is lost",
            "device lost from bus",
            "fallen off the bus and is not responding",
        ),
        r"GPU .{0,60}has fallen off the bus|GPU is lost|device lost from bus|fallen off the bus and is not responding",
        more=_HOST,
    ),
    Pattern(
        "gpu_unknown_error",
        "root_candidate",
        ("Unable to determine the device handle for", "RmInitAdapter failed"),
        r"Unable to determine the device handle for .{0,120}Unknown Error|(?P<what>RmInitAdapter failed)",
        more=_HOST,
    ),
    # nvidia-smi -q -d PERFORMANCE and DCGM. A software power cap is ordinary under load and no finding.
    Pattern(
        "gpu_slowdown",
        "info",
        ("HW Slowdown ", "HW Thermal Slowdown ", "HW Power Brake Slowdown ", "SW Thermal Slowdown "),
        r"(?:HW|SW) (?P<reason>Thermal |Power Brake |)Slowdown\s{1,60}: Active",
        {"reason": "lower"},
    ),
    Pattern(
        "gpu_slowdown",
        "info",
        ("lock throttling", "lock throttle", "DCGM_FR_CLOCK_THROTTLE_"),
        r"[Cc]lock throttl(?:e|ing|ed)\b.{0,60}\b(?P<reason>thermal|power)\b|DCGM_FR_CLOCK_THROTTLE_(?P<cause>THERMAL|POWER)",
        {"reason": "lower", "cause": "lower"},
    ),
    # amdgpu
    Pattern(
        "gpu_ring_timeout",
        "root_candidate",
        ("amdgpu: ", "[amdgpu]] *ERROR* ring"),
        r"amdgpu(?:\]\] \*ERROR\*|:) .{0,80}?\bring \S{1,40} timeout",
        more=_HOST,
    ),
    Pattern(
        "gpu_hang",
        "root_candidate",
        ("HW Exception by GPU node-",),
        r"HW Exception by GPU node-(?P<node>\d{1,4}) .{0,120}reason ?: ?GPU Hang",
        {"node": "int"},
    ),
    # amdgpu gives a device up that does not answer, and resets it
    Pattern(
        "gpu_hang",
        "root_candidate",
        ("GPU reset begin!", "VRAM is lost", "MES might be in unrecoverable state"),
        r"amdgpu: GPU reset begin!|VRAM is lost|MES might be in unrecoverable state",
        more=_HOST,
    ),
    Pattern(
        "ras_uncorrectable",
        "root_candidate",
        ("uncorrectable hardware errors detected", "uncorrectable hardware error(ERREVENT"),
        r"(?P<errors>[1-9]\d{0,9}) (?:new )?uncorrectable hardware errors detected in .{0,20}\b(?P<block>\w{1,20}) block|uncorrectable hardware error\(ERREVENT",
        {"errors": "int"},
        more=_HOST,
    ),
    # Ascend
    Pattern(
        "npu_memory_error",
        "root_candidate",
        ("HBM MULTI BIT ECC ERROR", "UCE ERROR", "SUSPECT MEM ERROR"),
        r"\b(?P<what>HBM MULTI BIT ECC ERROR|UCE ERROR|SUSPECT MEM ERROR)\b",
    ),
    # Written when a program ends before the adapter has let go of its GPU memory; harmless
    Pattern(
        "peermem_context",
        "info",
        ("nvidia-peermem nv_get_p2p_free_callback",),
        r"nv_get_p2p_free_callback.{0,40}detected invalid context",
    ),
    Pattern("npu_link_error", "root_candidate", ("HCCS LINK ERROR",), r"\bHCCS LINK ERROR\b"),
)

_LINKS: tuple[Pattern, ...] = (
    Pattern(
        "sxid_fatal",
        "root_candidate",
        ("SXid (",),
        r"nvidia-nvswitch(?P<switch>\d{1,3}): SXid \([^)]{1,60}\): (?P<code>\d{1,6}), Fatal\b",
        {"switch": "int", "code": "int"},
        more=(*_HOST, r"Link (?P<link>\d{1,4})"),
    ),
    Pattern(
        "sxid",
        "info",
        ("SXid (",),
        r"nvidia-nvswitch(?P<switch>\d{1,3}): SXid \([^)]{1,60}\): (?P<code>\d{1,6}), Non-fatal\b",
        {"switch": "int", "code": "int"},
        more=(*_HOST, r"Link (?P<link>\d{1,4})"),
    ),
    Pattern(
        "nvlink_error",
        "root_candidate",
        ("uncorrectable NVLink error", "NVSwitch fatal error", "NVLink fatal error"),
        r"uncorrectable NVLink error|NVSwitch fatal error|NVLink fatal error",
        more=_HOST,
    ),
    Pattern(
        "pcie_fatal_error",
        "root_candidate",
        ("AER: ", "PCIe Bus Error: severity=", "pciehp: Slot"),
        r"(?:AER: .{0,60}?|PCIe Bus Error: severity=)Uncorrect(?:ed|able) \(Fatal\)|pciehp: Slot\([^)]{1,20}\): (?:Link Down|Card not present)",
        more=(*_HOST, r"(?P<device>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d): (?:AER|PCIe)"),
    ),
    Pattern(
        "pcie_error",
        "info",
        ("AER: ", "PCIe Bus Error: severity="),
        r"(?:AER: .{0,60}?|PCIe Bus Error: severity=)(?:(?P<severity>Corrected)|Uncorrect(?:ed|able) \((?P<class>Non-Fatal)\))",
        {"severity": "lower", "class": "lower"},
        more=_HOST,
    ),
    # Printed at boot; a width below the possible one is a seat or riser that is not right, a speed below it saves power.
    Pattern(
        "pcie_link_narrow",
        "info",
        (" available PCIe bandwidth, limited by ",),
        r"available PCIe bandwidth, limited by (?P<speed_gt>[\d.]{1,6}) GT/s PCIe x(?P<width>\d{1,2}) link at .{1,40}\(capable of .{1,60} x(?!(?P=width) )(?P<capable_width>\d{1,2}) link\)",
        {"speed_gt": "float", "width": "int", "capable_width": "int"},
        more=_HOST,
    ),
    Pattern(
        "nic_port_down",
        "symptom",
        ("mlx5_core ", "NIC Link is Down", "link status definitely down", "event : port error", "Port module event"),
        r"mlx5_core \S{1,40} (?:(?P<port>[\w.-]{1,32}): )?(?:Link down|Port: \d{1,3} Link DOWN)|NIC Link is Down|link status definitely down"
        r"|Port module event(?:\[error\])?: module \d{1,3}, Cable (?:unplugged|error)|NET/IB : (?:(?P<adapter>[\w:]{1,40}) )?Got async event : port error",
        more=_HOST,
    ),
    Pattern(
        "nic_port_up",
        "info",
        ("mlx5_core ", "NIC Link is Up", "link status definitely up", "event : port active"),
        r"mlx5_core \S{1,40} (?:(?P<port>[\w.-]{1,32}): )?(?:Link up|Port: \d{1,3} Link ACTIVE)|NIC Link is Up|link status definitely up|Got async event : port active",
        more=_HOST,
    ),
    Pattern(
        "nic_fault",
        "root_candidate",
        ("health compromised - reached miss count", "unrecoverable hardware error", "Will cause a leak of a command resource",
         "event : local catastrophic error", "event : device fatal"),
        r"mlx5_core (?P<adapter>\S{1,40}): .{0,80}(?:health compromised - reached miss count|unrecoverable hardware error|Will cause a leak of a command resource)"
        r"|Got async event : (?:local catastrophic error|device fatal)",
        more=_HOST,
    ),
    Pattern(
        "nic_error_counter",
        "info",
        ("SymbolErrorCounter", "LinkDownedCounter", "symbol_error", "link_downed"),
        r"(?P<counter>SymbolErrorCounter|LinkDownedCounter|symbol_error|link_downed)[ :.=]{1,60}(?P<count>[1-9]\d{0,17})\b",
        {"count": "int"},
    ),
)  # fmt: skip

_HOSTS: tuple[Pattern, ...] = (
    Pattern(
        "machine_check",
        "root_candidate",
        ("Machine Check", "Hardware Error]: Fatal", "Uncorrected error", "EDAC MC", "HANDLING MCE MEMORY ERROR", "Uncorrected hardware memory error"),
        r"Machine Check(?: Exception)?: \d|Hardware Error\]: (?:Fatal|Uncorrected)|EDAC \w{1,20}: \d{1,9} UE\b|Uncorrected hardware memory error",
        more=_HOST,
    ),
    Pattern("kernel_panic", "root_candidate", ("Kernel panic - not syncing",), r"Kernel panic - not syncing(?:: (?P<reason>.{1,120}))?", more=_HOST),
    # as in "watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [python:4321]"
    Pattern(
        "kernel_lockup",
        "symptom",
        ("BUG: soft lockup", "hard LOCKUP", "self-detected stall", "detected stalls on CPUs"),
        r"BUG: soft lockup - CPU#(?P<cpu>\d{1,5}) stuck for (?P<stuck_s>\d{1,6})s!(?: \[(?P<process>[^\]:]{1,40}))?|Watchdog detected hard LOCKUP|self-detected stall|detected stalls on CPUs",
        {"cpu": "int", "stuck_s": "int"},
        more=_HOST,
    ),
    # A task in uninterruptible sleep: a file system or driver that does not answer, not yet a failure.
    Pattern(
        "hung_task",
        "info",
        ("blocked for more than ",),
        r"INFO: task (?P<process>[^:]{1,60}):(?P<pid>\d{1,9}) blocked for more than (?P<blocked_s>\d{1,6}) seconds",
        {"pid": "int", "blocked_s": "int"},
        more=_HOST,
    ),
    Pattern(
        "nmi",
        "info",
        ("NMI received for unknown reason", "NMI: IOCK error", "NMI: PCI system error"),
        r"NMI received for unknown reason|NMI: (?:IOCK error|PCI system error)",
        more=_HOST,
    ),
    Pattern("node_rebooted", "info", ("-- Reboot --", "-- Boot "), r"^-- (?:Reboot --|Boot [0-9a-f]{32} --)"),
)  # fmt: skip

HARDWARE_PATTERNS = _XIDS + _GPUS + _LINKS + _HOSTS
