"""The order in which the engine runs the nodes of a backward call, predicted exactly wherever torch itself fixes it.

On CPU one thread drains one ready queue, so the order is a function of the graph. Several devices have a thread each:
there only the order within dependencies is certain, and what is given is one possible order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from gradscope.engine import heap
from gradscope.engine.exec_info import ExecInfo, accepted_roots, exec_info, reach, targets_by_source
from gradscope.engine.heap import LAST_SEQ_NR, Task
from gradscope.engine.lone import lone_order
from gradscope.model.graph import Graph, OrderSource
from gradscope.model.hook import BEFORE_A_NODE, Effect

CPU = "cpu"
ON_CPU_QUEUE = (CPU, "meta", "lazy")  # should_run_in_cpu_ready_queue (engine.cpp, torch 2.13)


@dataclass(slots=True, unsafe_hash=True)  # not frozen: frozen ones take four times as long to make
class Step:
    """The engine takes a node from a queue.

    `runs` is False when the node's gradient is only captured for autograd.grad. `ready` are the nodes that this step
    makes ready, in the order they enter their queues. `tied` says that another task waiting had the same priority.
    """

    node: int
    runs: bool
    ready: tuple[int, ...] = ()
    tied: bool = False


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a backward call does: ids of nodes in the order they run, ids of those only captured, edges in use.

    `edges` holds (source id, output index) of the edges along which a gradient is asked for. `tied` are the nodes taken
    while an equal one waited. `exact` is False where torch leaves the order to chance (several device threads) or to
    what the graph does not tell: ties in a backward that is nested, or inside which others start, because the tasks of
    both lie in the same heap (`nested.orders` walks them together); and where one that raised has stopped.
    """

    order: tuple[int, ...]
    captured_only: tuple[int, ...]
    edges: frozenset[tuple[int, int]]
    tied: tuple[int, ...] = ()
    exact: bool = True


def predict(graph: Graph) -> Prediction:
    """Predict what the engine does with a graph (torch 2.13, libstdc++; verified against the engine node by node)."""
    taken = list(until_raised(graph, steps(graph)))
    info = exec_info(graph)
    order = tuple(step.node for step in taken if step.runs)
    ran = set(order)
    return Prediction(
        order,
        tuple(step.node for step in taken if not step.runs),
        frozenset(
            (edge.source, edge.output)
            for edge in graph.edges
            if edge.source in ran and info.should_execute(edge.target)
        ),
        tuple(step.node for step in taken if step.tied),
        _is_exact(graph, taken),
    )


def running_order(graph: Graph) -> tuple[int, ...]:
    """The nodes that run, in their predicted order: what `predict` says first, without the rest."""
    queues = {queue_device(device) for device in {node.device for node in graph.nodes}}
    if queues <= {CPU} and graph.backward.stopped is None:
        return _alone(graph)
    return tuple(step.node for step in until_raised(graph, steps(graph)) if step.runs)


def _alone(graph: Graph) -> tuple[int, ...]:
    """The same where one queue serves all nodes, and the call ran to its end as far as is known."""
    start, targets, dependencies, info = _begun(graph)
    priorities = [LAST_SEQ_NR if node.seq_nr is None else node.seq_nr for node in graph.nodes]
    hands_on = [into if node in info.needed else () for node, into in enumerate(targets[:-1])]
    taken = lone_order(start, [*hands_on, targets[-1]], dependencies, [*priorities, LAST_SEQ_NR], info.useful)
    return tuple(node for node in taken if node in info.needed)


def _begun(graph: Graph) -> tuple[int, list[list[int]], list[int], ExecInfo]:
    """Where the engine starts, and for each node where it hands gradients on to and how many it waits for.

    GraphRoot, if any, is numbered after the last node: torch makes one above several roots, none above a single one.
    """
    roots = accepted_roots(graph.backward)
    targets = [*targets_by_source(graph), list(roots)]
    start = roots[0] if len(roots) == 1 else len(graph.nodes)
    reached = reach([start], targets)
    dependencies = [0] * len(targets)
    for target in chain.from_iterable(map(targets.__getitem__, reached)):
        dependencies[target] += 1
    return start, targets, dependencies, exec_info(graph, reached - {len(graph.nodes)})


