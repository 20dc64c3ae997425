"""Programs of two ranks that keep what they have computed in a buffer which DistributedDataParallel broadcasts, and
their healthy twins, run as those of `group_programs.py` are."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, data, run
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

PLACES, ROWS, STEPS = 20, 5, 10


def of_all(rows):
    found = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
    dist.all_gather(found, rows.contiguous())
    return torch.cat(found)


class Songs(nn.Module):
    """Tells songs from those that were heard before; `keep` puts what was heard into the buffer."""

    def __init__(self, keep, reads_first=True):
        super().__init__()
        torch.manual_seed(0)
        self.ear = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        self.register_buffer("heard", torch.randn(PLACES, 3))
        self.register_buffer("across", torch.randn(3, PLACES))
        self.register_buffer("at", torch.zeros((), dtype=torch.long))
        self.keep, self.reads_first = keep, reads_first

    def forward(self, x):
        tune = self.ear(x)
        if not self.reads_first:
            self.keep(self, tune.detach())
        alike = tune @ self.heard.clone().t() + tune @ self.across.clone()
        if self.reads_first:
            with torch.no_grad():
                self.keep(self, tune.detach())
                self.at.copy_((self.at + ROWS) % PLACES)
        return alike.logsumexp(1) + tune.square().sum(1)


def listen(rank, keep, reads_first=True):
    net = Replicated(Songs(keep, reads_first))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).mean().backward()
        optimizer.step()


def queue_of_each_rank(rank):
    """As in https://github.com/bl0/moco/issues/15."""

    def keep(songs, tune):
        first = int(songs.at)
        songs.heard[first : first + ROWS] = tune  # expect: GS797

    listen(rank, keep)


def places_of_each_rank(rank):
    def keep(songs, tune):
        places = (songs.at + torch.arange(ROWS)) % PLACES
        songs.heard.index_copy_(0, places, tune / tune.norm(dim=1, keepdim=True).clamp_min(2))  # expect: GS797

    listen(rank, keep)


def columns_of_each_rank(rank):
    def keep(songs, tune):
        first = int(songs.at)
        songs.across[:, first : first + ROWS] = tune.t()  # expect: GS797

    listen(rank, keep)


def healthy_queue_of_all(rank):
    def keep(songs, tune):
        rows = of_all(tune)
        songs.heard[: len(rows)] = rows

    listen(rank, keep)


def healthy_averages_at_places(rank):
    """As those of BatchNorm, which the first rank's stand for."""

    def keep(songs, tune):
        places = (songs.at + torch.arange(ROWS)) % PLACES
        songs.heard[places] = 0.9 * songs.heard[places] + 0.1 * tune

    listen(rank, keep)


def healthy_average_of_a_part(rank):
    def keep(songs, tune):
        songs.heard[:ROWS].lerp_(tune, 0.1)

    listen(rank, keep)


def healthy_room_for_the_rows(rank):
    """Written anew before anything reads it."""

    def keep(songs, tune):
        songs.heard[:ROWS] = tune

    listen(rank, keep, reads_first=False)


def healthy_mark(rank):
    def keep(songs, tune):
        songs.heard[int(songs.at)] = 1.0

    listen(rank, keep)


def healthy_same_rows(rank):
    def keep(songs, tune):
        rows = torch.randn(ROWS, 3, generator=torch.Generator().manual_seed(int(songs.at)))
        songs.heard[:ROWS] = rows

    listen(rank, keep)


def healthy_brought_together(rank):
    def keep(songs, tune):
        first = int(songs.at)
        songs.heard[first : first + ROWS] = tune
        dist.all_reduce(songs.heard, op=dist.ReduceOp.MAX)

    listen(rank, keep)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
