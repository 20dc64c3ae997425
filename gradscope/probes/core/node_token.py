"""What is known of an autograd node since the moment it was made, in a token that dies with the node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from gradscope.probes.core.module_call import RunningModuleCall
from gradscope.probes.core.stacks import Stacks
from gradscope.torch_internals.find import there
from gradscope.torch_internals.parts import PARTS

HOOK = "torch._C._autograd._push_node_creation_hook"
HAS_HOOK = there(PARTS[HOOK]) == HOOK
OF_A_LEAF = "torch::autograd::AccumulateGrad"  # what torch calls the node of a leaf
OWN_KEY = "gradscope"
KEY = OWN_KEY if HAS_HOOK else "traceback_"  # torch's, in the place of a stock traceback


class Token:
    """What is known of a node since its creation: plain data that dies with the node.

    It stands where torch expects a list of lines, so it can be iterated, measured, indexed and copied as one.
    """

    __slots__ = ("__weakref__", "_of_a_leaf", "call", "operator", "previous", "stack", "thread", "uid")

    stacks: ClassVar[Stacks]
    first: ClassVar[int] = 0  # tokens with smaller uids are of an earlier recording of this process
    derived: ClassVar[bool] = False

    _of_a_leaf: bool
    uid: int
    stack: int
    thread: int
    call: RunningModuleCall | None
    operator: int
    previous: int  # the operator before this node: the one that made a CopySlices

    # What most nodes have none of, and a DerivedToken may have.
    levels: int = 0
    parent: int = 0  # uid of the backward node that was being evaluated
    parent_name: int = 0
    parent_stack: int = 0  # its line in the forward

    @property
    def of_a_leaf(self) -> bool:
        """Whether a walk has come to the node and seen that it is that of a leaf."""
        return hasattr(self, "_of_a_leaf")  # not set where the node is made: nobody knows there, and most are none

    def is_of_a_leaf(self) -> None:
        """Remember that the node is that of a leaf."""
        self._of_a_leaf = True

    def copy(self) -> list[str]:
        """The creation stack's lines, outermost first, as stock anomaly mode would hold them."""
        return self.stacks.lines(self.stack)

    def __iter__(self) -> Iterator[str]:
        return iter(self.copy())

    def __len__(self) -> int:
        return len(self.copy())

    def __bool__(self) -> bool:  # else asking costs a formatted stack
        return True

    def __getitem__(self, index: Any) -> Any:
        return self.copy()[index]


class DerivedToken(Token):
    """The token of a node made under a transform, or inside a backward."""

    __slots__ = ("levels", "parent", "parent_name", "parent_stack")

    derived = True

    levels: int
    parent: int
    parent_name: int
    parent_stack: int


def token_of(node: Any) -> Token | None:
    """The token of a node, None when it was made before the recording began."""
    metadata = node.metadata
    for key in (KEY, OWN_KEY):
        token = metadata.get(key)
        if isinstance(token, Token) and token.uid >= Token.first:
            return token
    return None
