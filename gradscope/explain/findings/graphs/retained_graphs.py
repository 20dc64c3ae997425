"""GS74x: graphs that grow from step to step, or outlive the step that made them."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, pairwise

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.memory.filled_in_place import is_filled_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_lines import class_around
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.flow import Holder, Survivors
from gradscope.model.graph import Backward, Graph, Node
from gradscope.model.site import Site, Stack
from gradscope.store import asked

_CALLS = 4  # growing backward calls from one line, at least
_ON_CTX, _ATTRIBUTE = "context", "attribute"
_STEPS = 3  # steps whose nodes still live, at least
_RESTS = 2  # .backward() calls for which the program may still hold its last results
_LONG = 32  # steps that nodes live, where it began late
_ROW = 10  # steps in a row of which one line left nodes, where they are let go at last, as at the end of an epoch
_PILE = 5  # or that many, where those of other steps had been let go before
_ADDING = ("append", "appendleft", "add", "extend", "insert", "setdefault", "update", "put")
_CONTAINERS = ("list", "dict", "set", "deque", "tuple", "defaultdict", "OrderedDict")


def grows(case: Case) -> Iterator[Cause]:
    """What it flags:
        A backward call whose graph grows from step to step, because a tensor of the step before goes into the next.
    Why:
        A tensor that is carried over brings its whole history along: an accumulated loss, a hidden state, a moving
        average. Each backward walks through all steps so far; retain_graph=True only silences the error that would
        say so. Time and memory grow until they run out.
    Wrong:
        total = total + loss
        total.backward(retain_graph=True)
    Right:
        loss.backward()
        total = total + loss.detach()
    Do instead:
        Detach what is carried over to the next step, and drop the retain_graph.
    How it is found:
        The backward calls of one line reached more nodes each time, some of them made before the previous call. The
        line is the one whose node joins the new graph to the old one.
    """
    sizes = case.graph_sizes()
    for calls in _lines(case).values():
        if _keeps_growing([sizes[call.number] for call in calls]):
            joined = _joint(case.graph(calls[-2].number), case.graph(calls[-1].number))
            if joined is not None:
                yield _growing(case, calls, *joined)


@asked.kept
def _lines(case: Case) -> dict[Stack, list[Backward]]:
    """The .backward() calls that reached a graph, by the stack that called them."""
    sizes = case.graph_sizes()
    found: dict[Stack, list[Backward]] = defaultdict(list)
    for call in case.backwards():
        plain = call.kind == "backward" and call.nested_in is None and call.exception is None
        if plain and not call.create_graph and call.number in sizes:
            found[call.stack].append(call)
    return found


def _keeps_growing(sizes: Sequence[int]) -> bool:
    """Never smaller, and larger in each of the last calls."""
    last = sizes[-_CALLS:]
    growing = len(last) == _CALLS and all(a < b for a, b in pairwise(last))
    return growing and all(a <= b for a, b in pairwise(sizes))


def _joint(before: Graph, after: Graph) -> tuple[Node, Node] | None:
    """The last node of a graph with an edge into the graph of the step before, and the node that it leads to."""
    newest = max((node.seq_nr for node in before.nodes if node.seq_nr is not None), default=-1)
    found = [
        (source, target)
        for source, target in ((after.nodes[edge.source], after.nodes[edge.target]) for edge in after.edges)
        if source.seq_nr is not None and target.seq_nr is not None and target.seq_nr <= newest < source.seq_nr
    ]
    return max(found, key=lambda pair: pair[0].seq_nr or 0, default=None)


def _growing(case: Case, calls: list[Backward], new: Node, old: Node) -> Cause:
    first, last = case.graph_sizes()[calls[0].number], case.graph_sizes()[calls[-1].number]
    message = f"the graph of this backward grows with every step, from {first} nodes to {last} in {len(calls)} calls: "
    message += f"{new.name} joins it to what an earlier step computed"
    related = [Related("fails_at", calls[-1].site, "the backward that takes longer each time")]
    if old.site != new.site:
        related.insert(0, Related("retained_at", old.site, f"{old.name} of the step before"))
    module = new.module.path if new.module else None
    return Cause(message, new.site, tuple(related), node=new.id, op=new.op, module=module, backward=calls[-1].number)


def kept(case: Case) -> Iterator[Cause]:
    """What it flags:
        Results that are kept with their graph after their step: in a sum for the log, a list, a dict, by a hook.
    Why:
        A tensor with a grad_fn holds the graph that made it, and the graph the activations that it saved. Memory
        grows with every step, though nobody will ever call backward on it.
    Wrong:
        total += loss
        history.append(output)
    Right:
        total += loss.item()
        history.append(output.detach())
    Do instead:
        Keep the number (.item()) or the detached tensor.
    How it is found:
        Nodes of several steps were still alive long after the step that made them, those of two or more from one line;
        or, where they are let go in the end, as by a sum that begins anew in each epoch, those of ten steps or more
        from one line, all at once, or of five at two times apart, and no backward came back to them. What holds their
        tensors was looked up among the live objects, and its line in the source. Where several threads call backward
        and nothing is found to hold them, nothing is said.
    """
    if any(True for _ in grows(case)) or any(True for _ in cycles(case)) or any(True for _ in on_ctx(case)):
        return
    alive = growing_survivors(case)
    if not alive or _reaches_them(case, alive):
        return
    holder = max((one for one in case.holders() if one.name), key=lambda one: (one.count, one.name), default=None)
    if holder is None and len({call.thread for call in case.backwards()}) > 1:
        return  # a leaf that threads share keeps its node while any of them runs
    line, what = (None, "") if holder is None else (_holding_line(case, holder), _named(holder))
    top, made = _tops(alive)[0], None if holder is None else holder.site
    site = line or made or top.site
    steps, count = len({one.made for one in alive}), sum(one.count for one in alive)
    message = f"graphs outlive their step: {count} nodes of {steps} earlier steps were still alive at step {top.step}"
    message += f", held by {what}" if what else ""
    last = Related("retained_at", made or top.site, "the last operation that is kept")
    name = None if holder is None else holder.name
    yield Cause(message, site, (last,) if last.site != site else (), certain=holder is not None, tensor=name)


def _compiling(one: Survivors) -> bool:
    """Whether a compiler made the nodes while tracing: it keeps what it needs for as long as its code lives."""
    files = ("/torch/_dynamo/convert_frame", "/torch/_functorch/_aot_autograd/")
    return any(file in site.file for site in one.stack for file in files)


def growing_survivors(case: Case) -> list[Survivors]:
    """The nodes alive at a look, provided that they come from enough earlier steps: at the last one, or at the one that
    found most, where one line left nodes in a whole row of steps. A sum that begins anew in each epoch lets go of them.
    """
    looks: dict[int, list[Survivors]] = defaultdict(list)
    for one in case.survivors():
        looks[one.step].append(one)
    ends = sorted(call.step for call in case.backwards() if call.kind == "backward" and call.nested_in is None)
    found = {step: [one for one in looks[step] if not _compiling(one) and _is_over(one, ends)] for step in looks}
    last = max(found, default=None)
    if last is None or _is_leak(found[last], last, ends):
        return found[last] if last is not None else []
    most = max(found.values(), key=lambda alive: len({one.made for one in alive}))
    return most if _left_by_one_line(most) >= _ROW or _pile_up_again(found.values()) else []


def _pile_up_again(looks: Iterable[list[Survivors]]) -> bool:
    """Whether one line leaves the nodes of several steps, lets go of them, and then those of others: a short epoch."""
    piles = defaultdict[Site | None, list[set[int]]](list)
    for alive in looks:
        tops = _tops(alive)
        if _left_by_one_line(alive) >= _PILE:
            piles[tops[0].site].append({one.made for one in tops if one.site == tops[0].site})
    return any(not one & other for each in piles.values() for one, other in combinations(each, 2))


def _is_leak(alive: list[Survivors], look: int, ends: list[int]) -> bool:
    """Whether the nodes of a look come from enough steps, the first of them long ago."""
    graphs = {bisect_left(ends, one.made) if ends else one.made for one in alive}  # by the .backward() that ends each
    if len(graphs) < _STEPS or _left_by_one_line(alive) < 2:
        return False  # each name holds its last result, where a phase had several
    first = min(one.made for one in alive)
    return first <= look // 2 or look - first >= _LONG


def _left_by_one_line(alive: list[Survivors]) -> int:
    """In how many steps one line left nodes, at most."""
    return max(Counter(one.site for one in _tops(alive)).values(), default=0)


def _is_over(one: Survivors, ends: list[int]) -> bool:
    """Whether two .backward() calls have ended since: derivatives in between are parts of a graph that is being built.

    True where the program makes none.
    """
    return not ends or bisect_right(ends, one.step) - bisect_right(ends, one.made) >= _RESTS


def _tops(alive: list[Survivors]) -> list[Survivors]:
    """The last node made in each step: whatever holds it holds the others."""
    by_step: dict[int, Survivors] = {}
    for one in alive:
        if one.site is not None and (one.made not in by_step or one.youngest > by_step[one.made].youngest):
            by_step[one.made] = one
    common = Counter(one.site for one in by_step.values())
    return sorted(by_step.values(), key=lambda one: (-common[one.site], one.made))


def _reaches_them(case: Case, alive: list[Survivors]) -> bool:
    """Whether a later backward walked through old nodes: an unrolled loop keeps them on purpose."""
    steps = {one.made for one in alive}
    calls = [call for call in case.backwards() if call.nested_in is None and call.number in case.graph_sizes()]
    if not calls:
        return False
    old, look = [call for call in calls if call.step in steps], max(one.step for one in alive)
    if not old:
        return False
    newest = max((node.seq_nr for node in case.graph(old[-1].number).nodes if node.seq_nr is not None), default=-1)
    later = [call for call in calls if call.step >= look] or calls[-1:]
    return any(_reaches_back(case.graph(call.number), newest) for call in later if call.step not in steps)


def _reaches_back(graph: Graph, newest: int) -> bool:
    return any(node.seq_nr is not None and node.seq_nr <= newest for node in graph.nodes)


def _named(one: Holder) -> str:
    return f"the {one.kind} `{one.name}`" + (f" of {one.owner}" if one.owner not in ("", "__main__") else "")


def _holding_line(case: Case, one: Holder) -> Site | None:
    """The line that puts tensors into a container or an attribute; what a variable holds is made on its own line.

    What is added to in place is put there by no other line than that.
    Of several the one that made what is held counts before those of the holder's class, and what __init__ begins last.
    """
    if one.kind not in (*_CONTAINERS, _ATTRIBUTE):
        return None
    if one.site is not None and is_filled_at(case, one.site):
        return one.site
    wanted = _putting_into(one.name) if one.kind in _CONTAINERS else _setting(one.name)
    made = None if one.site is None else (one.site.file, one.site.line)

    def doubt(site: Site) -> tuple[bool, ...]:
        begins = site.function.rpartition(".")[2] == "__init__"
        owner = class_around(case, site)
        return (site.file, site.line) != made, (owner.name if owner is not None else None) != one.owner, begins

    return min(syntax(case).everywhere(wanted), key=doubt, default=None)


def _putting_into(name: str) -> Callable[[ast.AST], bool]:
    return lambda node: _puts_into(node, name)


def _puts_into(node: ast.AST, name: str) -> bool:
    """`name.append(...)`, `name[...] = ...`, `name += ...`, also where name is an attribute."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING:
        return _container(node.func.value) == name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return any(
        _container(target.value if isinstance(target, ast.Subscript) else target) == name
        for target in targets
        if isinstance(target, ast.Subscript) or isinstance(node, ast.AugAssign)
    )


