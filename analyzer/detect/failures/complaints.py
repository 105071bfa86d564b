"""What the exception that ended a run complains of, by the grammar of its message, whichever library raised it.

Patterns of the text layer know sentences; they look through whole logs, so each has to be sure of what it says. Here one
message is read of which it is known that it ended the run. Hence words are enough that would be too common in a log: a name
that looks like a setting beside "must be", a library beside a number of a version. Paths are masked first, for a folder may
bear any name.

=============  =============================================================================================
``version``    a library is there in a version, or in a build, that does not do
``package``    a package is not there
``checkpoint`` what was saved does not fit what it is loaded into
``path``       a file or folder is not there
``access``     a token or a login is missing or was refused
``download``   something could not be fetched
``device``     a device is asked for that is not there
``values``     data hold NaN or infinities
``label``      a label lies outside of the classes
``samples``    the data hold no samples, or parts of a sample do not fit each other
``setting``    a setting was refused: its value, its name, or what it is combined with
=============  =============================================================================================

Anything else is None, first of all what a call says of its tensors: that is a fault of the code that made them.
"""

from __future__ import annotations

from pathlib import Path

from analyzer.vocabulary.expressions import expressions

LOOKED_AT = 400
"""Characters of a message that are read: the complaint comes first, then explanations and dumps of values."""

_FILE = Path(__file__).parent / "complaints.yaml"

# In the order in which they are tried: a word, hints of which a message holds one, and what says that it means another thing.
_BY_WORDS: tuple[tuple[str, tuple[str, ...], str | None], ...] = (
    ("version", ("ersion", "=", "<", ">", "equire", "grad", "pdat", "buil", "compil", "emoved", "higher", "later"), "other_version"),
    ("package", ("nstall", "mport", "equire", "ackage", "epend", "ibrary", "odule"), None),
    ("checkpoint", ("heckpoint", "ckpt", "tate", "rained", "eight", "aved", "oad", "esum", "estor", "safetensors"), "recomputed"),
    ("access", ("oken", "key", "redential", "authenticated", "logged in", "gated", "denied", "nauthori", "orbidden"), None),
    ("device", ("CUDA", "cuda", "GPU", "gpu", "TPU", "NPU", "XPU", "HPU", "MPS", "mps", "NVIDIA"), "other_version"),
    ("values", ("nan", "NaN", "nf", "missing values"), None),
    ("label", ("abel", "classes"), None),
    ("path", ("exist", "ound", "find", "open", "locat", "read", "access", "not a ", "missing"), "writing"),
    ("samples", ("empty", "match", "no ", "No ", "same ", "nconsistent", "ambiguous"), None),
    ("download", ("ownload", "etch", "each", "onnect", "tatus", "ffline"), None),
)  # fmt: skip


def complaint(kind: str, message: str) -> str | None:
    """What an exception of some kind complains of, one of the words above.

    >>> complaint("ValueError", "acme_mode must be one of 'fast', 'slow', got 'slwo'")
    'setting'
    >>> complaint("ValueError", "Expected a tensor of shape (8, 16), got (8, 12)")
    """
    of = expressions(_FILE)
    text = of["paths"].sub("PATH", " ".join(message[:LOOKED_AT].split()))
    for word, hints, unless in _BY_WORDS:
        says = any(hint in text for hint in hints) and of[word].search(text)
        if says and not (unless and of[unless].search(text)):
            return word
    refused = (
        ((of["refusing_class"].search(kind) or of["of_the_run"].search(text)) and of["setting"].search(text))
        or (kind == "AssertionError" and of["checked"].search(text))
    ) and not of["of_a_call"].search(text)
    return "setting" if refused else None
