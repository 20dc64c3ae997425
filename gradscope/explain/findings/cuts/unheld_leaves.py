"""GS879: gradients that go to a leaf which nothing holds, where the result's own .grad is asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import attribute_call, syntax
from gradscope.model.finding import Related
from gradscope.model.notice import UNHELD, UNHELD_BESIDE, Notice
from gradscope.model.site import Site

_GRADIENT, _RETAINS = "grad", attribute_call("retain_grad", "register_hook")


def leaf_not_held(case: Case) -> Iterator[Cause]:
    """What it flags: requires_grad is set on a tensor, and what is used and asked for its .grad is a copy of it.

    Why: to(), cuda(), double() or a product give a new tensor, a result, where they change anything. A backward leaves
    the gradient in the leaf; if nothing holds that any more, nobody can read it. The result's .grad stays None, and a
    loop that leaves out what has no gradient changes nothing.

    Wrong:
        weights = torch.randn(8, requires_grad=True).to(device)
        loss(weights).backward()
        print(weights.grad)                     # None

    Right:
        weights = torch.randn(8, device=device, requires_grad=True)

    Do instead: give the dtype and the device where the tensor is made, and call requires_grad_() last of all; or call
    retain_grad() on the result.

    How it is found: torch's graph alone holds the leaf that a backward gives a gradient to. Either this is so of all
    leaves in all backward calls, of which several reach it, and the file of the leaf or of the backward reads a .grad;
    or it reads that of the very name that the line gives to what it makes of the leaf. Silent where it calls
    retain_grad() or register_hook().
    """
    for notice in case.notices():
        reads = _reads(case, notice) if notice.what in (UNHELD, UNHELD_BESIDE) else None
        if reads is not None and notice.site is not None:
            name = source_lines.assigned(case, notice.site)
            what = "what this line gives" if name is None else f"`{name}`"
            yield Cause(
                f"nothing holds the leaf that gradients go to: {what} is a result, whose .grad is None",
                notice.site,
                () if reads == notice.site else (Related("fails_at", reads, "asks for .grad"),),
                certain=False,
                tensor=name,
            )


def _reads(case: Case, notice: Notice) -> Site | None:
    """The line that asks for the gradient of what was made of a leaf that nothing holds."""
    name = source_lines.assigned(case, notice.site)
    files = _files(case, notice)
    if any(True for file in files for _ in syntax(case).calls(file, _RETAINS)):
        return None
    asked = (one for file in files for one in _asked(case, file))
    return next((site for site, read in asked if notice.what == UNHELD or read == name), None)


def _files(case: Case, notice: Notice) -> list[str]:
    """Where the leaf is read, and where a backward is called."""
    sites = (notice.site, *(call.site for call in case.backwards()[:1]))
    return list(dict.fromkeys(site.file for site in sites if site is not None))


def _asked(case: Case, file: str) -> Iterator[tuple[Site, str]]:
    """Each line that reads a .grad, and in front of it what it is read of."""
    nodes = syntax(case).nodes(file)
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}  # torch.autograd.grad()
    for node in nodes:
        is_read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in called
        if isinstance(node, ast.Attribute) and is_read and node.attr == _GRADIENT:
            yield syntax(case).site(file, node.lineno), ast.unparse(node.value)
