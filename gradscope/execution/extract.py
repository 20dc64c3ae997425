"""Writes one node's backward as a script of its own, with its tensors beside it: the smallest example for a bug report.

The script needs torch and nothing else. What stands in it comes from a recording, so every name is checked.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradscope.errors import NothingCheckedError
from gradscope.execution.execute import as_recorded, places
from gradscope.execution.machine import NAME, Machine, NotRepeatableError, find_operator
from gradscope.model.dispatch import Constant, Dispatch, Phase, Place, StoredBackward, Zeros
from gradscope.model.graph import Node

HEAD = '''"""{title}

Repeats what ran in this node on the recorded tensors, which lie beside this file in {data!r}, and compares each result
with the recorded one. Needs torch only (recorded with {torch}). Made by gradscope.
"""

import ctypes
import hashlib
import pathlib
import sys

import torch

DATA = pathlib.Path(__file__).with_name({data!r}).read_bytes()
different = []


def memory(start, size, device="cpu"):
    """Bytes of the recording, as a storage."""
    found = torch.empty(size, dtype=torch.uint8, device=device)
    if size:
        found.copy_(torch.frombuffer(bytearray(DATA[start : start + size]), dtype=torch.uint8))
    return found.untyped_storage()


def tensor(storage, dtype, offset, shape, strides, conj=False, neg=False):
    """A tensor as it lay in its storage; offset and strides count elements."""
    found = torch.empty(0, dtype=dtype, device=storage.device).set_(storage, offset, shape, strides)
    found = torch._conj(found) if conj else found
    return torch._neg_view(found) if neg else found


def check(what, result, expected):
    """Compare a tensor's elements with the recorded ones by BLAKE2b."""
    whole = result.resolve_conj().resolve_neg().contiguous().cpu()
    size = whole.numel() * whole.element_size()
    elements = ctypes.string_at(whole.data_ptr(), size) if size else b""
    same = hashlib.blake2b(elements, digest_size=8).hexdigest() == expected
    print("equal    " if same else "DIFFERENT", what)
    if not same:
        different.append(what)


