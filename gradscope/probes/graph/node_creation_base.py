"""Gives each autograd node a token at the moment it is made.

How that moment is seen depends on torch: `node_creation_by_hook` from 2.14 on, `node_creation_by_anomaly_mode` below.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from gradscope.model.detail import Detail
from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import KEY, OWN_KEY, DerivedToken, Token, token_of
from gradscope.probes.core.stacks import Stacks
from gradscope.probes.graph.deep_graphs import DeepGraphs
from gradscope.probes.graph.transform_levels import TransformLevels
from gradscope.torch_internals.dynamo import skip_methods

_UIDS = itertools.count(1)  # one for the process: a node may outlive the recording in which it was made


class NodeCreation:
    """Gives each node its token. `made_in_backward` are the tokens of those made while the engine ran."""

    def __init__(self, context: Context) -> None:
        self._sink, self._threads = context.sink, context.threads
        self._stacks, self._faults = context.stacks, context.faults
        self._levels = TransformLevels(context.sink)
        self._uids = _UIDS
        self._operators = context.options.detail.has(Detail.OPS)  # they are seen: each node gets the one that made it
        self.made_in_backward: list[Any] = []
        self.deep = DeepGraphs()
        self.newborn: list[weakref.ref[Token]] | None = None  # filled while somebody wants the nodes of a step
        context.faults.switch("nodes", self.__exit__)
        context.events.step_begins.append(self.follow)

    def __enter__(self) -> NodeCreation:
        for one in (Token, TransformLevels, Stacks, NodeCreation, type(self)):
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

    def walked(self, live: list[Any], tokens: list[Token]) -> None:
        """The nodes of a graph were seen from Python, and it is about to run."""
        self.deep.walked(live)

    def release(self) -> None:
        """Undo what seeing nodes has done to those that were made in a backward, and let the dead ones end."""
        self.deep.let_go()
        self.made_in_backward = []  # what other threads make meanwhile is for the next call

    def youngest(self) -> int:
        """A uid above those of all nodes so far."""
        return next(self._uids)

    def adopt(self, node: Any) -> Token:
        """Give a token to a node that was made before the recording began."""
        token = self._blank()
        node.metadata[KEY if KEY not in node.metadata else OWN_KEY] = token
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
