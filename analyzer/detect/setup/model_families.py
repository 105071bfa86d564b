"""What is known of published model families by name: trained in bf16 or not, base or chat.

Only families whose training precision is published stand here; every other name stays unknown.
"""

from __future__ import annotations

from analyzer.lazy_regex import LazyRegex
from analyzer.vocabulary.known_names import told_by

_TYPES: dict[str, bool] = {
    # model_type of a config.json where it alone decides; "llama" does not (1 in fp16, 2 and 3 in bf16; Yi and others use it)
    "qwen2": True, "qwen2_moe": True, "qwen2_vl": True, "qwen2_5_vl": True, "qwen3": True, "qwen3_moe": True,
    "gemma": True, "gemma2": True, "gemma3": True, "gemma3_text": True, "gemma3n": True,
    "mistral": True, "mixtral": True, "t5": True, "mt5": True, "umt5": True, "phi3": True, "internlm2": True,
    "internlm3": True, "deepseek_v2": True, "deepseek_v3": True, "llama4": True, "olmo": True, "olmo2": True,
    "gpt2": False, "opt": False, "bert": False, "roberta": False, "distilbert": False, "electra": False, "gpt_neox": False,
    "gptj": False, "gpt_neo": False, "wav2vec2": False, "whisper": False,
}  # fmt: skip

_CHAT = LazyRegex(r"instruct|chat|(?:^|[-_])it(?:$|[-_])|(?:^|[-_])sft|dpo|rlhf|vicuna|zephyr|assistant")
_BASE = LazyRegex(r"(?:^|[-_])(?:base|pt|pretrain(?:ed)?)(?:$|[-_])")
# Families whose plain name is the base model; Qwen3 and later Phi use the plain name for the chat model.
_PLAIN_IS_BASE = LazyRegex(
    r"(?:^|/)(?:yi-\d|(?:meta-)?llama-[23]|qwen1\.5-|qwen2-|qwen2\.5-|mistral-\d|mixtral-|gemma-\d+b|gemma-2-|internlm2-\d|tinyllama.{0,30}-\d+t$)"
)


def bf16_born(name: str | None, model_type: str | None) -> bool | None:
    """Whether the family was pre-trained in bf16; None if the family is not known.

    >>> bf16_born("Qwen/Qwen2-7B-Instruct", None), bf16_born("facebook/opt-1.3b", "opt"), bf16_born("model", "llama")
    (True, False, None)
    """
    text = (name or "").strip().lower()
    found: bool | None = told_by("bf16_models", text)
    return _TYPES.get((model_type or "").strip().lower()) if found is None else found


def is_base(name: str | None) -> bool | None:
    """Whether a name marks a base model (True) or a chat or instruct model (False); None if it marks neither.

    >>> is_base("01-ai/Yi-6B"), is_base("01-ai/Yi-6B-Chat"), is_base("Qwen/Qwen3-8B"), is_base("./model")
    (True, False, None, None)
    """
    text = (name or "").strip().lower().rstrip("/")
    tail = text.rpartition("/")[2]
    if _CHAT.search(tail):
        return False
    if _BASE.search(tail) or _PLAIN_IS_BASE.search(text):
        return True
    return None
