"""Graphs built by hand, in the shape that capture gives them: ids in the order of discovery from the root."""

from __future__ import annotations

from dataclasses import replace

from gradscope.graphs.rules import Rules
from gradscope.model.graph import Backward, Edge, FunctionClass, Graph, Level, Node, OrderSource, Parent, Root
from gradscope.model.hook import Effect, Firing, Hook
from gradscope.model.module import ModuleCall
from gradscope.model.run import Run
from gradscope.model.site import Origin, Site, Stack
from gradscope.model.tensor import SavedTensor, TensorType
from gradscope.view.drawing import Arrow, Box, Cluster, Drawing, Row
from gradscope.view.role import Role
from gradscope.view.scene import Scene
from gradscope.view.words import TIMES

FOLDER = "/project"
RUN = Run(
    argv=(f"{FOLDER}/train.py", "--steps", "3"),
    cwd=FOLDER,
    gradscope="0.1.0",
    torch="2.13.0",
    python="3.11.7",
    platform="Linux x86_64",
    pid=4242,
    detail="ops",
    started=1.75e9,
    duration=12.5,
    ended=True,
    status=0,
)
UNFOLDED = Rules(depth=1, fold=False)
HOSTILE = (
    "quote \" and ' and `",
    "{brace|pipe} <angle> &amp; <script>alert(1)</script>",
    "back\\slash \\n \\l",
    "emoji \N{PARTY POPPER} family \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "RTL \u05e9\u05dc\u05d5\u05dd and override \u202egpj.exe",
    "escape \x1b[31mred\x1b[0m bell \x07 nul \x00 newline \n tab \t",
    "[red]markup[/red] [link=file:///]x[/link] :smile:",
    "<b>html label</b>",
    "\\",
    "[/]",
    "%s {0} $HOME",
)


def line(number: int, function: str = "forward", file: str = f"{FOLDER}/train.py") -> Stack:
    """A stack of one user frame."""
    return (Site(file, number, function),)


def floats(*shape: int) -> TensorType:
    return TensorType(shape, "float32")


def measured(nodes: list[Node], edges: list[Edge], **about: object) -> Graph:
    """A graph that ran in the order of its ids."""
    backward = Backward(
        0, roots=(Root(0),) if nodes else (), stack=line(40, "main"), duration=0.012, order_source=OrderSource.MEASURED
    )
    ran = tuple(replace(node, order=node.id) for node in nodes)
    edges = sorted(edges, key=lambda edge: (edge.source, edge.output))
    return Graph(ran, tuple(edges), replace(backward, **about))  # type: ignore[arg-type]


def scene(graph: Graph, depth: int | None = None, **about: object) -> Scene:
    about.setdefault("rules", Rules(depth=depth))
    return replace(Scene(graph, RUN, f"{FOLDER}/train.py.4242.gscope"), **about)  # type: ignore[arg-type]


def small() -> Graph:
    """A little of everything: modules, a custom Function, a hook, levels, a library's frame, an idle node."""
    net = ModuleCall("", "Net")
    linear = ModuleCall("linear", "Linear", net)
    hook = Hook(0, "tensor", "main.<locals>.clip", "loss", line(35, "main"))
    library = (Site("/site-packages/lib/loss.py", 7, "loss", origin=Origin.LIBRARY), *line(30, "main"))
    nodes = [
        Node(0, "MeanBackward0", 9, library, "aten.mean.default", hooks=(hook,), inputs_meta=(floats(),)),
        Node(
            1,
            "SwishBackward",
            8,
            line(21),
            module=net,
            inputs_meta=(floats(8, 4),),
            saved=(SavedTensor("x", floats(8, 4), 128, 0),),
            function=FunctionClass("Swish", Site(f"{FOLDER}/swish.py", 5), Site(f"{FOLDER}/swish.py", 12)),
        ),
        Node(
            2,
            "AddmmBackward0",
            7,
            line(20),
            "aten.addmm.default",
            linear,
            levels=(Level("Grad", 1), Level("Vmap", 2)),
            inputs_meta=(floats(8, 4),),
            saved=(SavedTensor("mat1", floats(8, 3), 96, 1), SavedTensor("mat2", floats(3, 4), 48, 2, "linear.weight")),
        ),
        Node(
            3,
            "torch::autograd::AccumulateGrad",
            None,
            line(20),
            module=net,
            leaf="linear.bias",
            inputs_meta=(floats(4),),
        ),
        Node(4, "TBackward0", 6, line(20), "aten.t.default", linear, inputs_meta=(floats(3, 4),)),
        Node(5, "torch::autograd::AccumulateGrad", None, line(20), leaf="linear.weight", inputs_meta=(floats(4, 3),)),
        Node(6, "PowBackward0", 3, line(18), "aten.pow.Tensor_Scalar", inputs_meta=(None,)),
    ]
    edges = [Edge(0, 1), Edge(1, 2), Edge(2, 3), Edge(2, 4, 1), Edge(4, 5), Edge(2, 6, 2)]
    graph = measured(nodes, edges)
    pruned = (*graph.nodes[:6], replace(graph.nodes[6], order=None))
    return replace(graph, nodes=pruned, firings=(Firing(hook, 0, Effect.REPLACED),))


