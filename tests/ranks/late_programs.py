"""Small programs of two ranks that train through a wrapper at first, and past it from some step on; and their healthy
twins. They run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

LATE = 2  # the step from which on another loss is asked for


class Ranked(nn.Module):
    """Scores items, and learns from single ones or from pairs."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.body, self.score = nn.Linear(4, 6), nn.Linear(6, 1)

    def forward(self, x):
        return self.score(self.body(x).tanh()).square().mean()

    def of_pairs(self, x):
        scores = self.score(self.body(x).tanh())
        return nn.functional.softplus(scores - scores.flip(0)).mean()

    def weighed(self, x):
        """Without a call of any module."""
        return (x @ self.body.weight.t()).square().mean() + self.score.weight.abs().sum()


def trained(rank, loss_of, meet=lambda net, step: None, before=lambda net, step: None):
    net = Replicated(Ranked(), find_unused_parameters=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        before(net, step)
        loss_of(net, data(rank, step), step).backward()
        meet(net, step)
        optimizer.step()


def of_pairs_in_a_later_stage(rank):
    """As in https://github.com/SchmiedmayerLab/OpenTSLM/pull/49."""

    def loss_of(net, x, step):
        if step < LATE:
            return net(x)
        return net.module.of_pairs(x)  # expect: GS796

    trained(rank, loss_of)


def every_other_step_by_a_variable(rank):
    def loss_of(net, x, step):
        if step % 2 == 0:
            return net(x)
        ranked = net.module  # expect: GS796
        return ranked.of_pairs(x)

    trained(rank, loss_of)


def past_the_wrapper_without_a_module(rank):
    """Only parameters of the module inside are read, and the loss is shown."""

    def loss_of(net, x, step):
        loss = net(x) if step < LATE else net.module.weighed(x)  # expect: GS796
        dist.all_reduce(loss.detach().clone())
        return loss

    trained(rank, loss_of)


def past_the_wrapper_by_the_model_itself(rank):
    """No line asks the wrapper for it: the model was at hand before the wrap."""
    ranked = Ranked()
    net = Replicated(ranked)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        x = data(rank, step)
        loss = net(x) if step < LATE else ranked.of_pairs(x)  # expect: GS796
        loss.backward()
        optimizer.step()


def healthy_added_to_what_the_wrapper_averages(rank):
    """The wrapper's backward averages all of a .grad, with what an earlier one has put there."""

    def before(net, step):
        if step >= LATE:
            net.module.of_pairs(data(rank, step)).backward()

    trained(rank, lambda net, x, step: net(x), before=before)


def averaged_by_hand(net, step):
    if step >= LATE:
        parameters = [parameter for parameter in net.parameters() if parameter.grad is not None]
        flat = torch.cat([parameter.grad.flatten() for parameter in parameters])
        dist.all_reduce(flat)
        parts = (flat / 2).split([parameter.numel() for parameter in parameters])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)


def healthy_averaged_by_hand_past_the_wrapper(rank):
    def loss_of(net, x, step):
        return net(x) if step < LATE else net.module.of_pairs(x)

    trained(rank, loss_of, averaged_by_hand)


def rates_apart_beside_a_term_through_the_module(rank):
    """Drifts by its rates: the wrapper is called in each loss, beside the module inside."""
    net = Replicated(Ranked())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1 * (rank + 1))  # expect: GS792
    for step in range(STEPS):
        optimizer.zero_grad()
        (net(data(rank, step)) + net.module.of_pairs(data(rank, step))).backward()
        optimizer.step()


def rates_and_a_probe(rank):
    """Gradients of a probe past the wrapper are thrown away before the step."""
    net = Replicated(Ranked())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        net.module.of_pairs(data(rank, step)).backward()
        optimizer.zero_grad()
        net(data(rank, step)).backward()
        slow(optimizer, rank, step)
        optimizer.step()


def stepped(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def rank_in_two_phases(rank, second):
    net = Replicated(Ranked())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2 * LATE):
        stepped(optimizer, net(data(rank, step)))
    second(net, optimizer)


def second_phase_by_a_helper_that_steps(rank):
    """As in https://github.com/jingyaogong/minimind/pull/854."""

    def second(net, optimizer):
        bare = net.module if isinstance(net, Replicated) else net
        for step in range(2 * STEPS):
            with torch.no_grad():
                order = bare(data(rank, step))
            loss = bare(data(rank, step) + order)  # expect: GS796
            stepped(optimizer, loss)

    rank_in_two_phases(rank, second)


def healthy_second_phase_by_a_helper_that_steps(rank):
    def second(net, optimizer):
        bare = net.module if isinstance(net, Replicated) else net
        for step in range(2 * STEPS):
            with torch.no_grad():
                order = bare(data(rank, step))
            stepped(optimizer, net(data(rank, step) + order))

    rank_in_two_phases(rank, second)


class Stages:
    """Goes from one objective to the next by one line, which calls what it has at hand."""

    def __init__(self, net, second):
        self.net, self.wrapped = net, Replicated(net, find_unused_parameters=True)
        self.objectives = [self.warm, second]

    def warm(self, x):
        return self.wrapped(x)

    def sharpen(self, x):
        rows = self.net(x * 1.5)  # expect: GS796 in objective_by_the_bare_module
        return rows.exp()

    def sharpen_through(self, x):
        return self.wrapped(x * 1.5).exp()

    def run(self, rank):
        optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        for step in range(3 * STEPS):
            optimizer.zero_grad()
            self.objectives[step > STEPS](data(rank, step)).backward()
            optimizer.step()


def objective_by_the_bare_module(rank):
    net = Ranked()
    stages = Stages(net, None)
    stages.objectives[1] = stages.sharpen
    stages.run(rank)


def healthy_objective_through_the_wrapper(rank):
    stages = Stages(Ranked(), None)
    stages.objectives[1] = stages.sharpen_through
    stages.run(rank)


def flattened(rank, share):
    """Adds the slope of how steep the scores are to what the wrapper has averaged."""
    net = Replicated(Ranked())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    for step in range(2 * STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).backward()
        weights = [net.module.body.weight, net.module.score.weight]
        slopes = torch.autograd.grad(net.module.of_pairs(data(rank, step)).square(), weights)
        for weight, slope in zip(weights, map(share, slopes), strict=True):
            weight.grad.add_(slope, alpha=0.5)  # expect: GS792 in adds_slopes_of_its_own
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()


def of_all(slope):
    dist.all_reduce(slope)
    return slope / dist.get_world_size()


def adds_slopes_of_its_own(rank):
    flattened(rank, lambda slope: slope)


def healthy_adds_slopes_of_all(rank):
    flattened(rank, of_all)


def slow(optimizer, rank, step):
    share = 1 + rank * (step >= LATE)
    optimizer.param_groups[0]["lr"] = 0.1 / share  # expect: GS792 in rates_and_a_probe, rates_by_hand


def rates_by_hand(rank):
    net = Replicated(Ranked())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = net(data(rank, step)) if step < 1 else net.module.of_pairs(data(rank, step))
        loss.backward()
        averaged_by_hand(net, step + 1)
        slow(optimizer, rank, step)
        optimizer.step()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
