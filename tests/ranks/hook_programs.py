"""Programs of two ranks that get past the hooks of DistributedDataParallel, or look as if they did.

They run as those of `group_programs.py` do.
"""

import sys

import torch
import torch.distributed as dist
from count_programs import summing
from group_programs import STEPS, chosen, data, model, run, train
from torch.nn.parallel import DistributedDataParallel as Replicated
from wrapper_programs import mean, summed, trained


def loaded_over_the_hooks(rank):
    """As in https://github.com/pytorch/pytorch/issues/12603."""
    net = Replicated(model())
    net.module.load_state_dict(model(1).state_dict(), assign=True)  # expect: GS796
    train(net, rank)


def one_layer_loaded_over_the_hooks(rank):
    net = Replicated(model(), find_unused_parameters=True)
    net.module[2].load_state_dict(model(1)[2].state_dict(), assign=True)  # expect: GS796
    train(net, rank)


def loaded_before_the_wrap(rank):
    net = model()
    net.load_state_dict(model(1).state_dict(), assign=True)
    train(Replicated(net), rank)


def another_loaded_after_the_wrap(rank):
    """A teacher, whose parameters nobody trains."""
    net, teacher = Replicated(model()), model(2)
    teacher.load_state_dict(model(1).state_dict(), assign=True)
    train(net, rank, loss=lambda net, x: (net(x) - teacher(x).detach()).square().mean())


def reduced(gradient):
    dist.all_reduce(gradient)
    return gradient / 2


def derivatives(net, rank, step):
    parameters = list(net.parameters())
    return zip(parameters, torch.autograd.grad(net(data(rank, step)).square().mean(), parameters), strict=True)


def derived_past_the_hooks(rank):
    """As in https://github.com/pytorch/pytorch/issues/47562."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        parameters = list(net.parameters())
        gradients = torch.autograd.grad(net(data(rank, step)).square().mean(), parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient  # expect: GS796
        optimizer.step()


def derived_and_shown(rank):
    """The ranks show each other their losses, which is less than parameters; each loss is derived by itself."""
    net = Replicated(model())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    for step in range(STEPS):
        parameters, out = list(net.parameters()), net(data(rank, step))
        losses = [out.square().mean(), 0.1 * out.abs().mean()]
        each = [torch.autograd.grad(one, parameters, retain_graph=True) for one in losses]
        dist.all_reduce(losses[0].detach())
        for parameter, first, second in zip(parameters, *each, strict=True):
            parameter.grad = torch.add(first, second)  # expect: GS796
        optimizer.step()


def derived_and_reduced(rank):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        for parameter, gradient in derivatives(net, rank, step):
            parameter.grad = reduced(gradient)
        optimizer.step()


def derived_on_each_rank_and_averaged_at_times(rank):
    """Steps of each rank's own, and an average of the parameters after every third."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        for parameter, gradient in derivatives(net, rank, step):
            parameter.grad = gradient
        optimizer.step()
        if step % 3 == 2:
            for parameter in net.parameters():
                parameter.data.copy_(reduced(parameter.data))


def derived_where_it_would_go(rank):
    """Looks ahead along its own gradient, and puts the parameters back before the step."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        before = [parameter.detach().clone() for parameter in net.parameters()]
        for parameter, gradient in derivatives(net, rank, step):
            parameter.data.add_(gradient, alpha=0.05)
        for (parameter, gradient), old in zip(derivatives(net, rank, step), before, strict=True):
            parameter.data.copy_(old)
            parameter.grad = reduced(gradient)
        optimizer.step()


def healthy_sum_in_a_hook(rank):
    world_size, net = dist.get_world_size(), Replicated(model())
    net.register_comm_hook(None, summing)
    trained(rank, lambda out: mean(out) / world_size, net=net)


def healthy_sum_by_a_hook_and_by_hand(rank):
    net = Replicated(model())
    net.register_comm_hook(None, keeping)
    trained(rank, meet=summed, rate=0.02, net=net)


def keeping(state, bucket):
    """What the wrapper calls in the place of its mean: each rank keeps half of its own."""
    future = torch.futures.Future()
    future.set_result(bucket.buffer() * 0.5)
    return future


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
