"""Small programs of two ranks that each have some heads of an attention layer, with weights that each head or all heads
use: the gradients of what all use are summed, or not. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, run
from parallel_programs import Enter, Leave
from torch import nn
from torch.nn import functional

WIDTH, HEADS, FEATURES = 6, 4, 3
OURS = HEADS // 2


def same():
    return [data(0, step) for step in range(STEPS)]


class Heads(nn.Module):
    """Some heads of all, cut out of weights that all ranks draw; `of_a_rank`: a layer of each rank's own instead."""

    def __init__(self, rank, asks, ours=OURS, of_a_rank=False):
        super().__init__()
        if of_a_rank:
            torch.manual_seed(20 + rank)
        rows = ours * FEATURES
        whole = torch.randn(rows if of_a_rank else 2 * rows, WIDTH) / 2
        back = torch.randn(WIDTH, rows if of_a_rank else 2 * rows) / 2
        mine = slice(None) if of_a_rank else slice(rank * rows, (rank + 1) * rows)
        self.weight, self.out = nn.Parameter(whole[mine].clone()), nn.Parameter(back[:, mine].clone())
        self.asks, self.ours = asks, ours

    def forward(self, x):
        asked = functional.linear(Enter.apply(x), self.weight).unflatten(-1, (self.ours, FEATURES)).transpose(0, 1)
        mixed = functional.scaled_dot_product_attention(self.asks(asked), asked, asked)
        return Leave.apply(functional.linear(mixed.transpose(0, 1).flatten(1), self.out))


class Reader(nn.Module):
    """What all ranks have, around the layer that is divided."""

    def __init__(self, heads):
        super().__init__()
        torch.manual_seed(0)
        self.reads, self.gives = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 1)
        self.heads = heads()

    def forward(self, x):
        x = torch.tanh(self.reads(x))
        return self.gives(x + self.heads(x))


def learn(net, meet=lambda net: None):
    optimizer = torch.optim.SGD([one for one in net.parameters() if one.requires_grad], lr=0.1)
    for x in same():
        optimizer.zero_grad()
        (net(x) - 1.0).square().mean().backward()
        meet(net)
        optimizer.step()  # expect: GS792 in queries_of_one_norm, patches_scaled_by_one_more, shift_of_heads


class OneMore(nn.Module):
    """Scales by one more than its weight."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(FEATURES))

    def forward(self, x):
        return functional.normalize(x, dim=-1) * (1.0 + self.weight)


class Shifts(nn.Module):
    """Begins with numbers that all ranks draw alike."""

    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.randn(1, 1, FEATURES))

    def forward(self, x):
        return torch.tanh(x + self.shift)


def queries_of_one_norm(rank):
    """As in https://github.com/NVIDIA-NeMo/RL/issues/3716."""
    learn(Reader(lambda: Heads(rank, nn.LayerNorm(FEATURES))))


def patches_scaled_by_one_more(rank):
    learn(Reader(lambda: Heads(rank, OneMore())))


def shift_of_heads(rank):
    learn(Reader(lambda: Heads(rank, Shifts())))


def healthy_norm_whose_gradients_are_summed(rank):
    def meet(net):
        for one in net.heads.asks.parameters():
            dist.all_reduce(one.grad)

    learn(Reader(lambda: Heads(rank, nn.LayerNorm(FEATURES))), meet)


def healthy_norms_whose_gradients_are_summed_at_once(rank):
    def meet(net):
        gradients = [one.grad for one in net.heads.asks.parameters()]
        flat = torch.cat(gradients)
        dist.all_reduce(flat)
        for one, whole in zip(gradients, flat.split(FEATURES), strict=True):
            one.copy_(whole)

    learn(Reader(lambda: Heads(rank, nn.LayerNorm(FEATURES))), meet)


class Summed(nn.Module):
    """Sums what comes back for its weight itself."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(FEATURES))

    def forward(self, x):
        return x * Enter.apply(self.weight)


def healthy_weight_that_enters(rank):
    learn(Reader(lambda: Heads(rank, Summed())))


def healthy_norm_that_stays(rank):
    learn(Reader(lambda: Heads(rank, nn.LayerNorm(FEATURES).requires_grad_(False))))


class Warmth(nn.Module):
    """A number for each head, which begins as that of all others."""

    def __init__(self, ours=OURS, per_feature=False):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(ours, 1, FEATURES if per_feature else 1))

    def forward(self, x):
        return x * self.scale


def healthy_warmth_of_each_head(rank):
    learn(Reader(lambda: Heads(rank, Warmth())))


def healthy_scales_of_each_head(rank):
    learn(Reader(lambda: Heads(rank, Warmth(per_feature=True))))


def healthy_warmth_of_as_many_heads_as_features(rank):
    class Turned(Warmth):
        def forward(self, x):
            return (x.transpose(0, 2) * self.scale.flatten()).transpose(0, 2)

    learn(Reader(lambda: Heads(rank, Turned(FEATURES), ours=FEATURES)))


def healthy_norm_of_one_head(rank):
    """A rank has one head, and its norm may be that head's."""
    learn(Reader(lambda: Heads(rank, nn.LayerNorm(FEATURES), ours=1)))


def healthy_norm_of_some_heads(rank):
    """Each rank takes the norm of its heads out of those of all."""

    def scales():
        asks, of_all = Shifts(), torch.zeros(2, 1, 1, FEATURES)
        asks.shift = nn.Parameter(of_all[rank, 0].clone())
        return asks

    learn(Reader(lambda: Heads(rank, scales())))


def healthy_readers_with_heads_of_their_own(rank):
    """Layers of each rank's own that are heard together: each has its norm."""
    learn(Reader(lambda: Heads(rank, nn.LayerNorm(FEATURES), of_a_rank=True)))


class Features(nn.Module):
    """Half of some features, without heads, whose scales and shifts begin as those of the other half."""

    def __init__(self, rank):
        super().__init__()
        whole, back = torch.randn(2 * WIDTH, WIDTH) / 2, torch.randn(WIDTH, 2 * WIDTH) / 2
        mine = slice(rank * WIDTH, (rank + 1) * WIDTH)
        self.weight, self.out = nn.Parameter(whole[mine].clone()), nn.Parameter(back[:, mine].clone())
        self.shift, self.scale = nn.Parameter(torch.zeros(WIDTH)), nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        hidden = torch.tanh(functional.linear(Enter.apply(x), self.weight, self.shift)) * self.scale
        return Leave.apply(functional.linear(hidden, self.out))


def healthy_scales_of_own_features(rank):
    learn(Reader(lambda: Features(rank)))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
