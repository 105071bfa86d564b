"""In which precision a run computes: one answer out of flags, dtypes, echoes and messages."""

from __future__ import annotations

from analyzer.detect.base import RunView, event_refs, refs_of, truth
from analyzer.detect.curves.numerics.scale_course import FLOOR_KINDS, OVERFLOW, ScaleCourse, scale_course
from analyzer.model.config import LAYERS, ConfigScalar, ConfigValue
from analyzer.model.refs import SourceRef
from analyzer.record import NamedTuple

_DTYPES = {
    "float16": "float16", "fp16": "float16", "half": "float16", "f16": "float16", "16": "float16", "16-true": "float16",
    "bfloat16": "bfloat16", "bf16": "bfloat16", "bf16-true": "bfloat16",
    "float32": "float32", "fp32": "float32", "float": "float32", "32": "float32", "32-true": "float32", "f32": "float32",
}  # fmt: skip
_SHORT = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}
_MIXED = {
    # Accelerate, Lightning, Megatron-Bridge, Composer, Axolotl; "no" and 32 mean that autocast is off
    "fp16": "fp16", "16": "fp16", "16-mixed": "fp16", "amp_fp16": "fp16", "float16": "fp16", "fp16-mixed": "fp16",
    "bf16": "bf16", "bf16-mixed": "bf16", "amp_bf16": "bf16", "bfloat16": "bf16", "bf16_mixed": "bf16", "fp16_mixed": "fp16",
    "fp8": "fp8", "amp_fp8": "fp8", "transformer-engine": "fp8", "bf16_with_fp8_mixed": "fp8",
    "no": "fp32", "none": "fp32", "32": "fp32", "32-true": "fp32", "fp32": "fp32", "float32": "fp32",
}  # fmt: skip
_FP8_FORMATS = frozenset({"hybrid", "e4m3", "true", "delayed", "tensorwise", "mxfp8", "blockwise"})
_PURE = {
    "16-true": "fp16",
    "bf16-true": "bf16",
    "pure_bf16": "bf16",
    "pure_fp16": "fp16",
    "pure-bf16": "bf16",
    "pure-fp16": "fp16",
}

NATIVE_DTYPE_DEFAULT_FROM = 5
"""Since transformers 5 a model is loaded in the dtype of its checkpoint unless told otherwise; before, in fp32."""


class Precision(NamedTuple):
    """The precision of forward and backward pass."""

    name: str  # fp16, bf16, fp32 or fp8
    pure: bool | None  # whether the weights themselves are in it, without mixed precision; None if unknown
    refs: tuple[SourceRef, ...]  # what says so


class _Vote(NamedTuple):
    name: str
    strength: int
    ref: SourceRef | None


def dtype_name(value: ConfigScalar) -> str | None:
    """A dtype as float16, bfloat16 or float32; None for anything else.

    >>> dtype_name("torch.bfloat16"), dtype_name("half"), dtype_name("auto")
    ('bfloat16', 'float16', None)
    """
    if value is None or isinstance(value, bool):
        return None
    return _DTYPES.get(str(value).strip().lower().removeprefix("torch.").removeprefix("jnp."))


def weights_dtype(view: RunView) -> tuple[str, tuple[SourceRef, ...]] | None:
    """Dtype in which the trained weights were loaded; ``auto`` means the checkpoint's own."""
    stated = view.config("weights.dtype")
    if stated is not None:
        name = dtype_name(stated.value)
        return None if name is None else (name, tuple(refs_of(stated)))
    # "auto" is no value of its own, so it stands among the entries only.
    automatic = next(
        (
            e
            for e in view.run.config.entries
            if e.value == "auto" and e.key_in_source.endswith(("torch_dtype", "model_dtype"))
        ),
        None,
    )
    native = view.config("model.native_dtype")
    name = None if native is None else dtype_name(native.value)
    return None if automatic is None or name is None else (name, tuple(refs_of(automatic, native)))


def precision(view: RunView) -> Precision | None:
    """The precision of the run, None if nothing decides it.

    What the run printed beats what a file asked for; a loss scaler at work proves fp16. ``fp32`` is an answer
    only where a file that could say otherwise says no.
    """
    votes, denied = _votes(view)
    scaler = _scaler_refs(view)
    if votes:
        strongest = max(vote.strength for vote in votes)
        names = {vote.name for vote in votes if vote.strength == strongest}
        refs = tuple(vote.ref for vote in votes if vote.strength == strongest and vote.ref is not None)
        if len(names) == 1:
            return Precision(names.pop(), _pure_by_word(view), refs)
        if scaler and "fp16" in names:
            return Precision("fp16", None, scaler + refs)
        return None
    if scaler:
        return Precision("fp16", None, scaler)
    return _by_weights(view, denied)


