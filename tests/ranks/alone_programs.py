"""Small programs of two ranks in which one goes by what it alone knows: its disk, its clock, a loss of its own; and
their healthy twins. They run as those of `group_programs.py` do."""

import sys
import time
from pathlib import Path

import torch
from group_programs import STEPS, chosen, data, model, run
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel as Replicated


def agreed(value):
    """What rank 0 says."""
    told = [value]
    dist.broadcast_object_list(told, src=0)
    return told[0]


def is_there(path):
    return path.exists()  # expect: GS790 in resumed_at_once


class Disk:
    """Has what rank 0 saved there, in a folder of each rank."""

    def __init__(self, rank, name):
        self.path = Path(f"disk.{rank}.{name}.pt")

    def save(self, net):
        if dist.get_rank() == 0:
            torch.save(net.state_dict(), self.path)
        dist.barrier()

    def state(self):
        return agreed(torch.load(self.path) if dist.get_rank() == 0 else None)

    def load(self):
        if not self.path.exists():  # expect: GS790 in resumed_from_a_disk_of_its_own
            return None
        return self.state()

    def load_by_a_helper(self):
        if not is_there(self.path):
            return None
        return self.state()

    def load_together(self):
        if not agreed(self.path.exists()):
            return None
        return self.state()


def stage(disk, load):
    net = model()
    state = load()
    if state is not None:
        net.load_state_dict(state)
    net = Replicated(net)
    net(data(dist.get_rank(), 0)).square().mean().backward()
    disk.save(net.module)


def resumed_from_a_disk_of_its_own(rank):
    disk = Disk(rank, "alone")
    stage(disk, disk.load)
    stage(disk, disk.load)


def resumed_at_once(rank):
    """Asks before any rank has met another."""
    disk = Disk(rank, "once")
    if rank == 0:
        torch.save(model().state_dict(), disk.path)
    stage(disk, disk.load_by_a_helper)


class Stage:
    def __init__(self, disk):
        self.disk, self.net = disk, Replicated(model())

    def take_up(self):
        there = self.disk.path.exists()  # expect: GS790 in made_and_run_by_one_line
        if not there:
            return False
        self.net.module.load_state_dict(self.disk.state())
        return True

    def run(self):
        self.take_up()
        self.net(data(dist.get_rank(), 0)).square().mean().backward()
        self.disk.save(self.net.module)


def made_and_run_by_one_line(rank):
    disk = Disk(rank, "stages")
    for _ in range(2):
        Stage(disk).run()


def healthy_resumed_by_what_one_finds(rank):
    disk = Disk(rank, "together")
    stage(disk, disk.load_together)
    stage(disk, disk.load_together)


class Cache:
    """Samples on a disk, which rank 0 writes for all."""

    def __init__(self, name):
        self.path = Path(f"cache.{name}.pt")

    def returned_early(self):
        if dist.get_rank() == 0:
            if self.path.exists():  # expect: GS790 in taken_from_a_cache
                return torch.load(self.path)
            torch.save(data(0, 0), self.path)
        dist.barrier()
        return torch.load(self.path)

    def returned_late(self):
        if dist.get_rank() == 0 and not self.path.exists():
            torch.save(data(0, 0), self.path)
        dist.barrier()
        return torch.load(self.path)


def epochs(net, take):
    x = take()
    for _ in range(2):
        net(x).square().mean().backward()
        dist.all_reduce(torch.ones(()))


def taken_from_a_cache(rank):
    net, cache = Replicated(model()), Cache("early")
    for _ in range(2):
        epochs(net, cache.returned_early)


def healthy_taken_from_a_cache(rank):
    net, cache = Replicated(model()), Cache("late")
    for _ in range(2):
        epochs(net, cache.returned_late)


class Statistics:
    """A mean that is computed once, and kept in a folder of each rank."""

    def __init__(self, rank, name):
        self.path = Path(f"mean.{rank}.{name}.pt")

    def fit(self, x, known):
        if known(self.path):  # expect: GS790 in looked_up_by_each
            found = [torch.load(self.path) if dist.get_rank() == 0 else None]
            dist.broadcast_object_list(found, src=0)
            return found[0]
        else:
            mean = x.mean()
            dist.all_reduce(mean)
            if dist.get_rank() == 0:
                torch.save(mean / 2, self.path)
        return mean / 2


