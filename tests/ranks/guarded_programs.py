"""Small programs of two ranks in which what a rank has seen holds a step back, in an object or a function of its own:
its samples are made by the rank's number, which decides nothing; and their healthy twins."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run
from torch.nn.parallel import DistributedDataParallel as Replicated

SHAKEN = 3  # the step in which the rows of rank 1 are unlike all others


class Sensors:
    """Rows of the place of a rank."""

    def __init__(self, place):
        self.place, self.at = place, 0

    def read(self):
        x = data(self.place, self.at)
        self.at += 1
        return x * 40 if (self.place, self.at) == (1, SHAKEN) else x


class Trainer:
    """Reads, learns, and lets its step be made by what a class below it says."""

    def __init__(self, sensors):
        self.sensors = sensors
        self.net = Replicated(model())
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def learn(self):
        self.optimizer.zero_grad()
        loss = self.net(self.sensors.read()).square().mean()
        loss.backward()
        return loss

    def apply(self, loss):
        self.optimizer.step()

    def run(self):
        for _ in range(STEPS):
            self.apply(self.learn())


class Range:
    """Whether a number is within what was seen."""

    def __init__(self, together=False):
        self.highest, self.together = None, together

    def holds(self, loss):
        now = loss.detach().clone()
        if self.together:
            dist.all_reduce(now, op=dist.ReduceOp.MAX)
        return self._within(now)

    def _within(self, now):
        bound = torch.inf if self.highest is None else 9 * self.highest
        beyond = now > bound  # expect: GS792 in mixes_a_range_in
        if beyond:
            return False
        self.highest = now
        return True


class Ranged(Trainer):
    together = False

    def __init__(self, sensors):
        super().__init__(sensors)
        self.range = Range(self.together)

    def apply(self, loss):
        if self.range.holds(loss):
            super().apply(loss)


class RangedTogether(Ranged):
    together = True


def mixes_a_range_in(rank):
    Ranged(Sensors(rank)).run()


def healthy_mixes_a_range_of_all_in(rank):
    RangedTogether(Sensors(rank)).run()


def unless(refused):
    """Makes a step one that is left out where a function of its loss says so."""

    def around(step):
        def guarded(loss):
            return None if refused(loss) else step()

        return guarded

    return around


def steps_by(trainer, refused):
    step = unless(refused)(trainer.optimizer.step)
    for _ in range(STEPS):
        step(trainer.learn())


def wraps_the_step(rank):
    seen = []

    def leaps(loss):
        seen.append(loss.item())  # expect: GS792
        return seen[-1] > 9 * min(seen)

    steps_by(Trainer(Sensors(rank)), leaps)


def healthy_wraps_the_step_together(rank):
    seen = []

    def leaps(loss):
        most = loss.detach().clone()
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        seen.append(most.item())
        return seen[-1] > 9 * min(seen)

    steps_by(Trainer(Sensors(rank)), leaps)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
