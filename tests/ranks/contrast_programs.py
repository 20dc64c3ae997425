"""Programs of two ranks whose loss goes over what all have gathered, run as those of `group_programs.py` are."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run
from torch.nn.parallel import DistributedDataParallel as Replicated


def contrast(rank, gather):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        query, keys = net(data(rank, step)), net(data(rank, step + STEPS))
        others = torch.cat(gather(keys, rank))
        target = torch.arange(len(query)) + rank * len(query)
        torch.nn.functional.cross_entropy(query @ others.t(), target).backward()
        optimizer.step()


def gathered(keys):
    parts = [torch.empty_like(keys) for _ in range(2)]
    dist.all_gather(parts, keys)  # expect: GS785 in keys_without_gradient
    return parts


def keys_without_gradient(rank):
    contrast(rank, lambda keys, rank: gathered(keys))


def healthy_keys(rank):
    contrast(rank, lambda keys, rank: [keys if one == rank else part for one, part in enumerate(gathered(keys))])


def by_graph(parts, own, rank):
    return torch.cat([own if one == rank else part for one, part in enumerate(parts)])


def detached(tensor):
    parts = [torch.empty_like(tensor) for _ in range(2)]
    dist.all_gather(parts, tensor.detach())
    return parts


def matched(rank, loss):
    """Words and pictures of one net are told to match, over those of all ranks."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        words, pictures = net(torch.cat([data(rank, step), data(rank, step + STEPS)])).chunk(2)
        loss(words, pictures, rank).backward()
        optimizer.step()


def told_apart(words, pictures):
    return torch.nn.functional.cross_entropy(words @ pictures.t(), torch.arange(len(words)))


def one_side_put_back(rank):
    """As in https://github.com/KevinMusgrave/pytorch-metric-learning/issues/10."""

    def loss(words, pictures, rank):
        mine = by_graph(detached(words), words, rank)
        others = torch.cat(detached(pictures))  # expect: GS785
        return told_apart(mine, others) * 2

    matched(rank, loss)


def healthy_both_put_back(rank):
    def loss(words, pictures, rank):
        mine = by_graph(detached(words), words, rank)
        return told_apart(mine, by_graph(detached(pictures), pictures, rank)) * 2

    matched(rank, loss)


def healthy_target_without_a_graph(rank):
    def loss(words, pictures, rank):
        mine = by_graph(detached(words), words, rank)
        return told_apart(mine, torch.cat(detached(pictures.detach()))) * 2

    matched(rank, loss)


def healthy_target_used_beside(rank):
    def loss(words, pictures, rank):
        mine = by_graph(detached(words), words, rank)
        return told_apart(mine, torch.cat(detached(pictures))) + (words - pictures).square().mean()

    matched(rank, loss)


def healthy_only_looked_at(rank):
    def loss(words, pictures, rank):
        mine = by_graph(detached(words), words, rank)
        near = (torch.cat(detached(pictures)) > 0).long().flatten()
        return told_apart(mine, mine) + mine.flatten()[near].mean()

    matched(rank, loss)


def banked(tensor):
    """The rows of all, in one room that is made before."""
    bank = tensor.new_empty(2, *tensor.shape)
    dist.all_gather(list(bank.unbind(0)), tensor.detach().contiguous())
    return bank


def with_own(bank, own, rank):
    rows = list(bank.unbind(0))
    rows[rank] = own
    return torch.stack(rows)


def one_side_of_a_bank_put_back(rank):
    """As in https://github.com/huggingface/accelerate/issues/1154."""

    def loss(words, pictures, rank):
        mine = with_own(banked(words), words, rank)
        others = banked(pictures)  # expect: GS785
        return told_apart(mine.flatten(0, 1), others.flatten(0, 1)) * 2

    matched(rank, loss)


def healthy_both_sides_of_a_bank_put_back(rank):
    def loss(words, pictures, rank):
        mine, others = (with_own(banked(one), one, rank) for one in (words, pictures))
        return told_apart(mine.flatten(0, 1), others.flatten(0, 1)) * 2

    matched(rank, loss)


def healthy_bank_of_what_has_no_graph(rank):
    def loss(words, pictures, rank):
        mine = with_own(banked(words), words, rank)
        return told_apart(mine.flatten(0, 1), banked(pictures.detach()).flatten(0, 1)) * 2

    matched(rank, loss)


def healthy_own_beside_the_rows_of_others(rank):
    """What this rank has is compared by itself, and of the bank the others' rows alone."""

    def loss(words, pictures, rank):
        mine = with_own(banked(words), words, rank).flatten(0, 1)
        near = (words * pictures).sum(1).mean()
        return (mine @ banked(pictures)[1 - rank].t()).logsumexp(1).mean() - near

    matched(rank, loss)


class Parts(torch.autograd.Function):
    """Gathers, and gives what came back for this rank's own."""

    @staticmethod
    def forward(ctx, keys):
        return tuple(gathered(keys))

    @staticmethod
    def backward(ctx, *gradients):
        return gradients[dist.get_rank()]  # expect: GS768 in keys_with_their_own_gradient


