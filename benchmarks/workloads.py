"""What is measured: training steps, from one where Python is everything to one where it is little."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Workload:
    """A training step: `build` makes it, `steps` is how many of them are one block of a measurement."""

    name: str
    build: Callable[[], tuple[nn.Module, torch.Tensor, Callable[[], None]]]
    steps: int


def encoder(width: int, batch: int, length: int, heads: int) -> tuple[nn.Module, torch.Tensor, Callable[[], None]]:
    """A two-layer TransformerEncoder with SGD: the model, its input, and one step."""
    torch.manual_seed(0)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True), 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x = torch.randn(batch, length, width)

    def step() -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return model, x, step


class GPT(nn.Module):
    """A GPT of pre-norm blocks over learned positions."""

    def __init__(self, layers: int, width: int = 128, heads: int = 4, vocabulary: int = 1000, length: int = 64) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        block = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))
        self.register_buffer("order", torch.arange(length))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits, batch x length x vocabulary, for tokens, batch x length."""
        return self.head(self.blocks(self.tokens(tokens) + self.places(self.order), self.mask, is_causal=True))


def gpt(layers: int) -> tuple[nn.Module, torch.Tensor, Callable[[], None]]:
    """A GPT with AdamW: the model, its tokens, and one step."""
    torch.manual_seed(0)
    model = GPT(layers)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    tokens = torch.randint(1000, (4, 64))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
        optimizer.step()

    return model, tokens, step


SMALL = Workload("encoder d=16", lambda: encoder(16, 2, 4, 2), 60)
LARGE = Workload("encoder d=256", lambda: encoder(256, 8, 64, 8), 4)
DEEP = Workload("GPT, 12 layers", lambda: gpt(12), 3)
WORKLOADS = (SMALL, LARGE, DEEP)
