"""Watches torch.compile cut joint graphs: a region for each, described before the compiler goes on with it.

What the program compiles stays as it is: the partitioners are tried on copies, and a fault here is only noted.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

from torch import fx

from gradscope.compilers import facts
from gradscope.compilers.describe import Describer, labels_of, source_name
from gradscope.compilers.lines import Whose, region_name, site, stack_of_frames
from gradscope.compilers.partitions import PARTITIONERS, read, tried
from gradscope.compilers.reasons import in_one_sentence
from gradscope.model.joint import Fact, JointNode, Partition, Region
from gradscope.model.site import Stack
from gradscope.torch_internals.find import bound, replaced
from gradscope.torch_internals.lacks import require

_HANDED_ON = "partition_fn"
_PARTITION = "torch._functorch._aot_autograd.graph_compile._partition_joint_graph_into_fw_bw"


class RegionWatch:
    """Gathers regions and graph breaks while it is entered; `took` is called with each as it is found."""

    def __init__(
        self, took: Callable[[Region | Fact], None], fault: Callable[[Exception], None], whose: Whose, own: bool
    ) -> None:
        """`own`: describe also what the program's own compiler chose. `fault` is told what goes wrong here."""
        self._took, self._fault, self._whose, self._own = took, fault, whose, own
        self._regions = 0
        self._where: tuple[str, Stack] = ("", ())

    @contextlib.contextmanager
    def entered(self) -> Iterator[RegionWatch]:
        """Look on at torch's private parts. Raises UsageError when this torch has them elsewhere.

        A region that AOTAutograd takes from its cache has no joint graph, so that cache is not asked. Inductor's own
        is: nothing is compiled to machine code again.
        """
        require("joint", "torch.compile")
        with contextlib.ExitStack() as stack:
            stack.enter_context(replaced(_PARTITION, self._partitioning))
            stack.enter_context(replaced("torch._dynamo.output_graph.OutputGraph.compile_subgraph", self._compiling))
            for cache in ("local", "remote"):
                name = f"torch._functorch.aot_autograd.should_use_{cache}_autograd_cache"
                stack.enter_context(replaced(name, _not_asked))
            yield self

    def _compiling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def compile_subgraph(output: Any, translator: Any, reason: Any, *rest: Any, **named: Any) -> Any:
            try:
                code = output.root_tx.f_code
                where = site(code.co_filename, code.co_firstlineno, code.co_name, self._whose)
                self._where = (region_name(code.co_name), (where,))
                if reason.graph_break:
                    stack = stack_of_frames(reason.user_stack, self._whose)
                    self._took(Fact(facts.BREAK, in_one_sentence(reason.reason), stack))
            except Exception as error:
                self._fault(error)
            return original(output, translator, reason, *rest, **named)

        return compile_subgraph

    def _partitioning(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Torch hands the partitioner on as an argument from 2.13 on, and keeps it in the AOTConfig before.

        Up to 2.9 the config is one of a state's.
        """
        signature = inspect.signature(original)

        def partition(*arguments: Any, **named: Any) -> Any:
            given = signature.bind(*arguments, **named)
            values = given.arguments
            state = values.get("aot_state")
            config = values["aot_config"] if state is None else state.aot_config
            metadata = values["fw_metadata"] if state is None else state.fw_metadata
            if _HANDED_ON in values:
                values[_HANDED_ON] = self._watched(original, values[_HANDED_ON], metadata, config)
                return original(*given.args, **given.kwargs)
            cut = config.partition_fn
            config.partition_fn = self._watched(original, cut, metadata, config)
            try:
                return original(*arguments, **named)
            finally:
                config.partition_fn = cut

        return partition

    def _watched(self, caller: Callable[..., Any], cut: Any, metadata: Any, config: Any) -> Callable[..., Any]:
        """A partitioner that is looked on where torch's own function asks for it."""

        def watched(graph: fx.GraphModule, arguments: Any, **named: Any) -> Any:
            if sys._getframe(1).f_code is not caller.__code__:
                return cut(graph, arguments, **named)  # a graph inside this one, of a higher-order operator
            finish = self._begin(graph, metadata, config, named)
            halves = cut(graph, arguments, **named)
            finish(halves)
            return halves

        return watched

    def _begin(self, joint: fx.GraphModule, metadata: Any, config: Any, named: dict[str, Any]) -> Callable[[Any], None]:
        """Describe a joint graph now, since torch changes it; the answer finishes the region with the program's cut."""
        try:
            sources = [source_name(one) for one in config.aot_autograd_arg_pos_to_source or ()]
            described = Describer(joint.graph, labels_of(joint.graph, sources), self._whose)
            found = _facts(joint, metadata, sources, described)
            partitions = [tried(name, joint, named, described) for name in PARTITIONERS]
        except Exception as error:
            self._fault(error)
            return lambda halves: None

        def finish(halves: Any) -> None:
            try:
                cuts = partitions
                if self._own:
                    own = read("own", halves[0], halves[1], named["num_fwd_outputs"], described)
                    cuts = _with_own(partitions, own)
                self._took(self._region(described.nodes, cuts, found))
            except Exception as error:
                self._fault(error)

        return finish

    def _region(self, nodes: list[JointNode], partitions: list[Partition], found: list[Fact]) -> Region:
        name, stack = self._where
        compile_id = str(bound("torch._guards.CompileContext.current_compile_id")() or "")
        self._regions += 1
        return Region(self._regions - 1, name, compile_id, stack, tuple(nodes), tuple(partitions), tuple(found))


def _not_asked(original: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: False


def _facts(joint: fx.GraphModule, metadata: Any, sources: list[str], described: Describer) -> list[Fact]:
    writes = {node.label: node for node in described.nodes if node.label.startswith("new value of")}
    context = bound("torch._guards.TracingContext.try_get")()
    return [
        *facts.duplicates(context, sources),
        *facts.mutations(metadata, sources, writes),
        *facts.functionalized(joint.graph.nodes, described),
        *facts.aliases(metadata, sources),
    ]


def _with_own(partitions: list[Partition], own: Partition) -> list[Partition]:
    """All partitions, the one that the program's compiler chose marked as used."""
    same = [each for each in partitions if set(each.saved) == set(own.saved)]
    if not same:
        return [*partitions, Partition(own.name, own.saved, own.forward, own.backward, used=True)]
    chosen = same[0]
    marked = Partition(chosen.name, chosen.saved, chosen.forward, chosen.backward, used=True)
    return [marked if each is chosen else each for each in partitions]
