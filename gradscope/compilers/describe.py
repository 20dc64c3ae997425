"""A joint graph of torch.fx as the model's nodes: phases, lines, modules, storages, and gradient additions by name.

The surprise: torch numbers a gradient addition like the last forward node, so its line comes from the gradients that
it adds: they belong to forward nodes that use one and the same value, and that is the one it adds gradients of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from torch import SymInt, Tensor, fx

from gradscope.compilers.lines import Whose, stack_of
from gradscope.model.joint import Half, JointNode
from gradscope.model.tensor import TensorType
from gradscope.torch_internals.dynamo import is_operator

_KEY = re.compile(r"\._(?:modules|parameters|buffers)\['([^']*)'\]")


class Describer:
    """Describes the nodes of one region; `nodes` grows when a partition has nodes that the joint graph has not."""

    def __init__(self, graph: fx.Graph, labels: dict[str, str], whose: Whose) -> None:
        self.nodes: list[JointNode] = []
        self.number: dict[str, int] = {}
        self._labels, self._whose = labels, whose
        self._storages: dict[int, int] = {}
        self._created: dict[int, int] = {}  # by sequence number: the forward node that took it
        backward = (one for one in graph.nodes if one.meta.get("autograd_backward") and not _adds_gradients(one))
        self._differentiated = {one.meta.get("seq_nr") for one in backward}
        for node in graph.nodes:
            if node.op != "output":
                self.add(node, None)

    def add(self, node: fx.Node, phase: Half | None) -> int:
        """The number of a node, which is described when it is new; `phase` None: as the graph says."""
        known = self.number.get(node.name)
        if known is not None:
            return known
        inputs = tuple(self.number[one.name] for one in node.all_input_nodes if one.name in self.number)
        made = self._described(node, inputs, phase or self._phase(node, inputs))
        if made.seq_nr is not None and made.phase is Half.FORWARD:
            self._created.setdefault(made.seq_nr, made.id)
        if _adds_gradients(node):
            made = self._named_addition(made)
        if not made.is_input and made.site is None:
            made = self._with_a_line(made)
        self.nodes.append(made)
        self.number[node.name] = made.id
        return made.id

    def _described(self, node: fx.Node, inputs: tuple[int, ...], phase: Half) -> JointNode:
        kind, size, storage = self._memory(node.meta.get("val"))
        seq_nr = node.meta.get("seq_nr")
        traced = phase is Half.BACKWARD and not node.meta.get("autograd_backward")  # a custom Function's own backward
        return JointNode(
            len(self.nodes),
            node.name,
            "input" if node.op == "placeholder" else operator_name(node),
            phase,
            kind,
            size,
            storage,
            stack_of(node.meta.get("stack_trace"), self._whose),
            seq_nr if isinstance(seq_nr, int) and seq_nr >= 0 and not traced else None,
            inputs,
            _module(node),
            self._labels.get(node.name, ""),
        )

    def _phase(self, node: fx.Node, inputs: tuple[int, ...]) -> Half:
        tag = node.meta.get("partitioner_tag")
        if tag in ("is_backward", "must_be_in_backward") or node.name.startswith("tangents"):
            return Half.BACKWARD
        depends = any(self.nodes[one].phase is Half.BACKWARD for one in inputs)
        return Half.BACKWARD if tag is None and depends else Half.FORWARD

    def _memory(self, value: Any) -> tuple[TensorType | None, int, int]:
        """Type, bytes of the whole storage, and the storage's number; sizes that are symbols count as torch's hint."""
        if not isinstance(value, Tensor):
            return None, 0, -1
        shape = tuple(-1 if isinstance(size, SymInt) else int(size) for size in value.shape)
        kind = TensorType(shape, str(value.dtype).removeprefix("torch."), str(value.device))
        storage = value.untyped_storage()
        number = self._storages.setdefault(storage._cdata, len(self._storages))
        return kind, hinted(storage.nbytes()), number

    def _named_addition(self, addition: JointNode) -> JointNode:
        """The addition with the value whose gradients it adds, and the line where that was made."""
        outputs = self._outputs(addition.inputs)
        uses = sorted({*self._uses(addition.inputs), *outputs})
        if not uses:
            return addition
        reached = [self._reached(use, use in outputs) for use in uses]
        shared = set.intersection(*(set(each) for each in reached))
        alike = [one for one in shared if self.nodes[one].type == addition.type]
        of = max(alike or shared, default=None)  # the nearest
        if of is not None:
            uses = sorted({each[of] for each in reached})
        stack = self.nodes[uses[-1]].stack if of is None else self.nodes[of].stack or self.nodes[uses[-1]].stack
        return replace(addition, addition_of=of, uses=tuple(uses), stack=stack, seq_nr=None)

    def _reached(self, use: int, given: bool) -> dict[int, int]:
        """The values that get a node's gradient as it is, and what used each: its inputs, and theirs when they are
        sums or the like, which pass a gradient on without an operator of their own. `given`: the gradient comes from
        outside, so that the node itself gets it, too.
        """
        found: dict[int, int] = {use: use} if given else {}
        waiting = [] if given and self.nodes[use].seq_nr in self._differentiated else [use]
        while waiting:
            user = waiting.pop()
            for one in self.nodes[user].inputs:
                if one not in found:
                    found[one] = user
                    if not self.nodes[one].is_input and self.nodes[one].seq_nr not in self._differentiated:
                        waiting.append(one)
        return found

    def _uses(self, gradients: Iterable[int]) -> list[int]:
        """The forward nodes that gradients come from, through additions of additions."""
        found: list[int] = []
        for gradient in gradients:
            node = self.nodes[gradient]
            if node.uses:
                found.extend(node.uses)
            elif node.seq_nr in self._created:
                found.append(self._created[node.seq_nr])
            else:
                found.extend(self._called_at(node))
        return found

    def _outputs(self, gradients: Iterable[int]) -> set[int]:
        """The results whose gradients, given from outside, are among these."""
        labels = {self.nodes[one].label for one in gradients if self.nodes[one].is_input}
        return {one.id for one in self.nodes if one.label and f"gradient of {one.label}" in labels}

    def _called_at(self, gradient: JointNode) -> list[int]:
        """The first forward node of the custom Function's call that a node of its backward belongs to."""
        calls = (node for node in self.nodes if node.phase is Half.FORWARD and node.stack and gradient.stack)
        return [node.id for node in calls if node.stack[-1] == gradient.stack[-1]][:1]

    def _with_a_line(self, node: JointNode) -> JointNode:
        """A node that torch gives no line has its forward node's, else that of what it is computed from."""
        forward = None if node.seq_nr is None else self._created.get(node.seq_nr)
        candidates = [*([] if forward is None else [forward]), *reversed(node.inputs)]
        stack = next((self.nodes[one].stack for one in candidates if self.nodes[one].site), node.stack)
        return replace(node, stack=stack)