def _votes(view: RunView) -> tuple[list[_Vote], list[ConfigValue]]:
    """Statements that name a precision, and those that deny one."""
    votes: list[_Vote] = []
    denied: list[ConfigValue] = []
    for key, name in (("fp16.enabled", "fp16"), ("bf16.enabled", "bf16")):
        entry = view.config(key)
        said = None if entry is None else truth(entry.value)
        if entry is not None and said:
            votes.append(_vote(name, entry))
        elif entry is not None and said is False:
            denied.append(entry)
    mixed = view.config("mixed_precision")
    if mixed is not None and mixed.value is not None:
        word = str(mixed.value).strip().lower()
        name_of = _MIXED.get(word) or _PURE.get(word) or ("fp32" if truth(mixed.value) is False else None)
        if name_of == "fp32":
            denied.append(mixed)
        elif name_of is not None:
            votes.append(_vote(name_of, mixed))
    wrapper = view.config("amp.wrapper")
    if wrapper is not None and "amp" in str(wrapper.value).lower():
        # mmengine's AmpOptimWrapper uses fp16 autocast unless told another dtype
        amp_dtype = dtype_name(view.config_value("amp.dtype")) or "float16"
        votes.append(_vote(_SHORT[amp_dtype], wrapper))
    eight = view.config("fp8.format")
    if eight is not None and str(eight.value).strip().lower() in _FP8_FORMATS:
        # fp8 stands beside bf16, which then names what is not multiplied in fp8
        votes = [vote for vote in votes if vote.name == "fp8"] + [_vote("fp8", eight)]
    return votes, denied


def _vote(name: str, entry: ConfigValue) -> _Vote:
    return _Vote(name, LAYERS.index(entry.layer) if entry.layer in LAYERS else 0, entry.ref)


def _scaler_refs(view: RunView) -> tuple[SourceRef, ...]:
    """Places that show a dynamic loss scale at work."""
    course = view.once(scale_course)
    if course is None or not course.dynamic:
        return ()
    refs = event_refs(view.events(*FLOOR_KINDS, OVERFLOW))
    if course.series is not None:
        refs.append(course.series.ref(0))
    return tuple(refs[:2])


def _pure_by_word(view: RunView) -> bool | None:
    mixed = view.config_value("mixed_precision")
    if mixed is None:
        return False  # the flags of trainers and DeepSpeed mean mixed precision or fp32 master weights
    return str(mixed).strip().lower() in _PURE


def _by_weights(view: RunView, denied: list[ConfigValue]) -> Precision | None:
    """Without mixed precision a model computes in the dtype of its weights."""
    loaded = weights_dtype(view)
    if loaded is not None and loaded[0] != "float32":
        return Precision(_SHORT[loaded[0]], pure=True, refs=loaded[1])
    refs = tuple(entry.ref for entry in denied if entry.ref is not None)
    flags = (view.config_value(key) for key in ("fp16.enabled", "bf16.enabled"))
    both_denied = all(truth(flag) is False for flag in flags) or any(
        entry is view.config("mixed_precision") for entry in denied
    )
    if not both_denied:
        return None
    if loaded is None and dtype_name(view.config_value("model.native_dtype")) in {"float16", "bfloat16"}:
        version = view.config_value("versions.transformers")
        major = str(version).partition(".")[0] if version is not None else ""
        if not major.isdigit() or int(major) >= NATIVE_DTYPE_DEFAULT_FROM:
            return None  # loaded in half precision or not: depends on a default that nobody stated
    return Precision("fp32", pure=True, refs=refs)


def scaler_in_use(view: RunView, course: ScaleCourse | None, known: Precision | None) -> bool | None:
    """Whether a dynamic loss scale is in use; None if unknown."""
    if course is not None and course.dynamic:
        return True
    if known is not None and known.name in {"bf16", "fp32", "fp8"}:
        return False
    # A constant column of 1.0 is how Megatron and others print the absence of a scaler.
    if course is not None and course.series is not None and len(course.series) >= 5:
        return False
    if known is None or known.name != "fp16":
        return None
    static = view.config_value("fp16.loss_scale") or view.config_value("amp.loss_scale")
    if isinstance(static, int | float) and not isinstance(static, bool) and static > 0:
        return False
    return not known.pure
