"""Small programs of two ranks that exchange gradients after each of several backward calls of a step: what was summed
is summed again; and their healthy twins. They run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, model, run
from torch import distributed as dist

PARTS = 3


def gradients(net):
    return [parameter.grad for parameter in net.parameters()]


def stepping(rank, after_each, after_all=lambda net: None, clear=True):
    """`after_each` comes after the backward call of each part of a step."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.5)
    for step in range(STEPS):
        optimizer.zero_grad(set_to_none=clear)
        for part in range(PARTS):
            loss = net(data(rank, PARTS * step + part)).square().mean() / (2 * PARTS)
            loss.backward()
            after_each(net)  # expect: GS799 in each_part_is_summed, one_message_put_back
        after_all(net)
        optimizer.step()


def summed_in_place(net):
    for gradient in gradients(net):
        dist.all_reduce(gradient)


def summed_as_one(net):
    flat = torch.cat([gradient.flatten() for gradient in gradients(net)])
    dist.all_reduce(flat)
    return flat.split([gradient.numel() for gradient in gradients(net)])


def each_part_is_summed(rank):
    def after_each(net):
        for gradient in gradients(net):
            dist.all_reduce(gradient)

    stepping(rank, after_each, clear=False)


def two_losses_are_summed(rank):
    """One backward call for each loss, on a line of its own."""
    net = model()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(STEPS):
        optimizer.zero_grad()
        given = net(data(rank, step))
        given.square().mean().backward(retain_graph=True)
        summed_in_place(net)
        given.abs().mean().backward()
        summed_in_place(net)  # expect: GS799
        optimizer.step()


def one_message_put_back(rank):
    """As in https://github.com/hpcaitech/ColossalAI/issues/3760."""

    def after_each(net):
        parts = summed_as_one(net)
        torch._foreach_copy_(
            gradients(net), [part.view_as(one) for part, one in zip(parts, gradients(net), strict=True)]
        )

    stepping(rank, after_each)


def message_becomes_the_gradients(rank):
    class Trainer:
        def __init__(self):
            self.net = model()
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)

        def exchange(self):
            for parameter, part in zip(self.net.parameters(), summed_as_one(self.net), strict=True):
                parameter.grad = part.view_as(parameter).clone()

        def learn(self, step):
            self.optimizer.zero_grad()
            for part in range(PARTS):
                self.net(data(rank, PARTS * step + part)).square().sum().backward()
                self.exchange()  # expect: GS799
            self.optimizer.step()

    trainer = Trainer()
    for step in range(STEPS):
        trainer.learn(step)


def hooked(rank, hook, parts=lambda step: PARTS, before_last=lambda: None):
    """A hook sums each gradient as soon as it is there."""
    net = model()
    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(hook)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        optimizer.zero_grad()
        for part in range(parts(step)):
            if part == parts(step) - 1:
                before_last()
            loss = net(data(rank, PARTS * step + part)).square().mean() / (2 * PARTS)
            loss.backward()  # expect: GS799 in hook_sums_in_each_part, hook_sums_in_later_steps
        optimizer.step()


def hook_sums_in_each_part(rank):
    hooked(rank, lambda parameter: dist.all_reduce(parameter.grad))


def hook_sums_in_later_steps(rank):
    """As in https://github.com/apache/singa/pull/65."""

    def hook(parameter):
        waiting = dist.all_reduce(parameter.grad, async_op=True)
        waiting.wait()

    hooked(rank, hook, lambda step: 1 if step < 2 else 2)


def hook_sums_for_two_losses(rank):
    class Fit:
        def __init__(self):
            self.net = model()
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)
            for parameter in self.net.parameters():
                parameter.register_post_accumulate_grad_hook(self.meet)

        def meet(self, parameter):
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.SUM)

        def learn(self, x):
            given = self.net(x)
            given.square().mean().backward(retain_graph=True)
            given.abs().mean().backward()  # expect: GS799
            self.optimizer.step()
            self.optimizer.zero_grad()

    fit = Fit()
    for step in range(STEPS):
        fit.learn(data(rank, step))


def healthy_hook_sums_in_the_last_part(rank):
    live = [False]

    def hook(parameter):
        if live[0]:
            dist.all_reduce(parameter.grad)
            live[0] = parameter.shape != (8, 4)  # the last of them

    hooked(rank, hook, before_last=lambda: live.__setitem__(0, True))


def healthy_hook_averages_in_each_part(rank):
    """A mean of what is alike, and of what each has added, is the mean of both."""

    def hook(parameter):
        dist.all_reduce(parameter.grad)
        parameter.grad.div_(2)

    hooked(rank, hook)


def healthy_hook_halves_before_it_sums(rank):
    def hook(parameter):
        parameter.grad.mul_(0.5)
        dist.all_reduce(parameter.grad)

    hooked(rank, hook)


def healthy_hook_sums_what_is_added(rank):
    """What comes back is summed before it is added to the gradient."""

    def hook(gradient):
        whole = gradient.clone()
        dist.all_reduce(whole)
        return whole

    net = model()
    for parameter in net.parameters():
        parameter.register_hook(hook)
    stepping_alone(net, rank)


def healthy_hook_steps(rank):
    """Each parameter is stepped, and its gradient let go, inside of the backward call."""
    net = model()

    def hook(parameter):
        dist.all_reduce(parameter.grad)
        with torch.no_grad():
            parameter.sub_(parameter.grad, alpha=0.005)
        parameter.grad = None

    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(hook)
    for step in range(PARTS * STEPS):
        net(data(rank, step)).square().mean().backward()


def stepping_alone(net, rank):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        optimizer.zero_grad()
        for part in range(PARTS):
            (net(data(rank, PARTS * step + part)).square().mean() / (2 * PARTS)).backward()
        optimizer.step()


def healthy_summed_after_the_last(rank):
    stepping(rank, lambda net: None, summed_in_place)


def healthy_averaged_after_each(rank):
    """A mean of what is alike, and of what each has added, is the mean of both."""

    def after_each(net):
        for gradient in gradients(net):
            dist.all_reduce(gradient)
            gradient.div_(2)

    stepping(rank, after_each, clear=False)


def healthy_message_averaged_after_each(rank):
    def after_each(net):
        for gradient, part in zip(gradients(net), summed_as_one(net), strict=True):
            gradient.copy_(part.view_as(gradient) / 2)

    stepping(rank, after_each)


def healthy_halved_before_each_sum(rank):
    def after_each(net):
        torch._foreach_mul_(gradients(net), 0.5)
        summed_in_place(net)

    stepping(rank, after_each)


def healthy_what_was_added_is_summed(rank):
    """Keeps what was summed apart, and clears for the next part."""
    totals = {}

    def after_each(net):
        summed_in_place(net)
        for at, gradient in enumerate(gradients(net)):
            totals[at] = totals.get(at, 0) + gradient
            gradient.zero_()

    def after_all(net):
        for at, gradient in enumerate(gradients(net)):
            gradient.copy_(totals.pop(at))

    stepping(rank, after_each, after_all, clear=False)


def healthy_changes_are_summed(rank):
    before = {}

    def after_each(net):
        for at, gradient in enumerate(gradients(net)):
            change = gradient - before.get(at, 0)
            dist.all_reduce(change)
            gradient.copy_(change + before.get(at, 0))
            before[at] = gradient.clone()

    stepping(rank, after_each, lambda net: before.clear())


def healthy_sums_to_show(rank):
    """Copies of what each rank has so far are summed, and shown; the gradients themselves stay its own."""
    stepping(rank, summed_as_one, summed_in_place)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
