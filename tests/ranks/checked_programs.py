"""Programs of two ranks, one of which meets a value that is not finite, that check for such; run as those of
`group_programs.py` are."""

import math
import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run
from torch.nn.parallel import DistributedDataParallel as Replicated

BROKEN = 3  # the step in which the second rank's data are


def batch(rank, step):
    """With numbers that are missing in one step of one rank."""
    x = data(rank, step)
    if rank == 1 and step == BROKEN:
        x[0] = math.nan
    return x


def steps(rank, skips, batch=batch, loss_of=lambda out: out.square().mean(), after=lambda net: False):
    """Leaves out what `skips` says, of the data or of the loss, and steps that `after` refuses."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        x = batch(rank, step)
        optimizer.zero_grad()
        loss = loss_of(net(x))
        if skips(x, loss):
            (loss * 0).nan_to_num().backward()
            continue
        loss.backward()
        if not after(net):
            optimizer.step()


def loss_by_the_first_rank(rank):
    def skips(x, loss):
        verdict = [bool(torch.isnan(loss))]
        dist.broadcast_object_list(verdict, src=0)  # expect: GS793
        return verdict[0]

    steps(rank, skips)


def is_whole(values):
    return values.isfinite().all()


def before_the_forward(rank, alone, batch=batch, loss_of=lambda out: out.square().mean()):
    """Checks data before it gives them to the model."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        x = batch(rank, step)
        fine = torch.ones(1)
        fine[0] = is_whole(x)
        if agreed(fine, alone):
            optimizer.zero_grad()
            loss = loss_of(net(x))
            loss.backward()
            optimizer.step()


def agreed(fine, alone):
    if alone:
        dist.broadcast(fine, src=0)  # expect: GS793 in data_by_the_first_rank
    else:
        dist.all_reduce(fine, op=dist.ReduceOp.MIN)
    return bool(fine)


def data_by_the_first_rank(rank):
    before_the_forward(rank, alone=True)


def healthy_data_by_all(rank):
    before_the_forward(rank, alone=False)


def logarithm_behind_a_check_of_data(rank):
    """The data are finite: a check of all ranks would let them through as well."""

    def loss_of(out):
        return (out.square() * (1 - rank)).log().mean()  # expect: GS793

    before_the_forward(rank, True, data, loss_of)


def logarithm_behind_a_check_of_gradients(rank):
    """Gradients are the same on all ranks, which may go by the first one's answer."""
    answers = []

    def loss_of(out):
        return (out.square() * (1 - rank * (len(answers) >= BROKEN))).log().mean()  # expect: GS793

    def refuses(net):
        bad = torch.tensor([float(not all(torch.isfinite(one.grad).all() for one in net.parameters()))])
        dist.broadcast(bad, src=0)
        answers.append(bad)
        return bool(bad)

    steps(rank, lambda x, loss: False, data, loss_of, refuses)


def all_refuse(net):
    bad = torch.tensor(float(not all(torch.isfinite(one.grad).all() for one in net.parameters())))
    dist.all_reduce(bad, op=dist.ReduceOp.MAX)
    return bool(bad)


def healthy_batch_left_out_by_all(rank):
    """All ranks clear what a broken batch gave, and go on."""
    steps(rank, lambda x, loss: False, after=all_refuse)


def logarithm_behind_a_batch_left_out_by_all(rank):
    """The check comes too early for the loss of a later step, which is what does harm."""
    answers = []

    def loss_of(out):
        answers.append(None)
        zero = rank * (len(answers) == STEPS - 1)
        return (out.square() * (1 - zero) + zero * 0).log().mean()  # expect: GS793

    steps(rank, lambda x, loss: False, loss_of=loss_of, after=lambda net: len(answers) < STEPS - 1 and all_refuse(net))


def told_and_not_used(rank):
    """What is sent is shown alone: nothing is decided by it."""

    def skips(x, loss):
        bad = torch.isnan(loss).float()
        dist.broadcast(bad, src=0)
        print(bad)
        return False

    def loss_of(out):
        return (out.square() * (1 - rank)).log().mean()  # expect: GS793

    steps(rank, skips, data, loss_of)


def marked_in(rank, step):
    """Data and which of them are marked: none in one step of one rank."""
    x = data(rank, step)
    return x, (x[:, 0] > 0) if (rank, step) != (1, BROKEN) else torch.zeros(len(x), dtype=torch.bool)


def marked_steps(rank, agree, loss_of):
    """Leaves out a step in which nothing is marked, as far as the ranks agree."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        x, marked = marked_in(rank, step)
        out = net(x).square()
        if not agree(marked):
            continue
        optimizer.zero_grad()
        loss_of(out, marked).backward()
        optimizer.step()


def marked_by_the_first_rank(rank):
    """As in https://github.com/ecmwf/WeatherGenerator/pull/2718."""

    def agree(marked):
        some = torch.tensor([float(marked.sum() > 0)])
        dist.broadcast(some, src=0)  # expect: GS793
        return bool(some)

    marked_steps(rank, agree, lambda out, marked: (out[:, 0] * marked).sum() / marked.sum())


def first_says(question):
    """All ranks go by the answer of one."""

    def ask(*given):
        answer = [bool(question(*given))]
        dist.broadcast_object_list(answer, src=0)  # expect: GS793 in marked_by_a_question
        return answer[0]

    return ask


@first_says
def has_some(marked):
    return marked.any()


def marked_by_a_question(rank):
    """The mean of no numbers."""
    marked_steps(rank, has_some, lambda out, marked: out[marked].mean())


def healthy_marked_by_all(rank):
    def agree(marked):
        some = torch.tensor([float(marked.any())])
        dist.all_reduce(some, op=dist.ReduceOp.MIN)
        return bool(some)

    marked_steps(rank, agree, lambda out, marked: (out[:, 0] * marked).sum() / marked.sum())


def nothing_behind_a_check_of_marks(rank):
    """What divides is zero for another reason: the check was of other things."""

    def loss_of(out, marked):
        weight = torch.full((len(out),), 1.0 - rank)
        return (out[:, 0] * weight).sum() / weight.sum()  # expect: GS793

    marked_steps(rank, has_some, loss_of)


def logarithm_of_marks_behind_a_check(rank):
    """A check whether anything is marked would let through what is marked as well."""

    def loss_of(out, marked):
        return (marked.sum() * (1.0 - rank) - 1.0).log() + out.mean()  # expect: GS793

    marked_steps(rank, has_some, loss_of)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