def transformer(layers: int = 24) -> Graph:
    """A GPT-like graph: 68 nodes a block as in GPT-2, and what stands before and after."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    model = ModuleCall("", "GPT")
    number = 0

    def add(name: str, module: ModuleCall, leaf: str | None = None, saves: int = 0) -> None:
        nonlocal number
        kept = (SavedTensor("self", floats(2, 16, 48), saves, number),) if saves else ()
        call = None if leaf else module
        nodes.append(
            Node(
                number, name, None if leaf else 5000 - number, line(10 + number % 60), None, call, leaf=leaf, saved=kept
            )
        )
        nodes[-1] = replace(nodes[-1], inputs_meta=(floats(2, 16, 48),))
        if number:
            source = max(node.id for node in nodes[-4:-1] if not node.leaf)
            edges.append(Edge(source, number, sum(edge.source == source for edge in edges[-3:])))
        number += 1

    def linear(path: str, parent: ModuleCall, position: int) -> None:
        call = ModuleCall(path, "Linear", parent, position)
        for name in ("UnsafeViewBackward0", "AddmmBackward0", "ViewBackward0"):
            add(name, call, saves=6144 if name.startswith("Addmm") else 0)
        add("torch::autograd::AccumulateGrad", call, f"{path}.bias")
        add("torch::autograd::AccumulateGrad", call, f"{path}.weight")

    def norm(path: str, parent: ModuleCall, position: int) -> None:
        call = ModuleCall(path, "LayerNorm", parent, position)
        add("NativeLayerNormBackward0", call, saves=6144)
        add("torch::autograd::AccumulateGrad", call, f"{path}.weight")
        add("torch::autograd::AccumulateGrad", call, f"{path}.bias")

    add("NllLossBackward0", model, saves=25600)
    add("LogSoftmaxBackward0", model, saves=25600)
    norm("ln_f", model, layers + 1)
    for layer in reversed(range(layers)):
        block = ModuleCall(f"h.{layer}", "Block", model, layer)
        mlp = ModuleCall(f"h.{layer}.mlp", "MLP", block, 3)
        attention = ModuleCall(f"h.{layer}.attn", "Attention", block, 1)
        add("AddBackward0", block)
        linear(f"h.{layer}.mlp.c_proj", mlp, 2)
        for name in ("MulBackward0", "TanhBackward0", "PowBackward0", "AddBackward0"):
            add(name, ModuleCall(f"h.{layer}.mlp.act", "GELU", mlp, 1), saves=24576)
        linear(f"h.{layer}.mlp.c_fc", mlp, 0)
        norm(f"h.{layer}.ln_2", block, 2)
        add("AddBackward0", block)
        linear(f"h.{layer}.attn.c_proj", attention, 1)
        for step in range(33):
            name = ("UnsafeViewBackward0", "CloneBackward0", "TransposeBackward0", "BmmBackward0", "SoftmaxBackward0")[
                step % 5
            ]
            add(name, attention, saves=8192 if name.startswith("Bmm") else 0)
        linear(f"h.{layer}.attn.c_attn", attention, 0)
        norm(f"h.{layer}.ln_1", block, 0)
    add("EmbeddingBackward0", ModuleCall("wte", "Embedding", model, 0), saves=256)
    add("torch::autograd::AccumulateGrad", model, "wte.weight")
    return measured(nodes, edges)


def chain(length: int) -> Graph:
    """A chain without modules, of a line for each node: no loop made it."""
    names = ("MulBackward0", "AddBackward0", "SinBackward0")
    nodes = [Node(number, names[number % 3], length - number, line(3 + number, "main")) for number in range(length)]
    return measured(nodes, [Edge(number, number + 1) for number in range(length - 1)])


def loop(steps: int, parameters: str = "W") -> Graph:
    """A loss and the steps of a loop, of three nodes each, all of which use the same parameters."""
    nodes = [Node(0, "SumBackward0", 3 * steps + 1, line(9, "main"))]
    edges = []
    for number in range(1, 3 * steps + 1):
        name = ("TanhBackward0", "AddBackward0", "MmBackward0")[(number - 1) % 3]
        nodes.append(Node(number, name, 3 * steps + 1 - number, line(3 + (number - 1) % 3, "main")))
        edges.append(Edge(number - 1, number))
    for output, name in enumerate(parameters, 1):
        weight = len(nodes)
        nodes.append(Node(weight, "torch::autograd::AccumulateGrad", None, leaf=name))
        edges += [Edge(number, weight, output) for number in range(3, 3 * steps + 1, 3)]
    return measured(nodes, edges)


def fan(width: int, alike: bool = True) -> Graph:
    """A node that leads to many."""
    names = ["MulBackward0" if alike else f"Mul{number}Backward0" for number in range(width)]
    nodes = [Node(0, "StackBackward0", width, line(3, "main"))]
    nodes += [Node(number, name, width - number, line(4, "main")) for number, name in enumerate(names, 1)]
    return measured(nodes, [Edge(0, number, number - 1) for number in range(1, width + 1)])


def hostile() -> Graph:
    """Names that attack every format."""
    nodes, edges = [], []
    for number, name in enumerate(HOSTILE):
        stack = (Site(name, 1, name),)
        kind = TensorType((-1, 2), name, name)
        node = Node(
            id=number,
            name=name,
            seq_nr=number,
            stack=stack,
            op=name,
            module=ModuleCall(name, name),
            levels=(Level("Grad", 1),),
            parent=Parent(name, stack),
            device=name,
            inputs_meta=(kind,),
            saved=(SavedTensor(name, kind, 8, number),),
            hooks=(Hook(number, "tensor", name, name, stack),),
            leaf=name,
            function=FunctionClass(name, Site(name, 1), Site(name, 2)),
        )
        nodes.append(node)
        edges.append(Edge(0, number, number))
    return measured(nodes, edges[1:], exception=HOSTILE[5])


def everything() -> Drawing:
    """A drawing with every role of a backward, clusters in clusters, and an arrow of several edges."""
    boxes = (
        Box("MeanBackward0", ("float32[]", "train.py:30"), frozenset({Role.ROOT})),
        Box("SwishBackward", ("float32[8, 4]",), frozenset({Role.CUSTOM, Role.SAVED}), 0, (Row("x", Role.SAVED),)),
        Box("AddBackward0", (), frozenset({Role.PLAIN, Role.FINDING}), 1, (Row("✗ GS701", Role.FINDING),)),
        Box("h.1", ("Block · 65 nodes",), frozenset({Role.GROUP}), 1, (Row("12 parameters", Role.ACCUMULATE),)),
        Box(f"⋮ 22{TIMES} same Block", ("h.22 … h.1",), frozenset({Role.FOLDED}), 1),
        Box("ViewBackward0", (), frozenset({Role.VIEW, Role.FOCUS}), 2, (Row("Vmap:1", Role.LEVEL),)),
        Box("AccumulateGrad", ("weight",), frozenset({Role.ACCUMULATE}), 0, (Row("1 hook", Role.HOOKED),)),
        Box("PowBackward0", ("did not run",), frozenset({Role.IDLE}), 2),
        Box("CatBackward0", (), frozenset({Role.ADDITION})),
    )
    arrows = (
        *(Arrow(0, 1), Arrow(1, 2), Arrow(2, 3), Arrow(3, 4, 3), Arrow(4, 5), Arrow(1, 6), Arrow(0, 5), Arrow(2, 8)),
        Arrow(5, 7, 1, frozenset({Role.PRUNED})),
    )
    clusters = (Cluster("Net"), Cluster("encoder  Stack", 0), Cluster("Vmap:1", None, frozenset({Role.LEVEL})))
    return Drawing("train.py, backward 0", boxes, arrows, clusters, ("Arrows run in backward order.", "4 folded."))
