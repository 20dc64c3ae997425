"""Small programs of two ranks that each have a part of a layer, behind layers that both have: what the part passes back
is summed, or not. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, run
from parallel_programs import Enter, Leave, total
from torch import nn
from torch.nn import functional

WIDTH, HIDDEN = 6, 12  # of which each rank has as many as the layer is wide
LATE = 9


class Outputs(torch.autograd.Function):
    """Some outputs of a layer."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        of_input = gradient @ weight  # expect: GS792 in soil_whose_layer_passes_its_share_back
        of_weight = gradient.t() @ x
        return of_input, of_weight


class SummedOutputs(Outputs):
    @staticmethod
    def backward(ctx, gradient):
        of_input, of_weight = Outputs.backward(ctx, gradient)
        return total(of_input), of_weight


class Halves(nn.Module):
    """Half of the hidden features on each rank."""

    def __init__(self, rank, outputs, enter=lambda x: x):
        super().__init__()
        self.outputs, self.enter = outputs, enter
        up, down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH, bias=False)
        half = slice(rank * HIDDEN // 2, (rank + 1) * HIDDEN // 2)
        self.up = nn.Parameter(up.weight.detach()[half].clone())
        self.down = nn.Parameter(down.weight.detach()[:, half].clone())

    def forward(self, x):
        hidden = torch.tanh(self.outputs(self.enter(x), self.up))
        return Leave.apply(functional.linear(hidden, self.down))


class Soil(nn.Module):
    """Reads what all ranks read, by a layer that all have."""

    def __init__(self, halves):
        super().__init__()
        torch.manual_seed(0)
        self.reads, self.gives = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 1)
        self.halves = halves()

    def forward(self, x):
        x = torch.relu(self.reads(x))
        return self.gives(x + self.halves(x))


def learn(net, batches, after=lambda net: None):
    optimizer = torch.optim.SGD([one for one in net.parameters() if one.requires_grad], lr=0.05)
    for x in batches:
        optimizer.zero_grad()
        (net(x) - 1.0).square().mean().backward()
        after(net)
        optimizer.step()


def same():
    return [data(0, step) for step in range(STEPS)]


def soil_whose_layer_passes_its_share_back(rank):
    """As in https://github.com/pytorch/torchtitan/pull/1878."""
    learn(Soil(lambda: Halves(rank, Outputs.apply)), same())


def healthy_soil_whose_layer_sums(rank):
    learn(Soil(lambda: Halves(rank, SummedOutputs.apply)), same())


def weighs(x, weight):
    return functional.linear(x, weight)  # expect: GS792 in soil_without_a_way_in


def soil_without_a_way_in(rank):
    """Neither the layer nor what comes before it sums what is passed back."""
    learn(Soil(lambda: Halves(rank, weighs)), same())


def healthy_soil_with_a_way_in(rank):
    learn(Soil(lambda: Halves(rank, weighs, Enter.apply)), same())


class Passes(torch.autograd.Function):
    """Lets its input through, and what comes back."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient  # expect: GS792 in soil_whose_way_in_sums_nothing


def soil_whose_way_in_sums_nothing(rank):
    learn(Soil(lambda: Halves(rank, weighs, Passes.apply)), same())


def healthy_soil_that_sums_shares_later(rank):
    """The gradients of the layer that all have are shares, and are put together before the step."""

    def after(net):
        shares = [one.grad for one in net.reads.parameters()]
        direct = torch.cat([one.flatten() for one in shares])
        dist.all_reduce(direct)
        for one, whole in zip(shares, direct.split([one.numel() for one in shares]), strict=True):
            one.copy_(whole.view_as(one) / 2)

    learn(Soil(lambda: Halves(rank, weighs)), same(), after)


def healthy_soil_that_is_frozen(rank):
    net = Soil(lambda: Halves(rank, weighs))
    net.reads.requires_grad_(False)
    learn(net, same())


class Side(nn.Module):
    """A model of each rank's own measurements; the last layer of all is cut by what each side puts in."""

    def __init__(self, rank):
        super().__init__()
        torch.manual_seed(0)
        self.own, self.gives = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 1)
        last = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.last = nn.Parameter(last.weight.detach()[:, rank * WIDTH : (rank + 1) * WIDTH].clone())

    def forward(self, x):
        return self.gives(Leave.apply(functional.linear(torch.tanh(self.own(x)), self.last)))


def healthy_sides(rank):
    """Begun alike, and trained by each for what it alone measures."""
    learn(Side(rank), [data(rank, step) for step in range(STEPS)])


class Voices(nn.Module):
    """Models that begin with one trunk, and are heard together: each trains its own."""

    def __init__(self, rank):
        super().__init__()
        torch.manual_seed(0)
        self.trunk = nn.Linear(4, WIDTH)
        torch.manual_seed(5 + rank)
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, x):
        return Leave.apply(self.head(torch.tanh(self.trunk(x)))) / 2


def healthy_voices(rank):
    learn(Voices(rank), same())


class Heads:
    """Attention whose heads are divided; its weights are plain tensors in a list, by no name."""

    def __init__(self, rank, enter):
        torch.manual_seed(6)
        self.enter = enter
        read, given = torch.randn(4, WIDTH) / 2, torch.randn(WIDTH, 1) / 2
        asks, answers = torch.randn(4, WIDTH, 3) / 2, torch.randn(4, 3, WIDTH) / 2
        mine = slice(2 * rank, 2 * rank + 2)
        self.held = [one.clone().requires_grad_() for one in (read, asks[mine], answers[mine], given)]

    def parameters(self):
        return self.held

    def __call__(self, x):
        read, asks, answers, given = self.held
        x = torch.tanh(x @ read)[None]
        asked = torch.einsum("btd,hdk->bhtk", self.enter(x), asks)  # expect: GS792 in heads_that_each_answer_alone
        mixed = (asked @ asked.transpose(2, 3)).softmax(-1) @ asked
        return (x + Leave.apply(torch.einsum("bhtk,hkd->btd", mixed, answers))) @ given


