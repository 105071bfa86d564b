"""The files that describe a model and its tokenizer in the layout of the Hugging Face hub.

    config.json  tokenizer.json  tokenizer_config.json  special_tokens_map.json  added_tokens.json
    chat_template.jinja  adapter_config.json  generation_config.json

Their keys go under frameworks of their own (model, tokenizer, adapter, generation), because the same word
means something else in a training configuration. Not for weights: see ``safetensors``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.formats.checkpoints.special_tokens import (
    MAX_TOKENIZER_BYTES,
    ROLES,
    TEMPLATE_FILES,
    TOKENIZER_FILES,
    SpecialTokens,
    read_special_tokens,
)
from analyzer.ingest.formats.config.structured_text import Entry, StructuredTextError, read_json
from analyzer.ingest.source_text import read_text
from analyzer.lazy_regex import LazyRegex

MAX_BYTES = 16 << 20
"""A tokenizer_config.json with 6,000 added tokens has 1.2 MB; a config.json far less."""

_MAX_KEYS = 300
_KEY = re.compile(rb'"([A-Za-z_]\w{0,60})"\s{0,20}:')
_MODEL_NAMES = frozenset({b"model_type", b"architectures"})
_MODEL_SIZES = frozenset(
    {
        b"hidden_size",
        b"vocab_size",
        b"num_hidden_layers",
        b"n_embd",
        b"d_model",
        b"text_config",
        b"dtype",
        b"torch_dtype",
    }
)
_TOKENIZER = re.compile(rb'\A\s*\{\s*"version"\s*:\s*"[^"]*",\s*"truncation"\s*:')
_CHECKPOINT = LazyRegex(r"^checkpoint-\d+$")
_DTYPE = frozenset({"dtype", "torch_dtype", "text_config.dtype", "text_config.torch_dtype"})
_SECTIONS = frozenset({"text_config", "quantization_config"})
_TOKENIZER_KEYS = frozenset(
    {"padding_side", "model_max_length", "tokenizer_class", "add_bos_token", "add_eos_token"}
)


class ModelFiles:
    """Reads the description of a model, an adapter or a tokenizer."""

    def sniff(self, candidate: Candidate) -> Match:
        """By the file's standard name, or by the keys that only such a file has."""
        return Match.SURE if _kind(candidate) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Scalars of the file become configured values."""
        kind = _kind(source.candidate)
        if kind == "tokenizer":
            _read_tokenizer(source, out)
            return
        if kind == "model" and _CHECKPOINT.match(source.path.resolve().parent.name):
            kind = "checkpoint"
        wanted = _WANTED.get(kind)
        keys = 0
        for entry in _entries(source, out):
            section, _, inner = entry.key.partition(".")
            nested = bool(inner) and (section not in _SECTIONS or "." in inner)
            if nested or "[" in entry.key or (wanted is not None and entry.key not in wanted):
                continue
            # What a run saves in a checkpoint has the dtype of the run, not the one the model was published in.
            framework = "model" if kind == "checkpoint" and entry.key not in _DTYPE else kind
            out.config(entry.key, entry.value, framework=framework, line=entry.line, raw=entry.raw)
            keys += 1
            if keys == _MAX_KEYS:
                out.gap(f"only the first {_MAX_KEYS} keys were read", line=entry.line)
                return


_WANTED: Mapping[str, frozenset[str]] = {
    "generation": frozenset({"bos_token_id", "eos_token_id", "pad_token_id", "transformers_version"})
}


def _kind(candidate: Candidate) -> str:
    """model, adapter, generation, tokenizer, or empty for another file."""
    base = candidate.name.rpartition("/")[2].lower()
    if base in TEMPLATE_FILES:
        return "tokenizer"
    head = candidate.head.removeprefix(b"\xef\xbb\xbf")
    if not head.lstrip().startswith(b"{"):
        return ""
    if base in TOKENIZER_FILES or _TOKENIZER.match(head):
        return "tokenizer"
    if base == "generation_config.json":
        return "generation"
    keys = frozenset(_KEY.findall(head))
    if b"peft_type" in keys:
        return "adapter"
    if keys & _MODEL_NAMES and keys & _MODEL_SIZES:
        return "model"
    return "tokenizer" if keys & {b"tokenizer_class", b"added_tokens_decoder"} else ""


def _entries(source: OpenSource, out: SourceWriter) -> Iterator[Entry]:
    try:
        yield from read_json(read_text(source, out, MAX_BYTES))
    except StructuredTextError as error:
        out.gap(f"not JSON from here: {error}", line=error.line)


def _read_tokenizer(source: OpenSource, out: SourceWriter) -> None:
    """A tokenizer's file states its own keys, and the counts that all files of its directory give together."""
    base = source.path.name.lower()
    lines: dict[str, int] = {}
    if base not in {"tokenizer.json", *TEMPLATE_FILES}:
        for entry in _entries(source, out):
            lines.setdefault(entry.key.partition(".")[0].partition("[")[0], entry.line)
            if entry.key in _TOKENIZER_KEYS:
                out.config(entry.key, entry.value, framework="tokenizer", line=entry.line, raw=entry.raw)
    if source.candidate.compression or base not in {*TOKENIZER_FILES, *TEMPLATE_FILES}:
        return
    root = source.path.parents[source.name.count("/")]
    tokens = read_special_tokens(source.path.parent, root)
    if base in tokens.unread:
        out.gap(f"cannot be read ({tokens.unread[base]}); at most {MAX_TOKENIZER_BYTES} bytes are")
        return
    _state(base, tokens, lines, out)


def _state(base: str, tokens: SpecialTokens, lines: Mapping[str, int], out: SourceWriter) -> None:
    for role in ROLES:
        if role in lines and role in tokens.roles:
            text = tokens.roles[role]
            out.config(
                role, text, framework="tokenizer", line=lines[role], raw="null" if text is None else text
            )
    if base in {"tokenizer.json", "added_tokens.json", "tokenizer_config.json"} and (
        tokens.text_of or tokens.listed
    ):
        line = lines.get("added_tokens_decoder") or lines.get("extra_special_tokens")
        out.config("added_tokens", len(tokens.added()), framework="tokenizer", line=line)
    if base == "tokenizer.json" and tokens.vocab_size is not None:
        out.config("vocab_size", tokens.vocab_size, framework="tokenizer")
    if (base in TEMPLATE_FILES or "chat_template" in lines) and tokens.template:
        line = lines.get("chat_template", 1)
        out.config("chat_template", "present", framework="tokenizer", line=line)
        out.config(
            "chat_template_tokens", ", ".join(sorted(tokens.in_template())), framework="tokenizer", line=line
        )
