r"""Read a pickle of plain data without the power to run anything.

A pickle is a program for a stack machine; what makes it dangerous are the opcodes that import names and call
them. This reader knows only those that build dicts, lists, tuples, texts, bytes, numbers, truth values and None;
any other one ends the reading. Dumps of PyTorch's flight recorder need no more (protocol 2).

>>> loads(b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01K\x05X\x01\x00\x00\x00bq\x02]q\x03(K\x01\x88Neu.")
{'a': 5, 'b': [1, True, None]}
>>> loads(b"\x80\x02cos\nsystem\n.")
Traceback (most recent call last):
analyzer.ingest.encodings.plain_pickle.PlainPickleError: opcode 'c' at byte 2 is not plain data
"""

from __future__ import annotations

import struct
from typing import Any, Final

MAX_OPCODES = 5_000_000
"""A ring of 2,000 entries, the default, takes some 300,000. Each may make a list or remember one: about 100 bytes."""

MAX_LONG_BYTES = 64
"""Larger whole numbers are no data of ours, and slow to handle."""

_MARK: Final = object()
_CONSTANTS = {0x28: _MARK, 0x29: (), 0x4E: None, 0x88: True, 0x89: False}
_NUMBERS = {0x4B: "<B", 0x4D: "<H", 0x4A: "<i", 0x47: ">d"}
_LONGS = {0x8A: "<B", 0x8B: "<i"}
_TEXTS = {0x58: "<I", 0x8C: "<B", 0x8D: "<Q", 0x55: "<B", 0x54: "<I"}
_BYTES = {0x43: "<B", 0x42: "<I"}
_PUTS = {0x71: "<B", 0x72: "<I"}
_GETS = {0x68: "<B", 0x6A: "<I"}
_TUPLES = {0x85: 1, 0x86: 2, 0x87: 3}
_SKIPPED = {0x80: 1, 0x95: 8}  # protocol and frame say nothing that the data needs
_STOP = 0x2E


class PlainPickleError(ValueError):
    """The bytes are no pickle of plain data, are cut off, or exceed a limit."""


class _Machine:
    """The stack machine; ``at`` is the position of the next byte."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        for _ in range(MAX_OPCODES):
            opcode = self.take(1)[0]
            if opcode == _STOP:
                return self.pop(1)[0]
            if not (self._scalar(opcode) or self._container(opcode)):
                raise PlainPickleError(f"opcode {chr(opcode)!r} at byte {self.at - 1} is not plain data")
        raise PlainPickleError(f"more than {MAX_OPCODES} opcodes")

    def take(self, count: int) -> bytes:
        part = self.data[self.at : self.at + count]
        if len(part) < count:
            raise PlainPickleError(f"ends in the middle at byte {len(self.data)}")
        self.at += count
        return part

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def pop(self, count: int) -> list[Any]:
        items = self.stack[-count:]
        if len(items) < count or any(item is _MARK for item in items):
            raise PlainPickleError(f"the stack is too short at byte {self.at}")
        del self.stack[-count:]
        return items

    def since_mark(self) -> list[Any]:
        for index in range(len(self.stack) - 1, -1, -1):
            if self.stack[index] is _MARK:
                items = self.stack[index + 1 :]
                del self.stack[index:]
                return items
        raise PlainPickleError(f"no mark before byte {self.at}")

    def _scalar(self, opcode: int) -> bool:
        push = self.stack.append
        if opcode in _TEXTS:
            push(self.take(self.number(_TEXTS[opcode])).decode("utf-8", "replace"))
        elif opcode in _PUTS:
            self._remember(self.number(_PUTS[opcode]))
        elif opcode in _GETS:
            self._recall(self.number(_GETS[opcode]))
        elif opcode in _CONSTANTS:
            push(_CONSTANTS[opcode])
        elif opcode in _NUMBERS:
            push(self.number(_NUMBERS[opcode]))
        elif opcode in _LONGS:
            push(self._long(self.number(_LONGS[opcode])))
        elif opcode in _BYTES:
            push(self.take(self.number(_BYTES[opcode])))
        elif opcode in _SKIPPED:
            self.take(_SKIPPED[opcode])
        else:
            return False
        return True

    def _container(self, opcode: int) -> bool:
        push = self.stack.append
        if opcode == 0x5D:
            push([])
        elif opcode == 0x7D:
            push({})
        elif opcode == 0x65:
            self._extend(self.since_mark())
        elif opcode == 0x61:
            self._extend(self.pop(1))
        elif opcode == 0x75:
            self._update(self.since_mark())
        elif opcode == 0x73:
            self._update(self.pop(2))
        elif opcode == 0x74:
            push(tuple(self.since_mark()))
        elif opcode in _TUPLES:
            push(tuple(self.pop(_TUPLES[opcode])))
        elif opcode == 0x94:
            self._remember(len(self.memo))
        else:
            return False
        return True

    def _long(self, count: int) -> int:
        if not 0 <= count <= MAX_LONG_BYTES:
            raise PlainPickleError(f"a number of {count} bytes at byte {self.at}")
        return int.from_bytes(self.take(count), "little", signed=True)

    def _remember(self, index: int) -> None:
        if not self.stack or self.stack[-1] is _MARK:
            raise PlainPickleError(f"nothing to remember at byte {self.at}")
        self.memo[index] = self.stack[-1]

    def _recall(self, index: int) -> None:
        if index not in self.memo:
            raise PlainPickleError(f"unknown memo at byte {self.at}")
        self.stack.append(self.memo[index])

    def _extend(self, items: list[Any]) -> None:
        if not self.stack or not isinstance(self.stack[-1], list):
            raise PlainPickleError(f"no list to extend at byte {self.at}")
        self.stack[-1].extend(items)

    def _update(self, items: list[Any]) -> None:
        target = self.stack[-1] if self.stack else None
        if not isinstance(target, dict) or len(items) % 2:
            raise PlainPickleError(f"no dict to fill at byte {self.at}")
        keys = items[::2]
        if not all(isinstance(key, str | int | float) for key in keys):
            raise PlainPickleError(f"a key that is no text or number at byte {self.at}")
        target.update(zip(keys, items[1::2], strict=True))


def loads(data: bytes) -> Any:
    """The value that a pickle of plain data describes.

    The value may be shared in itself (a memo) and even contain itself; a reader has to bound its own walk.

    Raises:
        PlainPickleError: It holds anything but plain data, or ends in the middle.
    """
    return _Machine(data).run()