def operator_name(node: fx.Node) -> str:
    """`aten.mm.default`, or a function's own name."""
    target: Any = node.target
    return str(target) if is_operator(target) else getattr(target, "__name__", str(target))


def hinted(size: Any) -> int:
    """A size as a number; of one that is a symbol, the value that it had when it was traced."""
    if isinstance(size, SymInt):
        hint = size.node.hint
        return int(hint) if hint is not None else 0
    return int(size)


def source_name(source: Any) -> str:
    """`self.layer.weight` from Dynamo's words for where a value comes from."""
    name = getattr(source, "name", None)
    text = str(name() if callable(name) else name or "")
    text = _KEY.sub(r".\1", text)
    return re.sub(r"^[LG]\['([^']*)'\]", r"\1", text)


def labels_of(graph: fx.Graph, sources: list[str]) -> dict[str, str]:
    """What the inputs and results of a joint graph are to the user, by node name."""
    labels: dict[str, str] = {}
    arguments = [node for node in graph.find_nodes(op="placeholder") if not node.name.startswith("tangents")]
    for node, name in zip(arguments, sources, strict=False):
        labels[node.name] = name
    for node in graph.find_nodes(op="placeholder"):
        output = getattr(node.meta.get("desc"), "output", None)
        if node.name.startswith("tangents"):
            labels[node.name] = f"gradient of {_described_result(output, sources)}"
    for node, meaning in _results(graph):
        labels.setdefault(node.name, _described_result(meaning, sources))
    return labels


def _results(graph: fx.Graph) -> Iterable[tuple[fx.Node, Any]]:
    output = next(iter(graph.find_nodes(op="output")))
    values: Any = output.args[0]
    for node, meaning in zip(values, output.meta.get("desc") or (), strict=False):
        if isinstance(node, fx.Node) and meaning is not None:
            yield node, meaning


def _described_result(meaning: Any, sources: list[str]) -> str:
    """`output 0`, `gradient of x`, `new value of b`."""
    words: dict[str, Callable[[Any], str]] = {
        "PlainAOTOutput": lambda one: f"output {one.idx}",
        "GradAOTOutput": lambda one: f"gradient of {_argument(one.grad_of, sources)}",
        "InputMutationAOTOutput": lambda one: f"new value of {_argument(one.mutated_input, sources)}",
        "IntermediateBaseAOTOutput": lambda one: f"what {_described_result(one.base_of, sources)} is a view of",
    }
    return words.get(type(meaning).__name__, lambda one: "an output")(meaning)


def _argument(meaning: Any, sources: list[str]) -> str:
    place = getattr(meaning, "idx", None)
    return sources[place] if isinstance(place, int) and place < len(sources) else "an input"


def _module(node: fx.Node) -> str:
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    return re.sub(r"^[LG]\['([^']*)'\]", r"\1", list(stack.values())[-1][0]) if stack else ""


def _adds_gradients(node: fx.Node) -> bool:
    return bool(node.meta.get("is_gradient_acc")) or "Gradient addition node" in (node.meta.get("stack_trace") or "")
