"""Where a NaN or an Inf came from, and where it arrived."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.module import ModuleCall
from gradscope.model.site import Located, Stack


@dataclass(frozen=True, slots=True)
class Given:
    """An argument of an operator: a tensor's shape with its least and greatest value, or a number in `value`.

    `value` of a tensor is that under the first result that is not finite; `row` are the least and greatest values of
    the row around it, where the operator works along one dimension. None where there is none.
    """

    name: str
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    value: float | None = None
    least: float | None = None
    most: float | None = None
    row: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Birth(Located):
    """An operator gave a NaN or Inf for finite arguments, or was given a NaN in the argument named `argument`.

    Or it leapt: in a backward it gave a vast number for small ones; `value` and `index` are of the largest then.

    `backward` and `node` say in which node of which backward it ran, None in a forward. `value` stands at `index` of
    its result, the first of `nan` and `inf` that are not finite. `masked_by` is the stack of an operator that
    gave something finite for it, `masked` that operator's name. On an accelerator, named in `device`, single values
    are not looked at: `nan` or `inf` is 1 for any number of them, and shape, index, value and what was given are not
    known.
    """

    number: int
    step: int
    op: str
    stack: Stack = ()
    entered: bool = False
    argument: str | None = None
    module: ModuleCall | None = None
    thread: int = 0
    backward: int | None = None
    node: int | None = None
    shape: tuple[int, ...] = ()
    index: tuple[int, ...] = ()
    value: float | None = None
    nan: int = 0
    inf: int = 0
    device: str | None = None
    given: tuple[Given, ...] = ()
    masked: str | None = None
    masked_by: Stack = ()

    @property
    def base(self) -> str:
        """The operator's bare name: "log" for aten.log_.default."""
        return self.op.removeprefix("aten.").partition(".")[0].rstrip("_")

    @property
    def came_in(self) -> bool:
        """Whether the NaN is none of the operator's making: it was given one, in a tensor or as a plain number."""
        return self.entered or any(one.shape is None and one.value != one.value for one in self.given)

    def argument_named(self, *names: str) -> Given | None:
        """The first argument of one of these names."""
        return next((one for name in names for one in self.given if one.name == name), None)


@dataclass(frozen=True, slots=True)
class Arrival:
    """What was not finite when a backward began (`leaf` None: the tensor it started from) or had ended (a leaf's grad).

    `birth` is the number of the Birth that it descends from, None when none was seen. On an accelerator `nan` or `inf`
    is 1 for any number of them.
    """

    backward: int
    leaf: str | None
    birth: int | None
    nan: int
    inf: int
