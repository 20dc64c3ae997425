"""What the compiler did to the user's code on its way to a joint graph: duplicates, writes, views, new operators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import fx

from gradscope.compilers.describe import Describer, operator_name, source_name
from gradscope.model.joint import Fact, Half, JointNode

DUPLICATE, MUTATION, ALIAS, FUNCTIONALIZED, BREAK = (
    "duplicated input",
    "written input",
    "view as output",
    "functionalized",
    "graph break",
)


def duplicates(context: Any, sources: list[str]) -> list[Fact]:
    """Inputs that were one tensor when the region was compiled: Dynamo passes it once, and guards on it."""
    if context is None:
        return []
    guards = context.guards_context
    pairs = [
        (source_name(guard.originating_source), source_name(guard.create_fn.keywords["source_b"]))
        for guard in guards.dynamo_guards
        if getattr(getattr(guard.create_fn, "func", None), "__name__", "") == "DUPLICATE_INPUT"
    ]
    pairs += [
        (source_name(guard.input_source_a), source_name(guard.input_source_b))
        for guard in guards.aotautograd_guards
        if hasattr(guard, "input_source_a")
    ]
    distinct = sorted({tuple(sorted(pair)) for pair in pairs if set(pair) & set(sources)})
    return [Fact(DUPLICATE, f"{one} and {other} are the same tensor: it is passed once") for one, other in distinct]


def mutations(metadata: Any, sources: list[str], writes: dict[str, JointNode]) -> list[Fact]:
    """Inputs that the region writes into, and what becomes of the write."""
    found = []
    for place, one in enumerate(metadata.input_info):
        if not (one.mutates_data or one.mutates_metadata) or place >= len(sources):
            continue
        name = sources[place]
        inside = one.mutation_type.name == "MUTATED_IN_GRAPH"
        how = (
            "copied back inside the graph" if inside else "returned as one more output and copied back after the graph"
        )
        what = "its new value is" if one.mutates_data else "its new sizes are"
        written = writes.get(f"new value of {name}")
        found.append(Fact(MUTATION, f"{name} is written in place: {what} {how}", written.stack if written else ()))
    return found


def aliases(metadata: Any, sources: list[str]) -> list[Fact]:
    """Outputs that share memory: they are made again from their base after the graph."""
    found = []
    for place, one in enumerate(metadata.output_info):
        kind, base = one.output_type.name, one.base_idx
        name = sources[base] if isinstance(base, int) and base < len(sources) else f"input {base}"
        if kind == "alias_of_input":
            found.append(Fact(ALIAS, f"output {place} is a view of {name}: it is taken from {name} after the graph"))
        elif kind == "is_input":
            found.append(Fact(ALIAS, f"output {place} is {name} itself"))
        elif kind.startswith("alias_of_intermediate"):
            found.append(Fact(ALIAS, f"output {place} is a view of a value inside: it is taken after the graph"))
    return found


def functionalized(nodes: Iterable[fx.Node], described: Describer) -> list[Fact]:
    """In-place operators of the user's that became out-of-place ones, each line once."""
    found: dict[tuple[Any, str], Fact] = {}
    for node in nodes:
        written = _written_as(node)
        if written and node.name in described.number and not operator_name(node).partition(".")[2].startswith(written):
            one = described.nodes[described.number[node.name]]
            if one.phase is Half.FORWARD:
                fact = Fact(FUNCTIONALIZED, f"{written} became {one.op}", one.stack)
                found.setdefault((fact.site, fact.text), fact)
    return list(found.values())


def _written_as(node: fx.Node) -> str:
    """The name of the in-place method that the user called, or nothing."""
    stack = node.meta.get("source_fn_stack") or ()
    name = stack[-1][1] if stack else ""
    name = name if isinstance(name, str) else getattr(name, "__name__", "")
    return name if name.endswith("_") and not name.endswith("__") else ""
