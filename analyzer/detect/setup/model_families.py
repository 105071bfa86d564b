"""What is known of published model families by name: trained in bf16 or not, base or chat.

A checkpoint's stored dtype tells less than its training: Llama 2 was trained in bf16 and published in fp16.
Only families whose training precision is published stand here; every other name stays unknown.
"""

from __future__ import annotations

import re

from analyzer.lazy_regex import LazyRegex

_BF16_BORN: tuple[tuple[str, bool], ...] = (
    # The first match decides. "published" is the dtype in the config.json of the model's own repository.
    (r"tiny-?llama", True),  # chat models published in bf16 (arXiv 2401.02385)
    (r"code-?llama", True),  # from Llama 2
    (r"vicuna.*v1\.5", True),  # from Llama 2
    (
        r"vicuna|alpaca|llama-?(?:7|13|30|33|65)b|llama-?1\b",
        False,
    ),  # LLaMA 1, published in fp16 (arXiv 2302.13971)
    (
        r"llama-?(?:v?[234])(?!\d)",
        True,
    ),  # trained in bf16, 2 published in fp16 (arXiv 2307.09288, 2407.21783)
    (r"qwen|qwq|qvq", True),  # bf16 mixed precision (arXiv 2309.16609); 1.5 and later published in bf16
    (r"gemma", True),  # trained on TPU, published in bf16 (arXiv 2403.08295)
    (r"mistral|mixtral|ministral|zephyr", True),  # published in bf16 (arXiv 2310.06825)
    (r"(?:^|[/_-])yi-|01-ai", True),  # published in bf16 (arXiv 2403.04652)
    (
        r"(?:^|[/_-])(?:m?t5|mt0|flan-?t5|flan-?ul2|t0)(?:[/_-]|$|\d|v1)",
        True,
    ),  # trained on TPU in bf16 (arXiv 1910.10683)
    (r"phi-?[34]", True),  # published in bf16 (arXiv 2404.14219)
    (r"phi-?[12]", False),  # fp16 with DeepSpeed (arXiv 2306.11644, 2309.05463)
    (r"internlm-?[23]", True),  # published in bf16 (arXiv 2403.17297)
    (r"deepseek", True),  # published in bf16 (arXiv 2401.02954), V3 in fp8 beside bf16
    (r"falcon|olmo|smollm|granite|minicpm|baichuan-?2|starcoder2|dbrx|stablelm-2", True),  # published in bf16
    (r"bloomz?-(?:560m|1b1|1b7|3b|7b1)", False),  # fp16 (arXiv 2211.05100, table of hyper-parameters)
    (r"bloom", True),  # the 176B model: bf16 (arXiv 2211.05100)
    (r"(?:^|[/_-])opt-?\d", False),  # fp16 with a dynamic loss scale (arXiv 2205.01068)
    (r"gpt-?2|gpt-?neo(?!x)|gpt-?j|gpt-neox", False),  # fp32 or, NeoX, fp16 (arXiv 2204.06745)
    (
        r"bert|electra|xlm-r|wav2vec|hubert|whisper|bart|pegasus|clip",
        False,
    ),  # before bf16 was used: fp32 or fp16
)

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
    for pattern, verdict in _BF16_BORN if text else ():
        if re.search(pattern, text):
            return verdict
    return _TYPES.get((model_type or "").strip().lower())


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
