"""Small programs of two ranks, most under fully_shard, that divide a loss by a count of words, padded to one length;
and their healthy twins. They run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import chosen, run
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

MANY = 20  # steps
WORDS, KINDS, LONGEST = 24, 3, 16


class Tagger(nn.Module):
    """Gives each word of a sentence a kind."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(WORDS, 8)
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.out = nn.Linear(8, KINDS)

    def forward(self, words):
        hidden = self.embed(words)
        for layer in self.layers:
            hidden = hidden + torch.tanh(layer(hidden))
        return self.out(hidden)


def sentences(rank, step, shortest):
    """Words that are padded to one length, their kinds, and which of them are given."""
    torch.manual_seed(100 * rank + step)
    words = torch.randint(1, WORDS, (6, LONGEST))
    lengths = torch.randint(shortest, shortest + 3, (6, 1))
    return words, words % KINDS, torch.arange(LONGEST) < lengths


def of_each_word(rank, net, step, shortest):
    words, kinds, given = sentences(rank, step, shortest)
    return nn.functional.cross_entropy(net(words).transpose(1, 2), kinds, reduction="none"), given


def sharded():
    from torch.distributed.fsdp import fully_shard

    net = Tagger()
    for layer in net.layers:
        fully_shard(layer)
    return fully_shard(net) or net


def masked_mean(losses, mask):
    total = (losses * mask).sum()
    return total / mask.sum()  # expect: GS783 in padded_in_parts


def tagging(rank, net, shortest=None):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(MANY):
        losses, given = of_each_word(rank, net, step, shortest or (13, 2)[rank])
        optimizer.zero_grad()
        loss = masked_mean(losses, given)
        loss.backward()
        optimizer.step()


def padded_in_parts(rank):
    """As in https://github.com/pytorch/torchtitan/pull/1803."""
    tagging(rank, sharded())


def healthy_padded_alike(rank):
    tagging(rank, sharded(), shortest=6)


def mean_of_all_words(losses, mask):
    count = mask.sum()
    dist.all_reduce(count)
    return (losses * mask).sum() * 2 / count


def healthy_mean_of_all_in_parts(rank):
    net = sharded()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(MANY):
        optimizer.zero_grad()
        loss = mean_of_all_words(*of_each_word(rank, net, step, (13, 2)[rank]))
        loss.backward()
        optimizer.step()


def healthy_mean_of_the_padded(rank):
    """Divides by what all ranks have alike: words, and those that are none."""
    net = sharded()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(MANY):
        losses, mask = of_each_word(rank, net, step, (13, 2)[rank])
        optimizer.zero_grad()
        loss = (losses * mask).sum() / mask.numel()
        loss.backward()
        optimizer.step()


def healthy_targets_of_other_sizes(rank):
    """Gradients of squares are as large as what is aimed at; the counts are alike."""
    net = sharded()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    for step in range(MANY):
        words, kinds, mask = sentences(rank, step, shortest=6)
        errors = (net(words)[..., 0] - (kinds + 1.0) * (1 + 9 * rank)).square()
        optimizer.zero_grad()
        loss = (errors * mask).sum() / mask.sum()
        loss.backward()
        optimizer.step()


class Notes:
    """Gives words, and which of them are scored; a reader goes through them word by word."""

    def __init__(self, rank, shortest):
        self.rank, self.shortest, self.step = rank, shortest, 0

    def batch(self):
        self.step += 1
        torch.manual_seed(100 * self.rank + self.step)
        words = torch.randint(1, WORDS, (6, LONGEST))
        scored = torch.arange(LONGEST) >= LONGEST - torch.randint(self.shortest, self.shortest + 3, (6, 1))
        return words, scored.float()


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.out = nn.Embedding(WORDS, 8), nn.Linear(8, WORDS)
        self.read = nn.GRU(8, 8, batch_first=True)

    def forward(self, words):
        return self.out(self.read(self.embed(words))[0])


def own_mean(net, words, scored):
    losses = nn.functional.cross_entropy(net(words).transpose(1, 2), (words * 5 + 3) % WORDS, reduction="none")
    total = (losses * scored).sum()
    return total / scored.sum()  # expect: GS783 in read_in_parts


def reading(rank, shortest):
    from torch.distributed.fsdp import fully_shard

    net = Reader()
    fully_shard(net.out)
    fully_shard(net)
    optimizer, notes = torch.optim.SGD(net.parameters(), lr=0.1), Notes(rank, shortest)
    for _ in range(MANY):
        optimizer.zero_grad()
        loss = own_mean(net, *notes.batch())
        loss.backward()
        optimizer.step()


def read_in_parts(rank):
    """As in https://github.com/pytorch/torchtitan/pull/2206."""
    reading(rank, (13, 2)[rank])


def healthy_read_alike(rank):
    reading(rank, 6)


def masked_loop(rank, loss_of, rows=(48, 12), in_turn=False):
    """Of as many rows, of which some are known: few of the second rank's, or of one and the other in turn."""
    torch.manual_seed(0)
    net, seen = Replicated(nn.Linear(4, 1)), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(MANY):
        torch.manual_seed(100 * rank + step)
        x, known = torch.randn(64, 4), torch.arange(64) < rows[(rank + in_turn * (step // 3)) % 2] + step % 3
        total = ((net(x)[:, 0] - x.sum(1)).square() * known).sum()
        both = torch.stack([total.detach(), known.sum().float()])
        dist.all_reduce(both)
        loss = loss_of(total, known, both)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            seen.append((both[0] / both[1]).item())


def mean_of_the_known(rank):
    """Sums what it shows over all ranks, and takes its own for the loss."""
    masked_loop(rank, lambda total, mask, both: total / mask.sum())  # expect: GS783


def healthy_mean_of_the_known(rank):
    masked_loop(rank, lambda total, mask, both: 2 * total / both[1])


def healthy_mean_of_the_known_weighed_later(rank):
    """Its own mean has the weight of its count, of a number that each rank reads."""
    masked_loop(rank, lambda total, mask, both: (total / mask.sum()) * (2 * float(mask.sum()) / float(both[1])))


def healthy_mean_of_as_many_known(rank):
    masked_loop(rank, lambda total, mask, both: total / mask.sum(), rows=(30, 31))


def mean_of_one_drawer_or_another(rank):
    """Ranks are given long sentences in turn, as those of a like length are together."""
    masked_loop(rank, lambda total, mask, both: total / mask.sum(), in_turn=True)  # expect: GS783


def healthy_mean_of_all_in_turn(rank):
    masked_loop(rank, lambda total, mask, both: 2 * total / both[1], in_turn=True)


def healthy_means_that_differ_by_chance(rank):
    """Counts of this rank's own, half as many again on one of the ranks, whichever this is."""
    masked_loop(rank, lambda total, mask, both: total / mask.sum(), rows=(45, 28), in_turn=True)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