class Summed(Parts):
    """Sums what came back before it takes that for this rank's own."""

    @staticmethod
    def forward(ctx, keys):
        return tuple(gathered(keys))

    @staticmethod
    def backward(ctx, *gradients):
        whole = torch.stack(gradients)
        dist.all_reduce(whole)
        return whole[dist.get_rank()]


class CutFirst(torch.autograd.Function):
    """Takes its own of what came back before it is summed."""

    @staticmethod
    def forward(ctx, keys):
        return torch.cat(gathered(keys))

    @staticmethod
    def backward(ctx, gradient):
        size = len(gradient) // dist.get_world_size()
        own = gradient.narrow(0, size * dist.get_rank(), size).clone()
        dist.all_reduce(own)  # expect: GS768 in keys_cut_before_the_sum
        return own


class OneByOne(CutFirst):
    """Sums the parts of all, each by itself."""

    @staticmethod
    def forward(ctx, keys):
        return torch.cat(gathered(keys))

    @staticmethod
    def backward(ctx, gradient):
        parts = [one.clone() for one in gradient.chunk(dist.get_world_size())]
        for one in parts:
            dist.all_reduce(one)
        return parts[dist.get_rank()]


class Scaled(Summed):
    """Takes its own for those of all."""

    @staticmethod
    def forward(ctx, keys):
        return tuple(gathered(keys))

    @staticmethod
    def backward(ctx, *gradients):
        return gradients[dist.get_rank()] * len(gradients)


class Beside(torch.autograd.Function):
    """Lets values through, and sums over the ranks what comes back for all of them."""

    @staticmethod
    def forward(ctx, *parts):
        return tuple(one.view_as(one) for one in parts)

    @staticmethod
    def backward(ctx, *gradients):
        whole = torch.stack(gradients)
        dist.all_reduce(whole)
        return tuple(whole)


class Chosen(torch.autograd.Function):
    """Sums what comes back before it takes that for this rank's own, if it is told so."""

    @staticmethod
    def forward(ctx, rows, whole):
        ctx.whole = whole
        return torch.cat(gathered(rows))

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        if ctx.whole:
            dist.all_reduce(gradient)
        return gradient.chunk(dist.get_world_size())[dist.get_rank()], None


def everyone(rows, whole=False):
    return Chosen.apply(rows, whole)


def both_ways(words, pictures, rank, all_words, all_pictures):
    own = torch.arange(len(words)) + rank * len(words)
    to_pictures = torch.nn.functional.cross_entropy(words @ all_pictures.t(), own)
    return to_pictures + torch.nn.functional.cross_entropy(pictures @ all_words.t(), own)


def pictures_with_their_own_gradient(rank):
    def loss(words, pictures, rank):
        all_words = everyone(words, whole=True)
        return both_ways(words, pictures, rank, all_words, everyone(pictures))  # expect: GS768

    matched(rank, loss)


def words_with_their_own_gradient(rank):
    """As in https://github.com/facebookresearch/SLIP/issues/31."""

    def loss(words, pictures, rank):
        rows = {}
        for name, one in (("words", words), ("pictures", pictures)):
            rows[name] = everyone(one, name == "pictures")  # expect: GS768
        return both_ways(words, pictures, rank, *rows.values())

    matched(rank, loss)


def healthy_both_with_the_sum(rank):
    def loss(words, pictures, rank):
        return both_ways(words, pictures, rank, everyone(words, whole=True), everyone(pictures, whole=True))

    matched(rank, loss)


def healthy_rows_that_all_use_alike(rank):
    """What is computed of the rows of all is the same on each rank, beside a loss of each one's own."""

    def loss(words, pictures, rank):
        own = both_ways(words, pictures, rank, everyone(words, whole=True), everyone(pictures, whole=True))
        return own + everyone(pictures).square().mean(0).sub(0.5).square().sum()

    matched(rank, loss)


def keys_with_their_own_gradient(rank):
    contrast(rank, lambda keys, rank: Parts.apply(keys))


def healthy_keys_with_the_sum(rank):
    contrast(rank, lambda keys, rank: Summed.apply(keys))


def keys_cut_before_the_sum(rank):
    contrast(rank, lambda keys, rank: [CutFirst.apply(keys)])


def healthy_keys_summed_one_by_one(rank):
    contrast(rank, lambda keys, rank: [OneByOne.apply(keys)])


def healthy_keys_that_are_scaled(rank):
    contrast(rank, lambda keys, rank: Scaled.apply(keys))


def healthy_keys_summed_behind(rank):
    contrast(rank, lambda keys, rank: Beside.apply(*Parts.apply(keys)))


def healthy_keys_in_one_loss(rank):
    """All ranks compute the loss of all, whose gradient is whole in each part."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        torch.cat(Parts.apply(net(data(rank, step)))).sub(1.0).square().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
