"""What is measured: training steps, from one where Python is everything to one where it is little."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Workload:
    """A training step: `build` makes it, `steps` is how many of them are one block of a measurement.

    `first` is how many steps a recording takes until what it meets is no longer new.
    """

    name: str
    build: Callable[[], tuple[nn.Module, torch.Tensor, Callable[[], None]]]
    steps: int
    first: int = 20


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


class Text(nn.Module):
    """A language model that goes through a text token by token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.tokens, self.cell, self.head = nn.Embedding(100, width), nn.LSTMCell(width, width), nn.Linear(width, 100)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits, batch x length x vocabulary, for tokens, batch x length."""
        state = (torch.zeros(len(tokens), self.cell.hidden_size), torch.zeros(len(tokens), self.cell.hidden_size))
        found = []
        for token in tokens.unbind(1):
            state = self.cell(self.tokens(token), state)
            found.append(self.head(state[0]))
        return torch.stack(found, 1)


def text(width: int, batch: int) -> tuple[nn.Module, torch.Tensor, Callable[[], None]]:
    """Training on texts of 17 lengths, with AdamW."""
    torch.manual_seed(0)
    chosen, model, everything = random.Random(0), Text(width), torch.randint(100, (batch, 20))
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        tokens = everything[:, : chosen.randrange(4, 21)]
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
        optimizer.step()

    return model, everything, step


def lbfgs(length: int) -> tuple[nn.Module, torch.Tensor, Callable[[], None]]:
    """L-BFGS with a line search, over so many time steps: each step has as many backward calls as it takes."""
    torch.manual_seed(0)
    model = nn.ModuleList((nn.RNNCell(4, 8), nn.Linear(8, 1)))
    cell, head = model
    inputs, targets = torch.randn(length, 4, 4), torch.randn(length, 4, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), 0.05, max_iter=5, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        state, loss = torch.zeros(4, 8), torch.zeros(())
        for one, target in zip(inputs, targets, strict=True):
            state = cell(one, state)
            loss = loss + (head(state) - target).square().mean()
        loss.backward()
        return loss

    return model, inputs, lambda: optimizer.step(closure)


class Waves(nn.Module):
    """Predicts the next value of a wave from those before: torch's example of a sequence, two cells and a head."""

    def __init__(self, width: int = 51) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.LSTMCell(1, width), nn.LSTMCell(width, width), nn.Linear(width, 1)

    def forward(self, waves: torch.Tensor) -> torch.Tensor:
        """The values that follow, batch x length, for waves, batch x length."""
        zeros = torch.zeros(len(waves), self.first.hidden_size, dtype=waves.dtype)
        one, two, found = (zeros, zeros), (zeros, zeros), []
        for value in waves.split(1, 1):
            one = self.first(value, one)
            two = self.second(one[0], two)
            found.append(self.head(two[0]))
        return torch.cat(found, 1)


def waves(length: int) -> tuple[nn.Module, torch.Tensor, Callable[[], None]]:
    """L-BFGS as torch's example has it, 97 waves in double precision, over so many time steps."""
    torch.manual_seed(0)
    model = Waves().double()
    seen = torch.sin(torch.arange(length + 1) / 20 + torch.randint(-80, 80, (97, 1))).double()
    optimizer = torch.optim.LBFGS(model.parameters(), 0.8, max_iter=4)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(seen[:, :-1]), seen[:, 1:])
        loss.backward()
        return loss

    return model, seen, lambda: optimizer.step(closure)


def maml() -> tuple[nn.Module, torch.Tensor, Callable[[], None]]:
    """Meta-learning: one to four inner steps with create_graph, and a backward through all of them."""
    torch.manual_seed(0)
    chosen, x = random.Random(0), torch.randn(8, 1)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters())

    def loss(weights: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.func.functional_call(model, weights, x).square().mean()

    def step() -> None:
        optimizer.zero_grad()
        weights: dict[str, torch.Tensor] = dict(model.named_parameters())
        for _ in range(chosen.randrange(1, 5)):
            slopes = torch.autograd.grad(loss(weights), list(weights.values()), create_graph=True)
            weights = {name: one - 0.1 * slope for (name, one), slope in zip(weights.items(), slopes, strict=True)}
        loss(weights).backward()
        optimizer.step()

    return model, x, step


def recurrent() -> tuple[nn.Module, torch.Tensor, Callable[[], None]]:
    """A linear recurrent net over 10 to 40 time steps, whose gradients explode on their way back through them."""
    torch.manual_seed(0)
    chosen, everything = random.Random(0), torch.randn(40, 4, 8)
    model = nn.ModuleList((nn.Linear(8, 16, bias=False), nn.Linear(16, 16, bias=False)))
    inward, onward = model
    nn.init.orthogonal_(onward.weight, 1.5)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step() -> None:
        optimizer.zero_grad()
        state = torch.zeros(4, 16)
        for one in everything[: chosen.randrange(10, 41)]:
            state = inward(one) + onward(state)
        state.square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
        optimizer.step()

    return model, everything, step


TEXT = Workload("text, 17 lengths, d=16", lambda: text(16, 4), 40, 300)
LONG_TEXT = Workload("text, 17 lengths, d=256", lambda: text(256, 64), 10, 300)
LBFGS = Workload("L-BFGS, 120 time steps", lambda: lbfgs(120), 3, 15)
WAVES = Workload("L-BFGS, 97 waves of 120 time steps", lambda: waves(120), 1, 3)
MAML = Workload("MAML", maml, 20, 100)
RECURRENT = Workload("recurrent, 31 lengths", recurrent, 20, 300)
VARIED = (SMALL, LARGE, TEXT, LONG_TEXT, LBFGS, WAVES, MAML)  # what differs at each step, beside what does not
