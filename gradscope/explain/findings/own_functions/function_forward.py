"""Custom Functions that edit their inputs or keep what they computed: GS762 and GS763."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related
from gradscope.model.graph import FunctionClass
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_NO_GRADIENT = {"zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like"}
_NOT_RETURNED = "Some elements marked as dirty during the forward method were not returned as output"
_NO_NUMBERS = {"shape", "dtype", "device", "ndim"}
_NO_GRADIENT |= {"sign", "argmax", "argmin", "detach", "size", "numel", "dim", "bernoulli", "round", "floor", "ceil"}


def unmarked_edit(case: Case) -> Iterator[Cause]:
    """An input edited without mark_dirty.

    What it flags: the forward of a custom Function wrote one of its inputs in place and does not say so with
        `ctx.mark_dirty`, or says so and does not return it.
    Why: autograd does not look into a forward. Unless told, it takes the input for unchanged: what uses the input
        afterwards gets the new values and the gradient of the old ones.
    Wrong:
        def forward(ctx, x):
            x.clamp_(min=0)
            return x
    Right:
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.clamp_(min=0)
            return x
    Do instead: call `ctx.mark_dirty(x)` and return x; or compute a new tensor.
    How it is found: operators that write are compared, while a forward runs, with its arguments that require grad;
        whether the class calls mark_dirty is read from its recorded source.
    """
    for edit in case.input_edits():
        owner = source_lines.class_at(case, edit.function.class_site)
        if owner is not None and not _calls(owner, "mark_dirty"):
            name = source_lines.edited(case, edit.site)
            what = f"`{name}`" if name else "one of its inputs"
            yield Cause(
                f"the forward of {edit.function.bare_name} edits {what}, an input, with {base_name(edit.op)}, unmarked",
                edit.site,
                (Related("class_at", edit.function.class_site, edit.function.name),),
                op=edit.op,
                tensor=name,
                function=edit.function.name,
            )
    for failure in case.failures() if case.failing_functions() else ():
        function = case.failing_functions()[-1]
        owner = source_lines.class_at(case, function.class_site)
        if _NOT_RETURNED in failure.message and owner is not None and not _generates_vmap(owner):
            yield Cause(
                f"{function.bare_name} marks an input as dirty and does not return it",
                _line_of(case, function, _first_call(owner, "mark_dirty")),
                (Related("fails_at", failure.site),),
                fails=True,
                advice="return the input that was edited",
                function=function.name,
            )


def kept_on_context(case: Case) -> Iterator[Cause]:
    """An intermediate result kept on ctx, differentiated again.

    What it flags: a Function computes something from its inputs in its forward, keeps it on ctx, as an attribute or
        with save_for_backward, uses it in its backward, and that backward was differentiated again (create_graph=True).
    Why: a forward runs without autograd, so what it computes has no history. In the second derivative it counts as a
        constant, and a term is missing, without an error. An attribute of ctx is not watched for in-place edits either.
    Wrong:
        def forward(ctx, x):
            ctx.y = x.exp()                  # no history
            return ctx.y * 2
        def backward(ctx, grad):
            return grad * 2 * ctx.y
    Right:
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp() * 2
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x.exp()        # computed where autograd sees it
    Do instead: save inputs and outputs with `ctx.save_for_backward` and compute from them in the backward; or return
        the intermediate as an output. Where no second derivative is meant, use `@once_differentiable`.
    How it is found: before a backward with create_graph, the attributes of each ctx are looked at; whether one is
        computed from the forward's inputs, and used in the backward, is read from the recorded source, and so is
        what save_for_backward gets that is neither an input nor a result.
    """
    said = set()
    for one in case.on_context():
        graph = case.graph(one.backward)
        function = graph.nodes[one.node].function
        owner = None if function is None else source_lines.class_at(case, function.class_site)
        assigned = None if owner is None else _computed(owner, one.name)
        if function is None or owner is None or assigned is None or (function.name, one.name) in said:
            continue
        said.add((function.name, one.name))
        yield Cause(
            f"{function.bare_name} keeps `ctx.{one.name}`, computed without autograd, and uses it in a backward that "
            "is differentiated again: its part of the second derivative is missing",
            _line_of(case, function, assigned),
            (
                Related("class_at", function.class_site, function.name),
                Related("fails_at", graph.backward.site, "differentiates it with create_graph=True"),
            ),
            certain=False,
            node=one.node,
            tensor=f"ctx.{one.name}",
            backward=one.backward,
            function=function.name,
        )
    yield from _saved_results(case)


def _saved_results(case: Case) -> Iterator[Cause]:
    """What save_for_backward gets that has no history, in Functions that were differentiated again; each once."""
    saving = {function: found for function in case.functions() if (found := _saved(case, function)) is not None}
    again = (call for call in case.backwards() if saving and call.create_graph and call.number in case.graph_sizes())
    for number in dict.fromkeys(case.like().get(call.number, call.number) for call in again):
        graph = case.graph(number)
        for node in graph.nodes:
            found = saving.pop(node.function, None) if node.function is not None else None
            if found is not None and node.function is not None:
                call, name = found
                yield Cause(
                    f"{node.function.bare_name} saves `{name}`, computed without autograd, for a backward that is "
                    "differentiated again: its part of the second derivative is missing",
                    _line_of(case, node.function, call),
                    (
                        Related("class_at", node.function.class_site, node.function.name),
                        Related("fails_at", graph.backward.site, "differentiates it with create_graph=True"),
                    ),
                    certain=False,
                    node=node.id,
                    tensor=name,
                    backward=number,
                    function=node.function.name,
                )


def _saved(case: Case, function: FunctionClass) -> tuple[ast.Call, str] | None:
    """The call of save_for_backward that gets what forward computed and does not return, and the name of that."""
    owner = source_lines.class_at(case, function.class_site)
    forward, backward = source_lines.method(owner, "forward"), source_lines.method(owner, "backward")
    if forward is None or backward is None or not _may_be_differentiated(backward):
        return None
    results = (one.value for one in ast.walk(forward) if isinstance(one, ast.Return) and one.value is not None)
    parts = (part for one in results for part in (one.elts if isinstance(one, ast.Tuple) else [one]))
    returned = {part.id for part in parts if isinstance(part, ast.Name)}
    lacking = _results(forward) - returned
    for call in (one for one in ast.walk(forward) if isinstance(one, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "save_for_backward":
            names = [one.id for one in call.args if isinstance(one, ast.Name) and one.id in lacking]
            if names:
                return call, names[0]
    return None


def _results(forward: ast.FunctionDef) -> set[str]:
    """The names that forward gives to what it computes from its inputs."""
    inputs = {argument.arg for argument in forward.args.args[1:]}
    computed: set[str] = set()
    for node in (one for one in ast.walk(forward) if isinstance(one, ast.Assign)):
        if not isinstance(node.value, ast.Name) and _depends(node.value, inputs | computed):
            computed |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return computed - inputs


def _may_be_differentiated(backward: ast.FunctionDef) -> bool:
    return not any("once_differentiable" in ast.unparse(one) for one in backward.decorator_list)


def _computed(owner: ast.ClassDef, name: str) -> ast.AST | None:
    """Where a Function computes `ctx.name` from its inputs, if its backward uses that and may be differentiated."""
    forward, backward = source_lines.method(owner, "forward"), source_lines.method(owner, "backward")
    if forward is None or backward is None or not _reads(backward, name):
        return None
    if not _may_be_differentiated(backward):
        return None
    names = {argument.arg for argument in forward.args.args[1:]}
    computed: set[str] = set()
    for node in ast.walk(forward):
        if not isinstance(node, ast.Assign):
            continue
        value = node.value
        plain = isinstance(value, ast.Name) and value.id not in computed
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == name:
                return None if plain or not _depends(value, names | computed) else node
            if isinstance(target, ast.Name) and not plain and _depends(value, names | computed):
                computed.add(target.id)
    return None


def _depends(value: ast.AST, names: set[str]) -> bool:
    """Whether an expression depends on names in a way that has a derivative."""
    if isinstance(value, ast.Compare) or (isinstance(value, ast.Attribute) and value.attr in _NO_NUMBERS):
        return False
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _NO_GRADIENT:
        return False
    if isinstance(value, ast.Name):
        return value.id in names
    return any(_depends(child, names) for child in ast.iter_child_nodes(value))


def _generates_vmap(owner: ast.ClassDef) -> bool:
    """Whether a Function leaves its vmap rule to torch: then mark_dirty cannot work under vmap, which is GS213."""
    assigned = [one for node in owner.body if isinstance(node, ast.Assign) for one in node.targets]
    return any(ast.unparse(one) == "generate_vmap_rule" for one in assigned)


def _reads(function: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == name for node in ast.walk(function))


def _calls(owner: ast.AST, name: str) -> bool:
    return _first_call(owner, name) is not None


def _first_call(owner: ast.AST, name: str) -> ast.AST | None:
    return next((node for node in ast.walk(owner) if isinstance(node, ast.Attribute) and node.attr == name), None)


def _line_of(case: Case, function: FunctionClass, node: ast.AST | None) -> Site | None:
    number = getattr(node, "lineno", None)
    if number is None or function.class_site is None:
        return function.class_site
    return source_lines.line(case, function.class_site.file, number, "forward")