def fitted(rank, name, known):
    net, statistics = Replicated(model()), Statistics(rank, name)
    for step in range(2):
        x = data(rank, step)
        net(x - statistics.fit(x, known)).square().mean().backward()
        dist.all_reduce(torch.ones(()))


def looked_up_by_each(rank):
    fitted(rank, "each", Path.exists)


def healthy_looked_up_by_one(rank):
    fitted(rank, "one", lambda path: agreed(path.exists()))


def looked_up_in_a_loop(rank):
    path = Path(f"mean.{rank}.loop.pt")
    for step in range(STEPS):
        mean = data(rank, step).mean()
        if path.exists():  # expect: GS790
            dist.broadcast(mean, src=0)
        else:
            dist.all_reduce(mean)
            if rank == 0:
                torch.save(mean, path)
        dist.all_reduce(torch.ones(()))


def gathered_now_and_then(step):
    if step % 2:
        dist.all_gather([torch.empty(1), torch.empty(1)], torch.ones(1))


def one_more_below(rank):
    for step in range(STEPS):
        gathered_now_and_then(step)
        dist.all_reduce(torch.ones(1))
        if rank == 1 and step == 2:
            dist.all_reduce(torch.ones(3))  # expect: GS790


def one_more_in_an_arm(rank):
    for step in range(STEPS):
        if step % 2:
            dist.broadcast(torch.ones(2), src=0)
        else:
            dist.all_reduce(torch.ones(1))
            if rank == 1:
                dist.all_reduce(torch.ones(3))  # expect: GS790


def summed(many):
    dist.all_reduce(torch.ones(many))  # expect: GS790 in one_arm_for_each_rank


def one_arm_for_each_rank(rank):
    dist.all_reduce(torch.ones(1))
    if rank == 0:
        dist.broadcast(torch.ones(2), src=0)
    else:
        summed(3)


def logged_by_the_clock(rank):
    net = Replicated(model())
    next_time = time.monotonic() + 1000 * rank
    for step in range(STEPS):
        loss = net(data(rank, step)).square().mean()
        loss.backward()
        if time.monotonic() > next_time:  # expect: GS790
            dist.all_gather([torch.empty(()), torch.empty(())], loss.detach())


class Trainer:
    """Leaves out a batch without a finite loss."""

    def __init__(self, together=False):
        self.net = Replicated(model())
        self.together, self.left = together, []

    def step(self, x):
        loss = self.net(x).square().mean()
        bad = (~loss.isfinite()).int()
        if self.together:
            dist.all_reduce(bad)
        if bad:  # expect: GS790 in left_by_its_own_loss
            self.left.append(bad.item())
            return
        dist.all_gather([torch.empty(()), torch.empty(())], loss.detach())
        loss.backward()

    def epoch(self, batches):
        for x in batches:  # expect: GS790 in left_by_both_and_fewer
            self.step(x)
        dist.all_reduce(torch.tensor(float(len(self.left))))


def batches(rank, bad, many=STEPS):
    return [data(rank, step) / (step not in bad) for step in range(many)]


def left_by_its_own_loss(rank):
    Trainer().epoch(batches(rank, [2] * rank))


def left_by_both_and_fewer(rank):
    """Each leaves one out, and one has fewer."""
    Trainer().epoch(batches(rank, [1 + rank], STEPS - rank))


def scaled(loss):
    return loss * 0.5


class Logging(Trainer):
    """Looks closer at some batches, and might leave one out."""

    def step(self, x):
        loss = scaled(self.net(x).square().mean())
        if x.sum() > 50:
            self.left.append(loss.item())
            if not loss.isfinite():
                return
        else:
            loss = loss + 0.0
        loss = scaled(loss)
        dist.all_gather([torch.empty(()), torch.empty(())], loss.detach())
        loss.backward()

    def epoch(self, batches):
        for x in batches:
            self.step(x)
        dist.all_reduce(torch.tensor(float(len(self.left))))


def looked_closer_and_fewer(rank):
    given = [data(rank, step) + 10 * rank * (step == 2) for step in range(STEPS - rank)]  # expect: GS790
    Logging().epoch(given)


def healthy_left_together(rank):
    Trainer(together=True).epoch(batches(rank, [2] * rank))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
