"""What gradscope can do when torch has the parts for it, in one table. A recording says what it did without."""

from __future__ import annotations

from collections.abc import Iterable

from gradscope.model.torch_part import Capability

TABLE: tuple[Capability, ...] = (
    Capability("nodes", "nodes are not seen", needed=True),
    Capability("backward calls", "backward calls are not seen", needed=True),
    Capability("levels", "the torch.func levels of nodes are not recorded"),
    Capability("parents", "nodes made in a backward do not name the node that ran"),
    Capability("compilers", "torch.compile may compile functions of gradscope"),
    Capability("custom Functions", "calls of custom Functions are not recorded"),
    Capability("hooks", "hooks are not recorded"),
    Capability("retain_grad", "retain_grad is not recorded among the hooks"),
    Capability("reducers", "the hooks of DistributedDataParallel are not recorded"),
    Capability("module calls", "module calls are not recorded"),
    Capability(
        "training calls", "how the program trains (zero_grad, clipping, modes, ...) is not recorded", detail="ops"
    ),
    Capability("saved tensors", "saved tensors are not recorded"),
    Capability("tracebacks", "uncaught exceptions of threads are not recorded"),
    Capability("swaps", "torch refuses to swap tensors that were seen"),
    Capability("transforms", "torch.func transforms are not recorded"),
    Capability("threads", "operators of the program's own threads are not recorded"),
    Capability("collectives", "the recording is not saved before collectives"),
    Capability("operators", "operators are not recorded", detail="ops"),
    Capability(
        "captured tensors", "tensors that custom Functions read under torch.func are not recorded", detail="ops"
    ),
    Capability("repeats", "backward calls that repeat are watched like all others", detail="ops"),
    Capability("values", "times and gradients are not measured", detail="full"),
    Capability("stored tensors", "--tensors stores none", detail=""),
    Capability("torch.compile", "nothing is compiled", detail=""),
    Capability("joint", "joint graphs are not shown", detail=""),
    Capability("compiled autograd", "compiled autograd is not shown", detail=""),
    Capability("check-function", "custom Functions are not checked", detail=""),
    Capability("replay --execute", "backward calls are not run again", detail=""),
)
CAPABILITIES = {one.name: one for one in TABLE}
OF_PROBES = {  # the capability that is lost with a probe that is switched off
    "nodes": "nodes",
    "engine": "backward calls",
    "modules": "module calls",
    "hooks": "hooks",
    "operations": "operators",
    "values": "values",
}
DETAILS = ("nodes", "ops", "full")  # each records what those before it do, too


# Of which findings nothing is said without a capability, by the beginnings of their codes: they could blame what was
# not seen. The others rest on what was recorded, and are silent by themselves.
SILENCED: dict[str, tuple[str, ...]] = {
    "nodes": ("GS",),
    "backward calls": ("GS",),
    "levels": ("GS72", "GS74"),
    "parents": ("GS73", "GS74", "GS772", "GS773", "GS781"),
    "custom Functions": ("GS70", "GS72", "GS76"),
    "hooks": ("GS72", "GS734", "GS735", "GS736", "GS738", "GS75", "GS781"),
    "retain_grad": ("GS75",),
    "module calls": ("GS725", "GS726", "GS727", "GS752", "GS754"),
    "saved tensors": ("GS70", "GS71", "GS74", "GS781"),
    "transforms": ("GS221", "GS72", "GS77"),
    "threads": ("GS70", "GS72", "GS73", "GS781"),
    "operators": ("GS70", "GS72", "GS73", "GS741", "GS742", "GS781", "GS802", "GS808", "GS824", "GS831", "GS90"),
}


def silenced(code: str, lacking: Iterable[str]) -> bool:
    """Whether nothing may be said under a code without these capabilities."""
    return any(code.startswith(SILENCED.get(name, ())) for name in lacking)


def of_detail(detail: str) -> list[Capability]:
    """What a level of detail uses."""
    upto = DETAILS[: DETAILS.index(detail) + 1]
    return [one for one in TABLE if one.detail in upto]
