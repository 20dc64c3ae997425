"""What is known of each autograd node since the moment it was made, in a token that dies with the node.

How that moment is seen depends on torch: `nodes_by_hook` from 2.14 on, `nodes_by_anomaly_mode` below.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from gradscope.probes.faults import Faults
from gradscope.probes.levels import Levels
from gradscope.probes.sink import Sink
from gradscope.probes.stacks import Stacks
from gradscope.torch_internals.dynamo import skip_methods
from gradscope.torch_internals.find import there
from gradscope.torch_internals.parts import PARTS

if TYPE_CHECKING:
    from gradscope.probes.modules import Call
    from gradscope.probes.threads import Threads

HOOK = "torch._C._autograd._push_node_creation_hook"
HAS_HOOK = there(PARTS[HOOK]) == HOOK
_OWN_KEY = "gradscope"
KEY = _OWN_KEY if HAS_HOOK else "traceback_"  # torch's, in the place of a stock traceback


_UIDS = itertools.count(1)  # one for the process: a node may outlive the recording in which it was made


class Token:
    """What is known of a node since its creation: plain data that dies with the node.

    It stands where torch expects a list of lines, so it can be iterated, measured, indexed and copied as one.
    """

    __slots__ = ("__weakref__", "call", "operator", "previous", "stack", "thread", "uid")

    stacks: ClassVar[Stacks]
    first: ClassVar[int] = 0  # tokens with smaller uids are of an earlier recording of this process
    derived: ClassVar[bool] = False

    uid: int
    stack: int
    thread: int
    call: Call | None
    operator: int
    previous: int  # the operator before this node: the one that made a CopySlices

    # What most nodes have none of, and a DerivedToken may have.
    levels: int = 0
    parent: int = 0  # uid of the backward node that was being evaluated
    parent_name: int = 0
    parent_stack: int = 0  # its line in the forward

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
    for key in (KEY, _OWN_KEY):
        token = metadata.get(key)
        if isinstance(token, Token) and token.uid >= Token.first:
            return token
    return None


class Nodes:
    """Gives each node its token. `made_in_backward` are the tokens of those made while the engine ran."""

    def __init__(self, sink: Sink, threads: Threads, stacks: Stacks, faults: Faults, operators: bool) -> None:
        """`operators`: they are seen, so that a node can be given the one that made it."""
        self._sink, self._threads, self._stacks, self._faults = sink, threads, stacks, faults
        self._levels = Levels(sink)
        self._uids = _UIDS
        self._operators = operators
        self.made_in_backward: list[Any] = []
        self.newborn: list[weakref.ref[Token]] | None = None  # filled while somebody wants the nodes of a step
        faults.switch("nodes", self.__exit__)

    def __enter__(self) -> Nodes:
        for one in (Token, Levels, Stacks, Nodes, type(self)):
            skip_methods(one)
        Token.stacks, Token.first = self._stacks, next(self._uids)
        return self

    def __exit__(self, *error: object) -> None:
        """See no more nodes; again does nothing."""

    def follow(self, recorded: bool) -> None:
        """See nodes only while something is recorded."""

    def engine_begins(self) -> None:
        """A backward call is about to run."""

    def engine_ends(self) -> None:
        """It has returned or raised."""

    def mend(self, error: BaseException) -> None:
        """Give an exception of the engine the words of a plain run."""

    def release(self) -> None:
        """Undo what seeing nodes has done to those that were made in a backward."""
        self.made_in_backward = []  # what other threads make meanwhile is for the next call

    def youngest(self) -> int:
        """A uid above those of all nodes so far."""
        return next(self._uids)

    def adopt(self, node: Any) -> Token:
        """Give a token to a node that was made before the recording began."""
        token = self._blank()
        node.metadata[KEY if KEY not in node.metadata else _OWN_KEY] = token
        return token

    def _blank(self) -> Token:
        token = Token()
        token.uid = next(self._uids)
        token.stack = token.thread = token.operator = token.previous = 0
        token.call = None
        return token

    def _derive(self, node: Any) -> DerivedToken:
        """Note the transforms, and the backward node whose evaluation makes this one."""
        token = DerivedToken()
        token.uid = next(self._uids)
        token.levels = self._levels.take()
        token.parent = token.parent_name = token.parent_stack = 0
        if node is not None:
            parent = token_of(node)
            token.parent_name = self._sink.string(node.name())
            if parent is not None:
                token.parent = parent.uid
                token.parent_stack = parent.parent_stack or parent.stack
            self.made_in_backward.append(token)
        return token
