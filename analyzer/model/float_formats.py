"""Ranges of the number formats that tensors of a training run have."""

from __future__ import annotations

LARGEST: dict[str, float] = {
    "float64": 1.7976931348623157e308,
    "float32": 3.4028234663852886e38,
    "bfloat16": 3.3895313892515355e38,
    "float16": 65504.0,
    "float8_e5m2": 57344.0,
    "float8_e4m3fn": 448.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e4m3fnuz": 240.0,
    "float4_e2m1": 6.0,
}
"""Largest finite number of a format, by its name in lower case."""

SMALLEST_NORMAL: dict[str, float] = {
    "float64": 2.0**-1022,
    "float32": 2.0**-126,
    "bfloat16": 2.0**-126,
    "float16": 2.0**-14,
    "float8_e5m2": 2.0**-14,
    "float8_e4m3fn": 2.0**-6,
}
"""Smallest positive number that is not subnormal."""

_OTHER_NAMES = {
    "half": "float16",
    "fp16": "float16",
    "f16": "float16",
    "float": "float32",
    "fp32": "float32",
    "f32": "float32",
    "tf32": "float32",
    "double": "float64",
    "fp64": "float64",
    "f64": "float64",
    "bf16": "bfloat16",
    "float8_e4m3": "float8_e4m3fn",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "hif8": "hifloat8",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "byte": "uint8",
}
_PREFIXES = ("torch.", "mindspore.", "numpy.", "np.", "jnp.", "tf.")


def format_name(written: str) -> str:
    """The name of a format as this package writes it: lower case, no prefix of a library.

    >>> format_name("torch.float16"), format_name("BFloat16"), format_name("fp32"), format_name("BF16")
    ('float16', 'bfloat16', 'float32', 'bfloat16')
    """
    name = written.strip().lower()
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return _OTHER_NAMES.get(name, name)
