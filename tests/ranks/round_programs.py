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


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
