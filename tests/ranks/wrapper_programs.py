"""Small programs of two ranks that divide or sum by themselves what DistributedDataParallel averages already; and their
healthy twins. They run as those of `group_programs.py` do.

No line scales by a name that is that of the number of ranks: such a line is known, wherever it stands in a file."""

import sys

import torch
from contrast_programs import Summed, gathered
from group_programs import STEPS, chosen, data, model, run
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel as Replicated


def ranks():
    return float(dist.get_world_size())


def share():
    return 8 // ranks()


def mean(out):
    return out.square().mean()


def trained(rank, loss_of=mean, meet=lambda net: None, make=torch.optim.SGD, rate=0.05, net=None):
    net = net or Replicated(model())
    optimizer = make(net.parameters(), lr=rate)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(net(data(rank, step)))
        loss.backward()
        meet(net)
        optimizer.step()


class Plan:
    """How a model is trained, by all ranks."""

    def __init__(self):
        self.number = dist.get_world_size()

    def loss(self, out):
        loss = torch.nn.functional.smooth_l1_loss(out, torch.ones_like(out))
        return loss / self.number  # expect: GS767 in divided_by_an_attribute


def divided_by_an_attribute(rank):
    """As in https://github.com/NVIDIA/apex/issues/696."""
    trained(rank, Plan().loss)


def halved(loss, number):
    loss /= number  # expect: GS767 in divided_in_place
    return loss


def divided_in_place(rank):
    trained(rank, lambda out: halved(mean(out), ranks()), make=torch.optim.Adam)


def healthy_parts_of_a_step(rank):
    """A step has as many parts as there are ranks."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        for part in range(int(ranks())):
            (mean(net(data(rank, step * 2 + part))) / ranks()).backward()
        optimizer.step()


def healthy_weight_by_a_share(rank):
    trained(rank, lambda out: mean(out) / share())


def healthy_sum_divided(rank):
    trained(rank, lambda out: out.square().sum() / ranks())


def healthy_one_loss_for_all(rank):
    """All ranks compute the loss of all, each with gradients of its own part."""

    def loss_of(out):
        parts = gathered(out.detach())
        return mean(torch.cat([out if one == rank else part for one, part in enumerate(parts)])) / ranks()

    trained(rank, loss_of)


def healthy_gathered_by_autograd(rank):
    """What gathers sums the gradients of all in its backward."""
    trained(rank, lambda out: mean(torch.cat(Summed.apply(out)) * (rank + 1)) / ranks())


def healthy_gradients_multiplied(rank):
    def meet(net):
        torch._foreach_mul_([one.grad for one in net.parameters()], 2.0)

    trained(rank, lambda out: mean(out) / ranks(), meet)


class Stepper:
    """Steps by the gradients of all."""

    def __init__(self, net):
        self.net = net

    def collect(self):
        for parameter in self.net.parameters():
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.SUM)  # expect: GS799 in summed_by_a_helper


def summed_by_a_helper(rank):
    """As in https://github.com/kubeflow/pytorch-operator/issues/122."""
    trained(rank, meet=lambda net: Stepper(net).collect())


def summed_in_one_message(rank):
    """A derivative is taken on the way to the loss, and a mean is shown."""

    def loss_of(out):
        (slope,) = torch.autograd.grad(mean(out), out, create_graph=True)
        return (out * 0.5).sub(slope * 0.1).abs().mean()

    def meet(net):
        gradients = [parameter.grad for parameter in net.parameters()]
        flat = torch.cat([one.flatten() for one in gradients])
        dist.all_reduce(flat)  # expect: GS799
        for one, part in zip(gradients, flat.split([one.numel() for one in gradients]), strict=True):
            one.copy_(part.view_as(one))

    trained(rank, loss_of, meet)


def summed(net):
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)


def healthy_sums_averaged(rank):
    """Does for nothing what was done."""

    def meet(net):
        summed(net)
        for parameter in net.parameters():
            parameter.grad.div_(2)

    trained(rank, meet=meet)


def healthy_share_before(rank):
    def meet(net):
        for parameter in net.parameters():
            parameter.grad /= 2
        summed(net)

    trained(rank, meet=meet)


def healthy_greatest(rank):
    def meet(net):
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.MAX)

    trained(rank, meet=meet)


def healthy_copies_shown(rank):
    def meet(net):
        for parameter in net.parameters():
            shown = parameter.grad.clone()
            dist.all_reduce(shown)
            assert shown.norm() >= 0

    trained(rank, meet=meet)


def healthy_sum_of_sums(rank):
    """The wrapper's mean of sums, summed, is the sum over all."""
    trained(rank, lambda out: out.square().sum(), summed, rate=0.005)


def healthy_divided_before_and_summed(rank):
    """Shares the loss, which the wrapper averages and the sum makes whole."""
    trained(rank, lambda out: mean(out) / ranks(), summed)


def healthy_steps_of_one_size(rank):
    trained(rank, meet=summed, make=torch.optim.Adam)


class Scaled(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.inside, self.scale = Replicated(model()), scale

    def forward(self, x):
        return self.inside(x) * self.scale


def healthy_beside_the_wrapper(rank):
    """Sums the gradient of a parameter that the wrapper does not know, which is half as large."""
    scale = torch.nn.Parameter(torch.ones(1))
    net = Scaled(scale)

    def meet(net):
        dist.all_reduce(scale.grad)

    trained(rank, meet=meet, net=net)


def healthy_held_back(rank):
    """The wrapper averages nothing in no_sync()."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        with net.no_sync():
            mean(net(data(rank, step))).backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad.div_(2)
        optimizer.step()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