def _container(node: ast.AST) -> str:
    """The name of what is indexed, however often: `kept` of `self.kept[0]["x"]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return last_name(node)


def cycles(case: Case) -> Iterator[Cause]:
    """What it flags:
        backward(create_graph=True) whose graphs are never freed.
    Why:
        It stores gradients with a graph in .grad, and their graph holds the leaf: a cycle through C++ that Python's
        collector cannot see. Unless .grad is set to None, leaf, gradient and graph live for ever.
    Wrong:
        loss.backward(create_graph=True)
        penalty = sum(p.grad.square().sum() for p in model.parameters())
    Right:
        gradients = torch.autograd.grad(loss, model.parameters(), create_graph=True)
        penalty = sum(g.square().sum() for g in gradients)
    Do instead:
        Use torch.autograd.grad, which returns the gradients, or set every .grad to None after the step.
    How it is found:
        Nodes that such a backward made were still alive several steps later.
    """
    alive = growing_survivors(case)
    for call in case.backwards():
        if call.kind == "backward" and call.create_graph and any(one.site == call.site for one in alive):
            steps = len({one.made for one in alive})
            message = f"backward(create_graph=True) leaves a graph in .grad: those of {steps} earlier steps still lived"
            yield Cause(message, call.site, backward=call.number)
            return


def on_ctx(case: Case) -> Iterator[Cause]:
    """What it flags:
        A custom Function that stores its output, or what was made of it, as an attribute of ctx.
    Why:
        The output holds its node, and ctx is that node: a cycle, which only a full run of Python's collector frees, and
        that may come late or, with gc off, never. Until then every call leaks its graph. save_for_backward makes no
        cycle, and checks versions as well.
    Wrong:
        ctx.out = out
    Right:
        ctx.save_for_backward(out)
    Do instead:
        Store tensors with ctx.save_for_backward and read them from ctx.saved_tensors.
    How it is found:
        An attribute of a custom Function's node leads back to the node, which was still alive two steps later.
    """
    for one in [one for one in case.holders() if one.kind == _ON_CTX][:1]:
        lines = list(syntax(case).everywhere(_setting(one.name)))
        message = f"{one.owner.removesuffix('Backward')} stores its output as ctx.{one.name}: output and node hold each"
        message += " other, and the graph of every call stays alive until a full garbage collection"
        yield Cause(message, next(iter(lines), one.site), tensor=one.name)


def _setting(name: str) -> Callable[[ast.AST], bool]:
    return lambda node: _sets(node, name)


def _sets(node: ast.AST, name: str) -> bool:
    """`ctx.name = ...`, also in a tuple; not where a constant stands, with which an attribute begins."""
    if not isinstance(node, ast.Assign) or isinstance(node.value, ast.Constant):
        return False
    targets = [one for target in node.targets for one in getattr(target, "elts", [target])]
    return any(isinstance(one, ast.Attribute) and one.attr == name for one in targets)
