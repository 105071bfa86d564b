"""Lines by which tools on the device, and Megatron's rerun machine, name where a bad number or access came from.

#nixnan: error [div0] detected in operand 1 of instruction MUFU.RSQ R5, R0 ; in function abs_kernel of type f32
#GPU-FPX LOC-EXCEP INFO: in kernel [dot_prod], NaN found @ dot-prod.cu:13 [FP32]
========= Invalid __global__ read of size 4 bytes                                   compute-sanitizer
First rerun: unexpected result is not reproducible within the tolerance (nan != 3.2)   Megatron-LM
ts=2025-01-01 node=n7 device=3 jobID=1 rank=11 iteration=40 status=second_rerun_not_reproducible result=nan message='..'
found NaN in local grad norm for bucket #3 in backward pass before data-parallel communication collective
"""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern


def _rerun(kind: str, role: str, which: str, result: str) -> Pattern:
    """A line of Megatron's rerun machine, as a sentence or as the status of its tracker."""
    status = f"{which}_rerun_{result.replace(' ', '_')}".lower()
    return Pattern(
        kind,
        role,
        (f"{which} rerun: unexpected result is {result}", status, status.upper()),
        rf"(?i:{which.lower()}.rerun[ :]{{0,2}}(?: unexpected result is |_){result.replace(' ', '.')})",
        more=(r"\brank=(?P<rank>\d{1,7})\b.{0,40}\biteration=(?P<step>\d{1,12})\b",),
        fields={"rank": "int", "step": "int"},
    )


REPLAY_PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "device_float_exception",
        "symptom",
        ("#nixnan: error [",),
        r"#nixnan: error \[(?P<what>[\w,+-]{1,80})\] detected in (?:operand (?P<operand>\d{1,4}) of )?instruction"
        r" (?P<instruction>[^;]{1,200});? {0,2}in function (?P<kernel>\S.{0,400}?)(?: at line (?P<site>.{1,300}?))? of type (?P<dtype>\w{1,20})",
        {"operand": "int"},
    ),
    Pattern(
        "device_float_exception",
        "symptom",
        ("#GPU-FPX LOC-EXCEP INFO",),
        r"#GPU-FPX LOC-EXCEP INFO: (?:Warning: )?in kernel \[(?P<kernel>[^\]]{1,400})\], "
        r"(?:very small quantity \()?(?P<what>\w{1,20})\)? found @ (?P<site>.{1,300}) \[(?P<dtype>\w{1,10})\]",
    ),
    Pattern(
        "invalid_device_access",
        "root_candidate",
        ("========= Invalid __",),
        r"========= Invalid __(?P<space>\w{1,12})__ (?P<access>read|write|atomic) of size (?P<size_bytes>\d{1,6})",
        {"size_bytes": "int"},
    ),
    Pattern(
        "device_access_site",
        "info",
        ("=========     at ",),
        r"=========     at (?P<kernel>.{1,300}?)\+0x[0-9a-f]{1,16}(?: in (?P<site>\S{1,200}))?",
        once=True,
    ),
    Pattern(
        "sanitizer_errors",
        "info",
        ("========= ERROR SUMMARY: ",),
        r"========= ERROR SUMMARY: (?P<errors>\d{1,12}) error",
        {"errors": "int"},
    ),
    _rerun("rerun_not_reproducible", "root_candidate", "First", "not reproducible"),
    _rerun("rerun_reproducible_here", "info", "First", "reproducible"),
    _rerun("rerun_differs_elsewhere", "root_candidate", "Second", "not reproducible"),
    _rerun("rerun_same_everywhere", "info", "Second", "reproducible"),
    Pattern(
        "unexpected_result",
        "symptom",
        ("Unexpected result ",),
        r"Unexpected result (?P<value>\S{1,80}?)(?: at \S{1,300} line \d{1,7}, invoc?k?ation #\d{1,9} at iteration #(?P<step>\d{1,12}))? \(message='(?P<message>[^']{1,200})'",
        {"step": "int"},
    ),
    Pattern(
        "bucket_gradient_nonfinite",
        "symptom",
        ("local grad norm for bucket #",),
        r"(?P<what>NaN|Inf|Unexpected|Large)\w{0,20}.{0,80}?local grad norm for bucket #(?P<bucket>\d{1,7}) in backward pass",
        {"bucket": "int"},
    ),
)  # fmt: skip
