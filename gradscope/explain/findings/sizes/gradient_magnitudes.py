"""GS734, GS735, GS736: gradients that are finite, and too small, too large or zero."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.cancelled_gradients import cancelled_gradients
from gradscope.explain.deductions.gradients.zero_factors import behind_zero_factors
from gradscope.explain.deductions.lines.graph_cuts import Reason, first_values, reached
from gradscope.explain.deductions.lines.module_builds import chosen_at
from gradscope.explain.deductions.numbers.margins import margin_reached
from gradscope.explain.deductions.numbers.stacked_layers import layers_set_at, vanishing_layers
from gradscope.explain.deductions.numbers.weight_growth import samples_of
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related, Severity
from gradscope.model.graph import Graph, Node
from gradscope.model.site import Site
from gradscope.model.size import LeafSize

_DEAD = 0.9  # of the units
_FEW = 4  # units of which nothing is said
_SAMPLES = 3
_VANISHED = 1e-5
_UNLIKE = 0.02  # of a loss, by which those of batches differ
_FAR = 12  # nodes between a leaf and what stops its gradient
STEPS = ("Sign", "Round", "Floor", "Ceil", "Trunc")
FLAT = (
    "Clamp",
    "Hardtanh",
    "Sigmoid",
    "Tanh",
    "Softmax",
    "Hardsigmoid",
    "Hardswish",
    "ClampMin",
    "ClampMax",
    "Threshold",
)
SQUASHES = ("Sigmoid", "Tanh", "Hardsigmoid", "Softsign")
_SEVERAL = 4  # squashing operators on the way, fewer of which do not make a gradient vanish


def dead_relu(case: Case) -> Iterator[Cause]:
    """What it flags: a layer nearly all of whose ReLU units are off for every input, and stay so.

    Why: a unit whose input is negative for all data gives 0 and gets the gradient 0, so it never comes back. A large
    step, a large negative bias or data far from zero switches whole layers off.

    Wrong:
        optimizer = torch.optim.SGD(model.parameters(), lr=10.0)

    Right:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    Do instead: lower the learning rate, scale the inputs, start biases at zero, or use LeakyReLU or GELU.

    How it is found: the gradient of the bias in front of a ReLU, measured in the steps 0, 1, 2, 4, 8, ...: it is
    exactly zero for at least nine units in ten in the last two, while other parameters still get a gradient. Where none
    does any more, it is a ReLU through which every way to the loss goes: a module, or a call while the losses are not
    zero and differ, as those of a hinge that is satisfied do not.
    """
    samples = samples_of(case)
    if len(samples) < _SAMPLES or margin_reached(case) is not None:
        return  # all points are one: that is what became of the units
    last, before = samples[-1], samples[-2]
    if not any(size.gradient > 0 for size in last.values()):
        yield from _all_dead(case, samples)
        return
    said: set[Site] = set()
    for name, size in last.items():
        shares = [one[name].zero_share for one in (before, last) if name in one]
        if size.count < _FEW or len(shares) < 2 or min(shares) < _DEAD:
            continue
        found = _relu_after(case.graph(size.backward), name)
        if found is None or found.site is None or found.site in said:
            continue
        said.add(found.site)
        dead = round(size.zero_share * size.count)
        weight = samples[0].get(name.removesuffix("bias") + "weight")
        if weight is not None and weight.weight == 0:
            yield _begins_at_zero(case, weight, found.site)
            continue
        if name in behind_zero_factors(case):
            continue
        yield Cause(
            f"{dead} of {size.count} units of this ReLU were off for every input: the gradient of {name} is zero there",
            found.site,
            node=found.id,
            tensor=name,
            module=None if found.module is None else found.module.label,
            backward=size.backward,
        )


def _begins_at_zero(case: Case, weight: LeafSize, relu: Site) -> Cause:
    """A layer whose weights are all zero at first: the ReLU behind it is off for every input, and lets nothing back."""
    return Cause(
        f"{weight.leaf} begins at zero: the ReLU behind it gives 0 and the gradient 0 for every input, for ever",
        first_values(case, weight.leaf) or relu,
        (Related("called_at", relu, "the ReLU"),),
        tensor=weight.leaf,
        advice="leave torch's own random values, or take nn.init.kaiming_uniform_; zeros are for biases",
    )


def _all_dead(case: Case, samples: list[dict[str, LeafSize]]) -> Iterator[Cause]:
    """A ReLU that switches all off: every gradient was there at first, and is exactly zero in the last steps."""
    zeros = [all(size.gradient == 0 for size in one.values()) for one in samples]
    since = next((at for at in range(len(zeros)) if all(zeros[at:])), len(zeros))
    if not 0 < since <= len(samples) - 2:
        return
    size, first = next(iter(samples[-1].values())), next(iter(samples[since].values()))
    graph = case.graph(size.backward)
    leaves = [node.id for node in graph.nodes if node.accumulates]
    for node in graph.nodes:
        is_module = node.module is not None and "ReLU" in node.module.module_class
        if not node.name.startswith("ReluBackward"):
            continue
        if reached(graph, without={node.id}).isdisjoint(leaves):
            if is_module or _differs_since(case, samples, first.backward):
                yield _off_for_all(case, node, first.backward, size.backward, is_module)
            return
        if is_module:
            return


def _off_for_all(case: Case, node: Node, since: int, backward: int, certain: bool) -> Cause:
    site, called = chosen_at(case, node)
    return Cause(
        f"every gradient is exactly zero from backward {since} on, at the latest: this ReLU, through which all of the "
        "loss goes, is off for every input",
        site,
        called,
        certain=certain,
        node=node.id,
        module=node.module.label if node.module is not None else None,
        backward=backward,
    )


def _differs_since(case: Case, samples: list[dict[str, LeafSize]], first: int) -> bool:
    """Whether losses are never zero from a backward on, and differ where no gradient was measured: a hinge whose aim is
    reached is 0 then, or adds the same."""
    losses = {backward: abs(loss) for backward, loss in case.losses().items() if backward >= first}
    measured = {size.backward for sample in samples for size in sample.values()}
    off = [loss for backward, loss in losses.items() if backward in measured]
    return len(off) > 1 and min(losses.values()) > 0 and max(off) - min(off) > _UNLIKE * max(off)


def zero_gradient(case: Case) -> Iterator[Cause]:
    """What it flags: a parameter whose gradient is exactly zero in every step, behind an operator whose derivative is.

    Why: round, sign, floor and ceil have the derivative 0 everywhere, and clamp, hardtanh and a saturated sigmoid where
    their input is out of range. A gradient goes through them, and arrives as zeros.

    Wrong:
        quantized = torch.round(weight * 8) / 8

    Right:
        quantized = weight + (torch.round(weight * 8) / 8 - weight).detach()    # straight-through

    Do instead: pass the gradient straight through the step, use a smooth function in its place, or bring the values
    back into the range.

    How it is found: the gradients of all leaves, measured in the steps 0, 1, 2, 4, 8, ..., and the nodes between a
    leaf whose gradient was always zero and the loss.
    """
    samples = samples_of(case)
    if len(samples) < _SAMPLES or any(one.reason is Reason.CANCELLED_IN_SUM for one in cancelled_gradients(case)):
        return  # zeros come out of the difference already
    said: set[Site] = set()
    behind = behind_zero_factors(case)
    for name, size in samples[-1].items():
        sizes = [one[name] for one in samples if name in one]
        explained = name in behind or _unreachable(case, size)
        if len(sizes) < _SAMPLES or any(one.gradient for one in sizes) or explained:
            continue
        found = _stopper(case.graph(size.backward), name)
        site, called = (None, ()) if found is None else chosen_at(case, found)
        if found is not None and site is not None and site not in said:
            said.add(site)
            yield Cause(
                f"the gradient of {name} is exactly zero in every step: {found.name} lets none through",
                site,
                called,
                node=found.id,
                tensor=name,
                module=None if found.module is None else found.module.label,
                backward=size.backward,
                certain=found.name.startswith(STEPS),
                severity=Severity.INFO if _has_trained_siblings(samples[-1], name) else None,
            )


def _has_trained_siblings(sizes: dict[str, LeafSize], name: str) -> bool:
    """Whether the same parameter of another block gets gradients: what stops it is the place of the block, as that of
    the first one which attends to itself alone."""
    alike = re.sub(r"\.\d+\.", ".*.", name)
    return any(one.gradient and re.sub(r"\.\d+\.", ".*.", other) == alike for other, one in sizes.items())


def vanishing_gradient(case: Case) -> Iterator[Cause]:
    """What it flags: gradients that are a hundred thousand times smaller at one end of the network than at the other.

    Why: each sigmoid multiplies the gradient by at most 0.25 and each saturated tanh by almost nothing; small weights
    do the same. After ten layers of that the first ones do not learn.

    Wrong:
        layers += [nn.Linear(32, 32), nn.Sigmoid()] * 12

    Right:
        layers += [nn.Linear(32, 32), nn.ReLU()] * 12       # with Kaiming initialisation, or residual connections

    Do instead: use ReLU or GELU, normalisation, residual connections, and an initialisation that keeps the variance.

    How it is found: the root mean square of each weight's gradient, in the steps 0, 1, 2, 4, 8, ...: the smallest is
    less than a hundred-thousandth of the largest in each of them, and not zero. Or the first layer of a recurrent
    module gets less than a thousandth of what its last one gets: the line is the one that says how many there are.
    """
    yield from _through_layers(case)
    samples = [
        {
            name: size
            for name, size in one.items()
            if size.gradient > 0 and name.endswith("weight") and size.count > _FEW
        }
        for one in samples_of(case)
    ]
    if len(samples) < _SAMPLES or any(len(one) < _SAMPLES for one in samples):
        return
    ends = [
        (min(one.values(), key=lambda size: size.typical), max(one.values(), key=lambda size: size.typical))
        for one in samples
    ]
    if any(least.typical > _VANISHED * most.typical for least, most in ends):
        return
    least, most = ends[-1]
    graph = case.graph(least.backward)
    node = _squash(graph, least.leaf)
    if node is not None:
        site, called = chosen_at(case, node)
        yield Cause(
            f"the gradient of {least.leaf} is {least.typical:.1e} where that of {most.leaf} is {most.typical:.1e}, "
            f"and was so in every step measured: it vanishes on the way, through {node.name}",
            site,
            called,
            node=node.id,
            tensor=least.leaf,
            backward=least.backward,
            certain=False,
        )


def _through_layers(case: Case) -> Iterator[Cause]:
    """The gradient that is lost between the layers of one recurrent module."""
    found = vanishing_layers(case)
    if found is not None:
        owner, first, last = found
        yield Cause(
            f"the gradient of {first.leaf} is {first.typical:.1e} where that of {last.leaf} is {last.typical:.1e}, and "
            "was so in every step measured: it vanishes from layer to layer, and the first ones do not learn",
            layers_set_at(case, owner),
            tensor=first.leaf,
            backward=first.backward,
            certain=False,
            advice="take fewer layers, or residual connections and normalisation between layers of your own",
        )


def _unreachable(case: Case, size: LeafSize) -> bool:
    return all(node.leaf != size.leaf for node in case.graph(size.backward).nodes)


def _users(graph: Graph, node: int) -> list[int]:
    return [edge.source for edge in graph.edges if edge.target == node]


def _leaf_node(graph: Graph, name: str) -> Node | None:
    return next((node for node in graph.nodes if node.leaf == name and node.accumulates), None)


def _relu_after(graph: Graph, name: str) -> Node | None:
    """The ReLU right behind the layer whose bias this is; a weight's zeros may come from what goes into the layer."""
    leaf = _leaf_node(graph, name)
    for layer in _users(graph, leaf.id) if leaf is not None and _is_bias(leaf) else ():
        for user in _users(graph, layer):
            node = graph.nodes[user]
            if node.name.startswith(("ReluBackward", "ThresholdBackward")) and len(node.inputs_meta) == 1:
                return node
    return None


