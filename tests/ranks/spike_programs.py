"""Programs of two ranks that leave steps out whose loss has leapt; run as those of `group_programs.py` are."""

import sys
from statistics import median

import torch
import torch.distributed as dist
from group_programs import chosen, data, model, run
from torch.nn.parallel import DistributedDataParallel as Replicated

STEPS, BROKEN = 12, 9  # the step in which what a rank's data aim at is far off


class Watch:
    """The losses of one rank so far."""

    def __init__(self):
        self.seen = []

    def leaps(self, value):
        leaps = len(self.seen) >= 4 and value > 10 * median(self.seen)
        if not leaps:
            self.seen.append(value)
        return leaps


def aim(rank, step, broken):
    return 30.0 if (rank, step) == (broken, BROKEN) else 1.0


def trained(rank, leaves_out, broken=1):
    """Steps, but for those that `leaves_out` says by the loss; `broken`: the rank whose data are broken once."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        loss = (net(data(rank, step)) - aim(rank, step, broken)).square().mean()
        if leaves_out(loss):
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def asked_of_the_first(rank):
    watch = Watch()

    def leaves_out(loss):
        flag = torch.tensor([float(watch.leaps(loss.item()))])
        dist.broadcast(flag, src=0)  # expect: GS910
        return flag.item() > 0

    trained(rank, leaves_out)


def kept_and_sent(rank):
    """What is read from the loss has names of its own before it is sent."""
    seen = []

    def leaves_out(loss):
        value = loss.detach().item()
        high = len(seen) >= 4 and value > 10 * median(seen)
        if not high:
            seen.append(value)
        verdict = [high]
        dist.broadcast_object_list(verdict, src=0)  # expect: GS910
        return verdict[0]

    trained(rank, leaves_out)


def around_the_step(rank):
    """The step stands below the condition."""
    net, watch = Replicated(model()), Watch()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        loss = (net(data(rank, step)) - aim(rank, step, 0)).square().mean()
        usable = torch.tensor(0.0 if watch.leaps(loss.item()) else 1.0)
        dist.broadcast(usable, src=1)  # expect: GS910
        if usable > 0:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def healthy_by_any_rank(rank):
    watch = Watch()

    def leaves_out(loss):
        flag = torch.tensor([float(watch.leaps(loss.item()))])
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        return flag.item() > 0

    trained(rank, leaves_out)


def healthy_by_the_mean_loss(rank):
    """All ranks know the mean, and the first one says what it thinks of it."""
    watch = Watch()

    def leaves_out(loss):
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        flag = torch.tensor([float(watch.leaps(mean.item()))])
        dist.broadcast(flag, src=0)
        return flag.item() > 0

    trained(rank, leaves_out)


def healthy_seen_by_the_one_that_decides(rank):
    """Only the data of the rank that decides were ever broken."""
    watch = Watch()

    def leaves_out(loss):
        flag = torch.tensor([float(watch.leaps(loss.item()))])
        dist.broadcast(flag, src=0)
        return flag.item() > 0

    trained(rank, leaves_out, broken=0)


def healthy_shown_alone(rank):
    """What the first rank sends is shown, and no step is left out."""

    def leaves_out(loss):
        shown = torch.tensor([loss.item()])
        dist.broadcast(shown, src=0)
        print(shown.item())
        return False

    trained(rank, leaves_out)


def healthy_by_something_else(rank):
    """The first rank decides by its clock, say, and not by its loss."""
    left = iter(range(STEPS + 1))

    def leaves_out(loss):
        over = torch.tensor([float(next(left) == 2)])
        dist.broadcast(over, src=0)
        return over.item() > 0

    trained(rank, leaves_out)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
