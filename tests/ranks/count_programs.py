"""Small programs of two ranks that divide a loss by a count, where one has much more than the other; and their healthy
twins. They run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import chosen, model, run
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

MANY = 20  # steps
ABSENT = -1.0


def batch(rank, step, unlike=True):
    torch.manual_seed(100 * rank + step)
    x = torch.randn(4 + 60 * rank * unlike, 4)
    target = x.sum(1, keepdim=True)
    return x, torch.where(target > 2, torch.full_like(target, ABSENT), target)


def loop(rank, loss_of, unlike=True, after=lambda net, target: None):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(MANY):
        x, target = batch(rank, step, unlike)
        loss = loss_of(net, x, target)
        optimizer.zero_grad()
        loss.backward()
        after(net, target)
        optimizer.step()


def summed(net, x, target):
    known = target != ABSENT
    return ((net(x) - target).square() * known).sum(), known


def mean_of_its_own(net, x, target, least):
    total, known = summed(net, x, target)
    count = known.sum().clamp(min=least)
    return total / count  # expect: GS783 in mean_over_what_is_its_own


def mean_over_what_is_its_own(rank):
    loop(rank, lambda *given: mean_of_its_own(*given, least=1))


def mean_at_once(rank):
    loop(
        rank,
        lambda net, x, target: summed(net, x, target)[0] / (target != ABSENT).sum(),  # expect: GS783
    )


def healthy_mean_over_as_many(rank):
    loop(rank, lambda *given: mean_of_its_own(*given, least=1), unlike=False)


def mean_of_all(net, x, target, ranks):
    total, known = summed(net, x, target)
    count = known.sum()
    dist.all_reduce(count)
    return total * ranks / count


def healthy_mean_over_all(rank):
    loop(rank, lambda *given: mean_of_all(*given, ranks=2))


def healthy_weighed_afterwards(rank):
    """Gives each rank's gradient its weight when it has been averaged, by what it exchanges then."""

    def after(net, target):
        weight = (target != ABSENT).sum()
        dist.all_reduce(weight)
        for parameter in net.parameters():
            parameter.grad *= weight / weight.clamp(min=1)

    loop(rank, lambda *given: mean_of_its_own(*given, least=1), after=after)


class KnownOnes(nn.Module):
    """The mean square of the errors where a target is known."""

    def forward(self, out, target):
        known = target != ABSENT
        total = ((out - target).square() * known).sum()
        return total / known.sum()  # expect: GS783 in mean_by_a_criterion, mean_by_one_in_an_attribute


def shown(loss):
    told = loss.detach().clone()
    dist.all_reduce(told)
    return told / dist.get_world_size()


def mean_by_a_criterion(rank):
    """Shows the mean of the ranks' losses after each step. As in
    https://github.com/huggingface/transformers/issues/34242."""
    net, seen = Replicated(model()), []
    criterion = KnownOnes()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(MANY):
        x, target = batch(rank, step)
        optimizer.zero_grad()
        loss = criterion(net(x), target)
        loss.backward()
        optimizer.step()
        seen.append(shown(loss))


class Trainer:
    def __init__(self, criterion):
        self.net, self.criterion, self.seen = Replicated(model()), criterion, []
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def train(self, rank):
        for step in range(MANY):
            x, target = batch(rank, step)
            self.optimizer.zero_grad()
            loss = self.criterion(self.net(x), target)
            loss.backward()
            self.optimizer.step()
            self.seen.append(shown(loss))


def mean_by_one_in_an_attribute(rank):
    trainer = Trainer(KnownOnes())
    trainer.train(rank)


class KnownOfAll:
    """Divides by the mean of the ranks' counts."""

    def __call__(self, out, target):
        known = target != ABSENT
        total = ((out - target).square() * known).sum()
        return total / self.mean(known.sum())

    def mean(self, count):
        count = count.float()
        dist.all_reduce(count)
        return count / dist.get_world_size()


def healthy_mean_by_a_criterion(rank):
    net, seen = Replicated(model()), []
    criterion = KnownOfAll()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(MANY):
        x, target = batch(rank, step)
        optimizer.zero_grad()
        loss = criterion(net(x), target)
        loss.backward()
        optimizer.step()
        seen.append(shown(loss))


def healthy_weighed_by_what_comes_with_the_loss(rank):
    """One message has the loss, to be shown, and the count, by which each gradient had its weight."""
    net = Replicated(model())
    criterion = KnownOnes()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(MANY):
        x, target = batch(rank, step)
        optimizer.zero_grad()
        loss = criterion(net(x), target)
        loss.backward()
        told = torch.stack([loss.detach(), (target != ABSENT).sum().float()])
        dist.all_reduce(told)
        for parameter in net.parameters():
            parameter.grad *= told[1] / told[1].clamp(min=1)
        optimizer.step()


def pooled(x):
    mask = (x != 0.0).float()
    return (x * mask).sum(1) / mask.sum(1)


def healthy_mean_of_rows(rank):
    """Divides each row by a count of its own."""
    loop(rank, lambda net, x, target: nn.functional.mse_loss(pooled(net(x)), target[:, 0]))


def healthy_count_beside_the_loss(rank):
    """Divides the loss by a number of batches."""
    parts = [None] * 2
    loop(rank, lambda net, x, target: nn.functional.mse_loss(net(x), target) / len(parts))


def summing(state, bucket):
    """What the wrapper calls in the place of its mean."""
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda done: done.value()[0])


def healthy_averaged_where_a_hook_sums(rank):
    """Its gradients are summed by a hook, so that the mean of the losses is the only one."""
    net = Replicated(model())
    net.register_comm_hook(None, summing)
    for step in range(MANY // 4):
        loss = net(batch(rank, step, unlike=False)[0]).square().mean()
        dist.all_reduce(loss.data)
        loss = loss / dist.get_world_size()
        loss.backward()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