def _is_bias(leaf: Node) -> bool:
    """Whether a leaf has one number for each unit of its layer."""
    return any(kind is not None and len(kind.shape) == 1 for kind in leaf.inputs_meta)


def _stopper(graph: Graph, name: str) -> Node | None:
    """The nearest node towards the loss whose derivative may be zero; None when the way forks before one."""
    leaf = _leaf_node(graph, name)
    at = None if leaf is None else leaf.id
    flat: Node | None = None
    for _ in range(_FAR):
        users = set() if at is None else set(_users(graph, at))
        if len(users) != 1:
            return flat
        at = users.pop()
        node = graph.nodes[at]
        if node.name.startswith(tuple(f"{kind}Backward" for kind in STEPS)):
            return node
        if flat is None and node.name.startswith(tuple(f"{kind}Backward" for kind in FLAT)):
            flat = node
    return flat


def _squash(graph: Graph, name: str) -> Node | None:
    """A node of the line that squashes most often between a leaf and the loss, where several do."""
    leaf = _leaf_node(graph, name)
    if leaf is None:
        return None
    found: list[Node] = []
    front, seen = _users(graph, leaf.id), set()
    while front:
        at = front.pop()
        if at not in seen:
            seen.add(at)
            if graph.nodes[at].name.startswith(SQUASHES) and graph.nodes[at].site is not None:
                found.append(graph.nodes[at])
            front.extend(_users(graph, at))
    if len(found) < _SEVERAL:
        return None
    site = Counter(node.site for node in found).most_common(1)[0][0]
    return next(node for node in found if node.site == site)
