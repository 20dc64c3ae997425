"""What is known of the graph of a backward call once it was walked."""

from __future__ import annotations


class WalkedGraph:
    """What a walk found: ids of the interned graph and tensors, and the number of each node by its token's uid."""

    __slots__ = ("graph", "leaves", "numbers", "seq_base", "tensors")

    def __init__(
        self, graph: int, tensors: int, seq_base: int, numbers: dict[int, int], leaves: dict[int, int]
    ) -> None:
        self.graph = graph
        self.tensors = tensors
        self.seq_base = seq_base
        self.numbers = numbers
        self.leaves = leaves  # id() of a leaf tensor -> number of its AccumulateGrad
