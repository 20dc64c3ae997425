"""What stands above a picture: which backward call of which run, and what it was."""

from __future__ import annotations

from gradscope.model.graph import Graph, OrderSource
from gradscope.model.run import Run
from gradscope.view.scene import Scene
from gradscope.view.words import amount, first_line, place, seconds, short_name, size


def title(scene: Scene) -> str:
    """`train.py, backward 3: 1,650 nodes, 1,794 edges, saves 7.8 MB`."""
    return title_of(scene.graph, scene.run)


def title_of(graph: Graph, run: Run) -> str:
    """The title of a graph and its run."""
    kept = {tensor.storage: tensor.bytes for node in graph.nodes for tensor in node.saved if tensor.leaf is None}
    saved = sum(kept.values())
    counts = [amount(len(graph.nodes), "node"), amount(len(graph.edges), "edge")]
    if saved:
        counts.append(f"saves {size(saved)}")
    return f"{program(run)}, backward {graph.backward.number}: {', '.join(counts)}"


def subtitles(scene: Scene) -> tuple[str, ...]:
    """`grad(create_graph) called at train.py:31, took 12 ms; #n: ... (measured)`, then what it raised."""
    backward = scene.graph.backward
    kept = backward.keep_graph and not backward.create_graph
    flags = [name for name, on in (("create_graph", backward.create_graph), ("retain_graph", kept)) if on]
    words = f"{backward.kind}({', '.join(flags)})"
    if backward.site is not None:
        words += f" called at {place(backward.site, scene.run.cwd)}"
    if backward.duration is not None:
        words += f", took {seconds(backward.duration)}"
    words += f"; #n: place in backward order ({_source(scene.graph)})"
    return (words,) if backward.exception is None else (words, f"raised {first_line(backward.exception)}{_stop(scene)}")


def program(run: Run) -> str:
    """The program's name as its user knows it."""
    return run.program.replace("\\", "/").rpartition("/")[2] or "a program"


def _stop(scene: Scene) -> str:
    """Where a backward stopped; places that rest on a guess are said to."""
    backward = scene.graph.backward
    if backward.stopped is not None:
        node = scene.graph.nodes[backward.stopped]
        return f"; stopped in {short_name(node)} [{node.id}]"
    measured = backward.order_source is OrderSource.MEASURED
    return "" if measured else "; where it stopped is not known: places are those of a run to its end"


def _source(graph: Graph) -> str:
    return "measured" if graph.backward.order_source is OrderSource.MEASURED else "predicted"