def steps(graph: Graph, queue: list[Task] | None = None, depth: int = 0) -> Iterator[Step]:
    """Walk a backward call as Engine::thread_main and evaluate_function do (engine.cpp, torch 2.13).

    `queue` is the CPU ready queue; one that is passed in can be looked at between steps (`heap.waiting`). When a step
    is yielded, its node is just running: what it makes ready is pushed when the iteration goes on. So a re-entrant
    backward is walked in between, with the same queue and a depth one higher, and shares the heap as it does in torch.
    """
    run = _Run.begin(graph, [] if queue is None else queue, depth)
    while run.outstanding:
        task, tied = run.take()
        ready = run.hand_on(task.node)
        if task.node != run.graph_root and run.info.should_execute(task.node):
            yield Step(task.node, task.node in run.info.needed, ready, tied)
        for node in ready:
            run.enqueue(node)


def until_raised(graph: Graph, taken: Iterable[Step]) -> Iterator[Step]:
    """The steps of a backward up to the one in which it raised, where that is known."""
    stopped = graph.backward.stopped
    for step in taken:
        if step.node != stopped or begins(graph, stopped):
            yield step
        if step.node == stopped:
            return


def begins(graph: Graph, stopped: int) -> bool:
    """Whether the node in which a backward raised began to run: else a hook before it raised."""
    raised = [firing for firing in graph.firings if firing.effect is Effect.RAISED and firing.node == stopped]
    return not any(firing.hook.kind in BEFORE_A_NODE for firing in raised)


@dataclass(slots=True)
class _Run:
    """The engine's bookkeeping for one call (torch's GraphTask). GraphRoot, if any, is numbered after the last node."""

    graph: Graph
    depth: int
    info: ExecInfo
    targets: list[list[int]]
    dependencies: list[int]
    queues: dict[str, list[Task]]
    current: str = CPU
    outstanding: int = 0

    @classmethod
    def begin(cls, graph: Graph, cpu_queue: list[Task], depth: int) -> _Run:
        start, targets, dependencies, info = _begun(graph)
        run = cls(graph, depth, info, targets, dependencies, {CPU: cpu_queue})
        run.enqueue(start)
        return run

    @property
    def graph_root(self) -> int:
        """Its number."""
        return len(self.graph.nodes)

    def enqueue(self, node: int) -> None:
        """Put a ready node into the queue of its device."""
        device, seq_nr = CPU, None
        if node != self.graph_root:
            ready = self.graph.nodes[node]
            device, seq_nr = queue_device(ready.device), ready.seq_nr
        task = Task(node, LAST_SEQ_NR if seq_nr is None else seq_nr, self.depth)
        heap.push(self.queues.setdefault(device, []), task)
        self.outstanding += 1

    def take(self) -> tuple[Task, bool]:
        """Take the next task of this call and whether it was tied; a device keeps its turn while it has work."""
        if not self._has_work(self.current):
            self.current = next(device for device in self.queues if self._has_work(device))
        queue = self.queues[self.current]
        task = heap.pop(queue)
        self.outstanding -= 1
        return task, bool(queue) and heap.same_priority(task, queue[0])

    def hand_on(self, node: int) -> tuple[int, ...]:
        """Send the gradients of a node on; answer with the nodes that now have all of theirs."""
        ready = []
        if node == self.graph_root or node in self.info.needed:
            for target in self.targets[node]:
                self.dependencies[target] -= 1
                if self.dependencies[target] == 0 and self.info.should_execute(target):
                    ready.append(target)
        return tuple(ready)

    def _has_work(self, device: str) -> bool:
        # Deeper tasks go first: a top of lesser depth belongs to the backward that this one is nested in.
        queue = self.queues[device]
        return bool(queue) and queue[0].depth == self.depth


def queue_device(device: str) -> str:
    """The device whose ready queue serves a node's device."""
    return CPU if device == CPU or device.partition(":")[0] in ON_CPU_QUEUE else device


def _is_exact(graph: Graph, taken: list[Step]) -> bool:
    devices = {queue_device(graph.nodes[step.node].device) for step in taken}
    if taken and len(graph.backward.roots) > 1:
        devices.add(CPU)  # GraphRoot runs there and feeds the other device's queue while that is being drained
    call = graph.backward
    shared = call.nested_in is not None or call.nests  # a heap, with the tasks of another backward
    known = call.exception is None or call.stopped is not None or call.order_source is OrderSource.MEASURED
    return known and len(devices) <= 1 and not (shared and any(step.tied for step in taken))