torch.set_grad_enabled(False)
'''
TAIL = """
print(f"torch {torch.__version__}:", f"{len(different)} results differ" if different else "all results are equal")
sys.exit(1 if different else 0)
"""
WORD = re.compile(r"\w+")
DEVICE = re.compile(r"[a-z]+(:\d+)?")


@dataclass(frozen=True, slots=True)
class Extract:
    """A script, and the bytes that it reads."""

    script: str
    data: bytes


def extract(node: Node, stored: StoredBackward, title: str, data: str, torch: str) -> Extract:
    """Write the script of a node. `data` is the name of the file for its bytes, `torch` the recorded version.

    Raises NothingCheckedError for a node that ran no operators, and when one of them cannot be repeated.
    """
    calls = [call for call in stored.dispatches if call.node == node.id and call.phase is Phase.INSIDE]
    if not calls:
        raise NothingCheckedError("this node ran no operators", "it did not run, or passes on what it gets")
    with as_recorded(stored):
        machine = _before(stored, node.id)
        try:
            return _Script(machine, stored, node.id).write(calls, title, data, torch)
        except NotRepeatableError as error:
            raise NothingCheckedError(f"this node cannot be repeated: {error}") from None


def _before(stored: StoredBackward, node: int) -> Machine:
    """Run everything up to the node."""
    machine = Machine(stored)
    for call in stored.dispatches:
        if call.node == node and call.phase is Phase.INSIDE:
            break
        try:
            machine.call(call)
        except NotRepeatableError:
            continue  # it matters only if the node needs what this would have made
    return machine


class _Script:
    """Collects the bytes and the lines."""

    def __init__(self, machine: Machine, stored: StoredBackward, node: int) -> None:
        self._machine, self._stored, self._node = machine, stored, node
        self._data = bytearray()
        self._lines: list[str] = []
        self._known: set[int] = set()

    def write(self, calls: Sequence[Dispatch], title: str, data: str, torch: str) -> Extract:
        """The script of these calls."""
        self._switches()
        for number, call in enumerate(calls):
            self._call(number, call)
        for exchange in self._stored.exchanges:
            if exchange.node == self._node:
                for output, place in enumerate(exchange.passed):
                    if place is not None and place.storage in self._known:
                        self._lines.append(f'check("what goes out at {output}", {self._text(place)}, {place.digest!r})')
        safe = title.replace("\\", "/").replace('"', "'")
        head = HEAD.format(title=safe, data=data, torch=re.sub(r"[^\w.+]", "", torch))
        return Extract("\n".join([head, *self._lines, TAIL]), bytes(self._data))

    def _switches(self) -> None:
        wanted = self._stored.conditions
        self._lines.append(f"torch.set_num_threads({int(wanted.get('threads', 1))})")
        dtype = str(wanted.get("default_dtype", "float32"))
        self._lines.append(f"torch.set_default_dtype(torch.{_word(dtype)})")
        if wanted.get("deterministic"):
            self._lines.append("torch.use_deterministic_algorithms(True)")

    def _call(self, number: int, call: Dispatch) -> None:
        find_operator(call.operator)
        if call.arguments is None or call.keywords is None or call.results is None:
            raise NotRepeatableError("it works on tensors that are no plain memory (sparse, wrapped)")
        for place in places(call.arguments, tuple(call.keywords.values())):
            self._memory(place.storage, place.type.device)
        if call.generator is not None:
            self._memory(call.generator, "cpu")
            state = f"torch.tensor(memory_{call.generator}.tolist(), dtype=torch.uint8)"
            self._lines.append(f"torch.set_rng_state({state})")
        given = [self._text(value) for value in call.arguments]
        given += [f"{_word(name)}={self._text(value)}" for name, value in call.keywords.items()]
        self._lines.append(f"result_{number} = torch.ops.{NAME.fullmatch(call.operator) and call.operator}(")
        self._lines += [f"    {text}," for text in given]
        self._lines.append(")")
        self._results(f"result_{number}", call.results, call.operator)

    def _memory(self, number: int, device: str) -> None:
        if number not in self._known:
            self._known.add(number)
            data = self._machine.bytes(number, device)
            start = len(self._data)
            self._data += data
            self._lines.append(f"memory_{number} = memory({start}, {len(data)}, {_device(device)!r})")

    def _results(self, name: str, recorded: Any, operator: str) -> None:
        if isinstance(recorded, tuple):
            for position, one in enumerate(recorded):
                self._results(f"{name}[{position}]", one, operator)
        elif isinstance(recorded, Place):
            if recorded.storage not in self._known:
                self._known.add(recorded.storage)
                self._lines.append(f"memory_{recorded.storage} = {name}.untyped_storage()")
            if recorded.digest is not None:
                self._lines.append(f'check("{operator}", {name}, {recorded.digest!r})')

    def _text(self, value: Any) -> str:
        if isinstance(value, Place):
            kind = value.type
            bits = "".join(f", {bit}=True" for bit, on in (("conj", value.conj), ("neg", value.neg)) if on)
            lies = f"{value.offset}, {kind.shape!r}, {value.strides!r}{bits}"
            return f"tensor(memory_{value.storage}, torch.{_word(kind.dtype)}, {lies})"
        if isinstance(value, Zeros):
            kind = value.type
            return f"torch._efficientzerotensor({kind.shape!r}, dtype=torch.{_word(kind.dtype)})"
        if isinstance(value, Constant):
            return _constant(value)
        if isinstance(value, tuple):
            return f"[{', '.join(self._text(one) for one in value)}]"
        return f"float({str(value)!r})" if isinstance(value, float) else repr(value)


def _constant(value: Constant) -> str:
    if value.kind == "device":
        return f"torch.device({_device(value.text)!r})"
    return "torch.default_generator" if value.kind == "generator" else f"torch.{_word(value.text)}"


def _word(text: str) -> str:
    if WORD.fullmatch(text) is None or keyword.iskeyword(text):
        raise NotRepeatableError("the recording holds a name that is none")
    return text


def _device(text: str) -> str:
    if DEVICE.fullmatch(text) is None:
        raise NotRepeatableError("the recording holds a device that is none")
    return text
