r"""What trainers announce before they start: sizes, versions, GPUs.

    ***** Running training *****
      Num examples = 1,000
      Num Epochs = 3
      Total optimization steps = 375
    ==((====))==  Unsloth 2024.10.7: Fast Llama patching. Transformers = 4.46.0.
       \\   /|    GPU: Tesla T4. Max memory: 14.748 GB. Platform = Linux.
    O^O/ \_/ \    Pytorch: 2.5.0+cu121. CUDA = 7.5. CUDA Toolkit = 12.1.
    \        /    Bfloat16 = FALSE. FA [Xformers = 0.0.28. FA2 = False]

All of it is configuration as the run itself states it.
"""

from __future__ import annotations

from analyzer.ingest.text.log_line import LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.setup.json_block import scalar
from analyzer.lazy_regex import LazyRegex

_COUNT = r"(\d[\d,]{0,18})"
# Text before the number, and the key of transformers' TrainingArguments that means it.
_SIZES: tuple[tuple[LazyRegex, str], ...] = tuple(
    (LazyRegex(rf"{label} = {_COUNT}"), key)
    for label, key in (
        (r"(?:Instantaneous batch size per device|Batch size per device)", "per_device_train_batch_size"),
        (r"[Gg]radient [Aa]ccumulation steps", "gradient_accumulation_steps"),
        (r"Total (?:train )?batch size(?: \([^)]{1,80}\))?", "global_batch_size"),
        (r"Num Epochs", "num_train_epochs"),
        (r"(?:Total optimization steps|Total steps)", "max_steps"),
        (r"Num examples", "num_examples"),
        (r"(?:Number of trainable|Trainable) parameters", "trainable_parameters"),
    )
)
_VERSION = r"v?(\d{1,4}(?:\.\d{1,6}){1,3}[\w.+-]{0,24})"
_VERSIONS: tuple[tuple[LazyRegex, str], ...] = tuple(
    (LazyRegex(pattern), name)
    for pattern, name in (
        (rf"DeepSpeed info: version={_VERSION}", "deepspeed"),
        (rf"deepspeed info \.+ {_VERSION}", "deepspeed"),
        (rf"[Tt]ransformers(?: version)?\s?[:=]\s?{_VERSION}", "transformers"),
        (rf"Transformers version {_VERSION}", "transformers"),
        (rf"`transformers` version: {_VERSION}", "transformers"),
        (rf"PyTorch version \(GPU\?\): {_VERSION}", "torch"),
        (rf"\b(?:Py[Tt]orch|[Tt]orch)(?: version)?\s?[:=]\s?{_VERSION}", "torch"),
        (rf"torch version \.+ {_VERSION}", "torch"),
        (rf"Unsloth(?:: Fast \w{{1,40}} patching release)? {_VERSION}", "unsloth"),
        (rf"\b[Tt][Rr][Ll](?: version)?\s?[:=]\s?{_VERSION}", "trl"),
    )
)
_UNSLOTH_GPUS = LazyRegex(
    r"(?:GPU: )?(?P<name>[A-Z][\w -]{1,60})\. (?:Num GPUs = (?P<gpus>\d{1,4})\. )?Max memory: "
)
_UNSLOTH_BF16 = LazyRegex(r"Bfloat16 = (TRUE|FALSE)")
_UNSLOTH_NUM_GPUS = LazyRegex(r"Num GPUs(?: used)? = (\d{1,5})")
# Precision as a trainer announces it, and the configuration key that says the same.
_PRECISION: tuple[tuple[LazyRegex, str], ...] = tuple(
    (LazyRegex(pattern), key)
    for pattern, key in (
        (r"compute dtype: (?:torch\.)?(\w{4,16})", "compute_dtype"),  # LLaMA-Factory
        (r"Mixed precision type: (\w{2,16})", "mixed_precision"),  # accelerate
        (r"16-bits training: (True|False)", "fp16"),  # examples of transformers
    )
)
_LIGHTNING_PRECISION = LazyRegex(
    r"Using (16-?bit|bfloat16) (?:native )?Automatic Mixed Precision(?: \(AMP\))?(?![\w-])"
)
# What Lightning's trainer prints before and after the loop, in all versions since 1.0
_LIGHTNING = LazyRegex(
    r"(?:GPU|TPU|HPU) available: (?:True|False).{0,20}, us(?:ed|ing): |`Trainer\.\w{1,20}` stopped: "
)
# nanoGPT repeats what the command line changes; its dtype is that of autocast.
_OVERRIDING = LazyRegex(r"^Overriding: (?P<key>[a-z]\w{1,40}) = (?P<value>[\w.+-]{1,40})\s{0,4}$")
_PROCESSES = LazyRegex(r"Starting with (\d{1,7}) processes")


