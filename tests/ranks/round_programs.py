"""Programs of two ranks that part in one step, and meet with the wrong partner in a later one; and their healthy twins.
They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run
from torch.nn.parallel import DistributedDataParallel as Replicated


def mean_of(value):
    """As in https://github.com/pytorch/pytorch/issues/30439."""
    total = value.detach().clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()


def sharpness(rank, shares, searches=12):
    """Searches for the weights of a lens, which one rank then writes while the others wait."""
    net = Replicated(model())
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=searches, line_search_fn="strong_wolfe")
    images = data(rank, 0)

    def blur():
        optimizer.zero_grad()
        found = (net(images) - 3.0 * rank).square().mean()
        found.backward()
        if shares:
            found = mean_of(found)
        return found  # expect: GS790 in searches_by_its_own_images

    for _ in range(STEPS):
        optimizer.step(blur)
        dist.barrier()  # expect: GS790 in shares_its_loss_and_searches_longer


def searches_by_its_own_images(rank):
    sharpness(rank, False)


def healthy_images(rank):
    sharpness(rank, True)


def shares_its_loss_and_searches_longer(rank):
    """Not its loss is to blame."""
    sharpness(rank, True, searches=3 + 4 * rank)


def ratings(rank, step):
    """Of a film: of the second rank, once, nobody has rated it."""
    x = data(rank, step)
    known = torch.ones(5, dtype=torch.bool)
    if rank == 1 and step == 2:
        known[:] = False
    return x, known


def is_usable(loss, together):
    usable = loss.detach().isfinite().float()
    if together:
        dist.all_reduce(usable, op=dist.ReduceOp.MIN)
    return bool(usable.item())


def rated(net, optimizer, sample, together):
    """As in https://github.com/ecmwf/WeatherGenerator/pull/2718."""
    x, known = sample
    loss = net(x).squeeze(-1)[known].square().mean()
    if not is_usable(loss, together):  # expect: GS790 in passes_a_film_over
        return
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def films(rank, together):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        rated(net, optimizer, ratings(rank, step), together)
    dist.barrier()


def passes_a_film_over(rank):
    films(rank, False)


def healthy_films(rank):
    films(rank, True)


def parts(rank, number):
    """More of the second rank's, once, of which it marks one."""
    whole = data(rank, number)
    if rank == 1 and number == 2:
        whole[0] = 0.0
        return whole.split(1)
    return whole.split(5)


def has_a_batch_less(rank):
    """Each looks at all parts of a batch before its backward: no step is left, however many parts there are."""
    net = Replicated(model())
    for number in range(STEPS - rank):  # expect: GS790
        measured = []
        for part in parts(rank, number):
            seen = part.square()
            measured.append(seen.mean())
            if len(measured) > STEPS:
                break
        loss = net(data(rank, number)).square().mean() + sum(measured)
        loss.backward()
    dist.barrier()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