def heads_that_each_answer_alone(rank):
    learn(Heads(rank, lambda x: x), same())


def healthy_heads_that_answer_together(rank):
    learn(Heads(rank, Enter.apply), same())


class Likeness(nn.Module):
    """Compares with half of the kinds on each rank, whatever their lengths."""

    def __init__(self, rank, enter):
        super().__init__()
        torch.manual_seed(0)
        self.reads, self.enter = nn.Linear(4, WIDTH), enter
        kinds = nn.Linear(WIDTH, 8, bias=False)
        self.kinds = nn.Parameter(kinds.weight.detach().chunk(2)[rank].clone())

    def forward(self, x):
        x = functional.normalize(self.enter(torch.relu(self.reads(x))), dim=1)
        kinds = self.kinds / self.kinds.norm(dim=1, keepdim=True)
        alike = x @ kinds.t()  # expect: GS792 in kinds_that_pass_their_share_back
        return Leave.apply(alike.exp().sum(1, keepdim=True)).log()


def summed_by_a_hook(x):
    """What comes back here is summed, by no Function."""
    way_in = x.view_as(x)
    way_in.register_hook(total)
    return way_in


def kinds_that_pass_their_share_back(rank):
    """As in https://github.com/pytorch/pytorch/issues/157606."""
    learn(Likeness(rank, lambda x: x), same())


def healthy_kinds(rank):
    learn(Likeness(rank, Enter.apply), same())


def healthy_kinds_behind_a_hook(rank):
    learn(Likeness(rank, summed_by_a_hook), same())


class Image(nn.Module):
    """Channels of a convolution on each rank."""

    def __init__(self, rank, enter):
        super().__init__()
        torch.manual_seed(0)
        self.reads, self.gives, self.enter = nn.Conv1d(1, 4, 3, padding=1), nn.Linear(4, 1), enter
        wide, narrow = nn.Conv1d(4, 12, 3, padding=1), nn.Conv1d(12, 4, 1)
        mine = slice(6 * rank, 6 * rank + 6)
        self.wide = nn.Parameter(wide.weight.detach()[mine].clone())
        self.narrow = nn.Parameter(narrow.weight.detach()[:, mine].clone())

    def forward(self, x):
        x = torch.relu(self.reads(x[:, None]))
        part = functional.conv1d(self.enter(x), self.wide, padding=1)  # expect: GS792 in image_of_own_channels
        return self.gives(Leave.apply(functional.conv1d(torch.relu(part), self.narrow)).mean(2))


def image_of_own_channels(rank):
    learn(Image(rank, lambda x: x), same())


def healthy_image(rank):
    learn(Image(rank, Enter.apply), same())


class Pieces(torch.autograd.Function):
    """Hands an input out in pieces, and puts together what comes back."""

    @staticmethod
    def forward(ctx, x):
        return tuple(one.clone() for one in x.chunk(2))

    @staticmethod
    def backward(ctx, *gradients):
        gradient = torch.cat(gradients)
        return gradient  # expect: GS792 in soil_in_pieces_later_on


class SummedPieces(Pieces):
    @staticmethod
    def backward(ctx, *gradients):
        return total(Pieces.backward(ctx, *gradients))


class Fields(Halves):
    """Takes much at once in pieces."""

    def __init__(self, rank, pieces):
        super().__init__(rank, weighs)
        self.pieces = pieces

    def forward(self, x):
        pieces = self.pieces(x) if len(x) > 5 else (Enter.apply(x),)
        hidden = [torch.tanh(weighs(one, self.up)) for one in pieces]
        return Leave.apply(functional.linear(torch.cat(hidden), self.down))


def more_later():
    return [data(0, step) if step < LATE else torch.cat([data(0, step), data(1, step)]) for step in range(LATE + 15)]


def soil_in_pieces_later_on(rank):
    learn(Soil(lambda: Fields(rank, Pieces.apply)), more_later())


def healthy_soil_in_pieces(rank):
    learn(Soil(lambda: Fields(rank, SummedPieces.apply)), more_later())


def some_kinds(rank):
    return [one.chunk(2)[rank].clone().requires_grad_() for one in (torch.randn(8, WIDTH), torch.zeros(8))]


def answers(x, rows, shift):
    scores = x @ rows.t() + shift  # expect: GS792 in kinds_that_join_later
    return Leave.apply(scores.exp().sum(1, keepdim=True)).log().square().mean()


def in_two_phases(rank, enter_later):
    """Plain tensors that nothing names, of which some are used from a later step on."""
    torch.manual_seed(0)
    reads, both = nn.Linear(4, WIDTH), [some_kinds(rank), some_kinds(rank)]
    optimizer = torch.optim.SGD([*reads.parameters(), *both[0], *both[1]], lr=0.05)
    for step in range(LATE + 15):
        x = torch.relu(reads(data(0, step)))
        loss = answers(Enter.apply(x), *both[0])
        if step >= LATE:
            loss = loss + answers(enter_later(x), *both[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def kinds_that_join_later(rank):
    in_two_phases(rank, lambda x: x)


def healthy_kinds_that_join_later(rank):
    in_two_phases(rank, Enter.apply)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