class Banners(WritesAtOnce):
    """Reads announcements; a line may hold several."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        readers = (self._sizes, self._versions, self._hardware, self._precision)
        found = [read(line, log) for read in readers]  # a line may hold something for each
        return any(found)

    @staticmethod
    def _sizes(line: LogLine, log: LogState) -> bool:
        found = False
        for pattern, key in _SIZES:
            match = pattern.search(line.text)
            if match is None:
                continue
            found = True
            value = int(match[1].replace(",", ""))
            log.out.config(
                key, value, framework="hf-trainer", layer="runtime_echo", line=line.number, raw=match[1]
            )
            if key == "max_steps" and value > 0:
                log.total_steps = value
            elif key == "num_train_epochs":
                log.epochs = float(value)
        return found

    @staticmethod
    def _versions(line: LogLine, log: LogState) -> bool:
        found = False
        for pattern, name in _VERSIONS:
            match = pattern.search(line.raw)
            if match is None:
                continue
            found = True
            if name in {"deepspeed", "unsloth"}:
                log.out.framework(name)
            if log.first("version", name, match[1]):
                log.out.config(
                    name, match[1].rstrip("."), framework="versions", layer="runtime_echo", line=line.number
                )
        return found

    @staticmethod
    def _hardware(line: LogLine, log: LogState) -> bool:
        found = False
        if match := _UNSLOTH_GPUS.search(line.raw):
            gpus = int(match["gpus"]) if match["gpus"] else None
            log.out.layout(gpu_name=match["name"], gpus=gpus, line=line.number)
            found = True
        if match := _UNSLOTH_BF16.search(line.raw):
            log.out.config(
                "bfloat16_supported",
                match[1] == "TRUE",
                framework="unsloth",
                layer="runtime_echo",
                line=line.number,
            )
            found = True
        if match := _UNSLOTH_NUM_GPUS.search(line.raw):
            log.out.layout(gpus=int(match[1]), line=line.number)
            found = True
        if match := _PROCESSES.search(line.raw):
            log.out.layout(world_size=int(match[1]), line=line.number)
            found = True
        return found

    @staticmethod
    def _precision(line: LogLine, log: LogState) -> bool:
        found = False
        for pattern, key in _PRECISION:
            match = pattern.search(line.raw)
            if match is None:
                continue
            found = True
            value = scalar(match[1])
            if value is not None:
                log.out.config(key, value, framework="hf-trainer", layer="runtime_echo", line=line.number)
        if match := _OVERRIDING.search(line.text):
            found = True
            key = "compute_dtype" if match["key"] == "dtype" else match["key"]
            value = scalar(match["value"])
            log.out.config(key, value, framework="nanogpt", layer="runtime_echo", line=line.number)
        if _LIGHTNING.search(line.raw):
            found = True
            log.out.framework("pytorch-lightning")
        if match := _LIGHTNING_PRECISION.search(line.raw):
            found = True
            log.out.framework("pytorch-lightning")
            log.out.config(
                "precision",
                "bf16-mixed" if match[1] == "bfloat16" else "16-mixed",
                framework="pytorch-lightning",
                layer="runtime_echo",
                line=line.number,
                raw=match[0],
            )
        return found
