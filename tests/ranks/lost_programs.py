"""Programs of two ranks that exchange gradients or parameters by hand in vain, and their healthy twins.

The sum of a copy that nothing reads, one that a rank alone is given, one that comes too late; parameters that are
written after the wrap. They run as those of `group_programs.py` do.
"""

import sys
import time

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated


def by_hand(net, rank, average, after=lambda net: None):
    """Trains what each rank has, with an exchange before each step and another after it."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        average(net)
        optimizer.step()
        after(net)


def flat(net):
    return torch.cat([parameter.grad.flatten() for parameter in net.parameters()])


def parts_of(net, summed):
    sizes = [parameter.numel() for parameter in net.parameters()]
    return zip(net.parameters(), summed.split(sizes), strict=True)


def summed_and_not_copied_back(rank):
    """As in https://github.com/deepspeedai/DeepSpeed/pull/316."""

    def average(net):
        summed = flat(net)
        dist.all_reduce(summed)
        for parameter, part in parts_of(net, summed / 2):
            parameter.mean_gradient = part.view_as(parameter).clone()  # expect: GS796

    by_hand(model(), rank, average)


def summed_in_place_and_not_copied_back(rank):
    def average(net):
        summed = flat(net)
        dist.all_reduce(summed)
        summed.div_(2)  # expect: GS796

    by_hand(model(), rank, average)


def summed_in_half_and_dropped(rank):
    def average(net):
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad.to(torch.bfloat16))  # expect: GS796

    by_hand(model(), rank, average)


def healthy_summed_and_copied_back(rank):
    def average(net):
        summed = flat(net)
        dist.all_reduce(summed)
        for parameter, part in parts_of(net, summed.div_(2)):
            parameter.grad.copy_(part.view_as(parameter))

    by_hand(model(), rank, average)


def healthy_copied_back_by_numpy(rank):
    """What reads the sum is not torch's."""

    def average(net):
        summed = flat(net)
        dist.all_reduce(summed)
        back = torch.tensor((summed.numpy() / 2).tolist())
        for parameter, part in parts_of(net, back):
            parameter.grad.copy_(part.view_as(parameter))

    by_hand(model(), rank, average)


def read_out_of_the_sum(rank):
    """What goes by a number may be told otherwise to each: nothing is said."""

    def average(net):
        summed = flat(net)
        dist.all_reduce(summed)
        summed.norm().item()

    by_hand(model(), rank, average)


def healthy_models_of_their_own(rank):
    """Each rank trains another model, and meets the others by a sum that nobody reads."""

    def average(net):
        dist.all_reduce(flat(net))

    by_hand(model(rank), rank, average)


def summed_for_one(rank):
    def average(net):
        for parameter in net.parameters():
            dist.reduce(parameter.grad, dst=0)  # expect: GS796
            parameter.grad /= 2

    by_hand(model(), rank, average)


def healthy_one_steps_for_all(rank):
    """Gives what rank 0 came to on to the others."""

    def average(net):
        for parameter in net.parameters():
            dist.reduce(parameter.grad, dst=0)
            parameter.grad /= 2

    def after(net):
        for parameter in net.parameters():
            dist.broadcast(parameter.data, src=0)

    by_hand(model(), rank, average, after)


def mean_of_gradients(net):
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= 2


def summed_after_the_step(rank):
    """As in https://github.com/Azure/MS-AMP/pull/18."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        optimizer.step()
        mean_of_gradients(net)  # expect: GS792


def healthy_summed_before_the_step(rank):
    by_hand(model(), rank, mean_of_gradients)


def begun(net, rank):
    """Sums that the other rank begins later."""
    time.sleep(0.1 * rank)
    return [dist.all_reduce(parameter.grad, async_op=True) for parameter in net.parameters()]


def nobody_waits(rank):
    """As in https://github.com/OpenNMT/OpenNMT-py/issues/2295."""

    def average(net):
        time.sleep(0.1 * rank)
        for parameter in net.parameters():
            parameter.grad /= 2
            dist.all_reduce(parameter.grad, async_op=True)  # expect: GS792

    by_hand(model(), rank, average, lambda net: dist.barrier())


def healthy_waits(rank):
    def average(net):
        for one in begun(net, rank):
            one.wait()
        for parameter in net.parameters():
            parameter.grad /= 2

    by_hand(model(), rank, average)


class Scaled(nn.Module):
    """Has a scale that it takes from its first batch."""

    def __init__(self, measure):
        super().__init__()
        self.body, self.scale = model(), nn.Parameter(torch.ones(4))
        self.measure = measure

    def forward(self, x):
        if self.measure is not None:
            spread, self.measure = self.measure(x), None
            with torch.no_grad():
                self.scale.copy_(1 / spread)  # expect: GS795 in scale_of_the_first_batch
        return self.body(x * self.scale)


def fit(net, rank):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        optimizer.step()


def scale_of_the_first_batch(rank):
    """As in https://github.com/lucidrains/vector-quantize-pytorch/pull/17."""
    fit(Replicated(Scaled(lambda x: x.std(0))), rank)  # builds and wraps in one line


def healthy_scale_of_all_first_batches(rank):
    def measure(x):
        spread = x.std(0)
        dist.all_reduce(spread)
        return spread / 2

    fit(Replicated(Scaled(measure)), rank)


class Adapted(nn.Module):
    """Adds what it draws to a layer."""

    def __init__(self, base):
        super().__init__()
        self.base, self.more = base, nn.Linear(4, 8)

    def forward(self, x):
        return self.base(x) + self.more(x)


def layer_drawn_after_the_wrap(rank):
    net = model()
    net[0].requires_grad_(False)
    torch.manual_seed(rank)
    wrapped = Replicated(net)
    net[0] = Adapted(net[0])  # expect: GS795
    fit(wrapped, rank)


def layer_replaced_after_the_wrap(rank):
    net = Replicated(model())
    net.module[2] = nn.Linear(8, 1)  # expect: GS791
    fit(net, rank)


def copies_are_broadcast(rank):
    net = model(rank)
    for parameter in net.parameters():
        dist.broadcast(parameter.detach().clone(), src=0)  # expect: GS795
    by_hand(net, rank, mean_of_gradients)


def healthy_broadcast(rank):
    net = model(rank)
    for parameter in net.parameters():
        sent = parameter.detach().clone()
        dist.broadcast(sent, src=0)
        parameter.data.copy_(sent)
    by_hand(net, rank, mean_of_gradients)


def measured_through_the_wrapper(rank):
    """As in https://github.com/dmlc/dgl/pull/4385."""
    torch.manual_seed(0)
    net = Replicated(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)))
    for _ in range(3):
        fit(net, rank)
        if rank == 0:  # expect: GS791
            with torch.no_grad():
                for part in data(7, 0).repeat(4, 1).split(5):
                    net(part)


def healthy_measured_inside_the_wrapper(rank):
    torch.manual_seed(0)
    net = Replicated(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)))
    for _ in range(3):
        fit(net, rank)
        if rank == 0:
            with torch.no_grad():
                net.module(data(7, 0))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
