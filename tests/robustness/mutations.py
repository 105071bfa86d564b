"""Small changes of bytes: what a fuzzer does to a file."""

TOKENS = (
    b"\x00", b"\xff\xfe", b"9" * 400, b"-1e999", b"NaN", b"[" * 200, b'{"a":' * 60, b"\x1b]52;c;aGk=\x07", b"\r", b"\n\n",
    b"\xe2\x80\xae", b"loss: nan", b"Traceback (most recent call last):\n", b"&a *a", b'"', b"'", b"}", b"\\u0000", b"|",
    b" " * 300, b"1" * 5000, b"step", b"0/0", b"%|", b"\x80\x04", b"1e", b"tensor(", b"[rank99999999]: ", b"2026-99-99T99:99:99",
    b"{}", b"[]", b"null", b"true", b"-", b"1.5.5", b"\xed\xa0\x80", b"\\ud800", b"\xd9\xa3", b"0x", b"1_0", b"inf", b": ", b"%", b"{0}",
    b"0000-00-00 00:00:00", b"-0", b"1e-400", b"epoch", b"<<: *a\n", b"!!python/object:os.system\n", b"\n  - ", b"=", b"@",
)  # fmt: skip
KINDS = ("bit", "cut", "drop", "double", "token", "token", "swap", "number", "line")


def mutated(data, operations):
    """Data after some changes, each at a place between 0 and 1."""
    changed = bytearray(data)
    for kind, where, size, token in operations:
        at = int(where * len(changed)) if changed else 0
        if kind == "bit" and changed:
            changed[min(at, len(changed) - 1)] ^= 1 << size % 8
        elif kind == "cut":
            del changed[at:]
        elif kind == "drop":
            del changed[at : at + size]
        elif kind == "double":
            changed[at:at] = changed[at : at + size]
        elif kind == "token":
            changed[at:at] = TOKENS[token % len(TOKENS)]
        elif kind == "swap" and changed:
            _swap(changed, at, (at * 7919 + size) % len(changed))
        elif kind == "number":
            _renumber(changed, at, TOKENS[token % len(TOKENS)])
        elif kind == "line":
            _move_line(changed, at, size)
    return bytes(changed)


def _swap(changed, at, other):
    one, two = changed[at : at + 16], changed[other : other + 16]
    changed[at : at + 16], changed[other : other + 16] = two, one


def _renumber(changed, at, token):
    """The next number or word in quotes becomes something else: what a parser of a known key meets."""
    digits = b"0123456789"
    while at < len(changed) and changed[at] not in digits:
        at += 1
    end = at
    while end < len(changed) and changed[end] in b"0123456789.e-":
        end += 1
    changed[at:end] = token


def _move_line(changed, at, size):
    start, end = changed.rfind(b"\n", 0, at) + 1, changed.find(b"\n", at) + 1
    if end > start:
        line = bytes(changed[start:end])
        del changed[start:end]
        other = changed.find(b"\n", (at * 31 + size) % (len(changed) + 1)) + 1
        changed[other:other] = line


def random_operations(dice):
    """A few changes."""
    return [
        (dice.choice(KINDS), dice.random(), dice.randint(1, 4096), dice.randrange(len(TOKENS)))
        for _ in range(dice.randint(1, 6))
    ]
