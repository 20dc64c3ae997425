"""Small programs of two ranks under fully_shard, with an optimizer that holds what was gathered or each rank's part.

Others leave a sharded part out on one rank. They run as those of `group_programs.py` do."""

import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from group_programs import PATIENCE, STEPS, chosen, data, run
from torch import nn


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.block, self.last = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(torch.tanh(self.block(torch.tanh(self.first(x)))))


def parted(net):
    from torch.distributed.fsdp import fully_shard

    fully_shard(net.block)
    fully_shard(net)
    return net


def sharded():
    return parted(Layers())


def optimizer_of(net):
    return torch.optim.AdamW(net.parameters(), lr=0.01)


def loop(net, optimizer, rank):
    for step in range(STEPS):
        out = net(data(rank, step))
        optimizer.zero_grad()
        out.square().mean().backward()
        optimizer.step()


def made_after_an_example(rank):
    net = sharded()
    with torch.no_grad():
        net(data(rank, 0))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)  # expect: GS788
    loop(net, optimizer, rank)


def made_after_unshard(rank):
    net = sharded()
    net.unshard()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)  # expect: GS788
    loop(net, optimizer, rank)


def made_after_a_loss(rank):
    net = sharded()
    net(data(rank, 0)).square().mean()
    groups = [{"params": [one for one in net.parameters() if one.ndim == ndim]} for ndim in (1, 2)]
    loop(net, torch.optim.Adam(groups, lr=0.01), rank)  # expect: GS788


def made_before_it_is_parted(rank):
    net = Layers()
    optimizer = optimizer_of(net)  # expect: GS788
    loop(parted(net), optimizer, rank)


def in_two_groups(net, block):
    ends = [*net.first.parameters(), *net.last.parameters()]
    return torch.optim.AdamW([{"params": block, "lr": 0.001}, {"params": ends}], lr=0.01)


def listed_before_it_is_parted(rank):
    net = Layers()
    slow = [one for _, one in net.block.named_parameters()]  # expect: GS788
    net = parted(net)
    block = slow
    optimizer = in_two_groups(net, block)
    loop(net, optimizer, rank)


def healthy_listed_after_it_is_parted(rank):
    net = parted(Layers())
    slow = [one for _, one in net.block.named_parameters()]
    loop(net, in_two_groups(net, slow), rank)


def healthy_given_both(rank):
    """Goes on to hold what was there before, which changes nothing, beside the parts that it is given."""
    net = Layers()
    optimizer = optimizer_of(net)
    optimizer.add_param_group({"params": [*parted(net).parameters()]})
    loop(net, optimizer, rank)


def healthy_given_the_parts(rank):
    """Makes its optimizer early, and gives it the parts that have come in the place of its parameters."""
    net = Layers()
    optimizer = optimizer_of(net)
    optimizer.param_groups[0]["params"] = [*parted(net).parameters()]
    loop(net, optimizer, rank)


def healthy_made_before(rank):
    net = sharded()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    with torch.no_grad():
        net(data(rank, 0))
    loop(net, optimizer, rank)


def healthy_made_after_reshard(rank):
    net = sharded()
    with torch.no_grad():
        net(data(rank, 0))
    net.reshard()
    loop(net, torch.optim.AdamW(net.parameters(), lr=0.01), rank)


def healthy_made_after_a_backward(rank):
    net = sharded()
    net(data(rank, 0)).square().mean().backward()
    loop(net, torch.optim.AdamW(net.parameters(), lr=0.01), rank)


class Tower(nn.Module):
    """Two parts, of which one is for some batches; `part` is its forward."""

    def __init__(self, part):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.tower, self.part = nn.Linear(4, 4), nn.Linear(4, 4), part

    def forward(self, x, images):
        return self.part(self, x, images)


def with_a_tower(rank, part):
    """Steps of a model whose tower meets in a group of its own, of which rank 1 has no images in step 3."""
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard

    own = [dist.new_group([0, 1], timeout=timedelta(seconds=PATIENCE)) for _ in range(2)]
    first, second = (DeviceMesh.from_group(one, "cpu") for one in own)
    net = Tower(part)
    fully_shard(net.tower, mesh=first)
    fully_shard(net.body, mesh=second)
    fully_shard(net, mesh=second)
    for step in range(STEPS):
        images = None if rank == 1 and step == 3 else data(rank, step)
        net(data(rank, step), images).square().mean().backward()


def tower_without_images(rank):
    def part(net, x, images):
        if images is not None:  # expect: GS790
            x = x + net.tower(images)
        return net.body(x.tanh())

    with_a_tower(rank, part)


def tower_for_some(rank):
    def part(net, x, images):
        if images is None:  # expect: GS790
            return net.body(x.tanh())
        x = x + net.tower(images)
        return net.body(x.tanh())

    with_a_tower(rank, part)


def tower_on_the_main_rank(rank):
    def part(net, x, images):
        if rank == 0:
            x = x + net.tower(x)  # expect: GS790
        return net.body(x)

    with_a_tower(rank, part)


def healthy_tower_times_zero(rank):
    def part(net, x, images):
        x = x + net.tower(x if images is None else images) * (images is not None)
        return net.body(x.tanh())

    with_a_tower(rank, part)


def healthy_tower_in_no_step(rank):
    with_a_tower(rank, lambda net, x, images: net.body(x))


def local_gradients(net):
    parts = [parameter.to_local().detach() for parameter in net.parameters()]
    for part, parameter in zip(parts, net.parameters(), strict=True):
        part.grad = parameter.grad.to_local()
    return parts


def clipping(rank, clip):
    net = sharded()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        clip(net)
        optimizer.step()


def clipped_by_its_own_norm(rank):
    def clip(net):
        parts = local_gradients(net)
        nn.utils.clip_grad_norm_(parts, 0.1)  # expect: GS784

    clipping(rank, clip)


def healthy_clipped_by_the_norm_of_all(rank):
    clipping(rank, lambda net: nn.utils.clip_grad_norm_(net.parameters(), 0.1))


def healthy_clipped_by_hand(rank):
    """Asks for the norm of its parts, which is not yet that of all."""

    def clip(net):
        parts = local_gradients(net)
        total = nn.utils.clip_grad_norm_(parts, torch.inf).square()
        dist.all_reduce(total)
        nn.utils.clip_grads_with_norm_(parts, 0.1, total.sqrt())

    clipping(rank, clip)


def healthy_clipped_put_together(rank):
    """What it clips is taken from local tensors, and has been made a DTensor again."""
    from torch.distributed.tensor import DTensor

    def again(one):
        local = one.to_local().detach()
        return DTensor.from_local(local, one.device_mesh, one.placements, shape=one.shape, stride=one.stride())

    def clip(net):
        parts = [again(parameter) for parameter in net.parameters()]
        for part, parameter in zip(parts, net.parameters(), strict=True):
            part.grad = parameter.grad
        nn.utils.clip_grad_norm_(parts, 0.1)

    clipping(rank, clip)


class Share:
    """A rank's part of all parameters in one vector, which an optimizer holds."""

    def __init__(self, net, rank, cut=None):
        self.parameters, self.rank = list(net.parameters()), rank
        self.cut = cut or (lambda flat: flat.chunk(2)[self.rank].clone())
        self.part = nn.Parameter(self.cut(self.flat([one.detach() for one in self.parameters])))
        self.optimizer = torch.optim.AdamW([self.part], lr=0.01)

    def flat(self, tensors):
        flat = torch.cat([one.reshape(-1) for one in tensors])
        return nn.functional.pad(flat, (0, flat.numel() % 2))

    def summed(self):
        flat = self.flat([one.grad for one in self.parameters])
        dist.all_reduce(flat)
        return flat.div_(2)

    def put_back(self):
        parts = [torch.empty_like(self.part) for _ in range(2)]
        dist.all_gather(parts, self.part.detach())
        whole, at = torch.cat(parts), 0
        for one in self.parameters:
            one.data.copy_(whole[at : at + one.numel()].view_as(one))
            at += one.numel()


def shared_by_hand(rank, clip, put_back=Share.put_back, cut=None):
    net = Layers()
    share = Share(net, rank, cut)
    for step in range(STEPS):
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        clip(share)
        share.optimizer.step()
        put_back(share)


def clipped_cut_by_its_own_norm(rank):
    def clip(share):
        share.part.grad = share.cut(share.summed())
        nn.utils.clip_grad_norm_([share.part], 0.01)  # expect: GS784

    shared_by_hand(rank, clip)


def clipped_copy_by_its_own_norm(rank):
    def clip(share):
        share.part.grad = torch.zeros_like(share.part)
        share.part.grad.copy_(share.summed().chunk(2)[rank])
        nn.utils.clip_grad_norm_(share.part, max_norm=0.01)  # expect: GS784

    shared_by_hand(rank, clip)


def healthy_clipped_before_the_cut(rank):
    def clip(share):
        flat = share.summed()
        whole = torch.zeros_like(flat, requires_grad=True)
        whole.grad = flat
        nn.utils.clip_grad_norm_([whole], 0.01)
        share.part.grad = share.cut(flat)

    shared_by_hand(rank, clip)


def own_norm(share):
    share.part.grad = share.cut(share.summed())
    total = nn.utils.clip_grad_norm_([share.part], torch.inf).square()
    dist.all_reduce(total)
    nn.utils.clip_grads_with_norm_([share.part], 0.01, total.sqrt())


def healthy_cut_clipped_by_the_norm_of_all(rank):
    shared_by_hand(rank, own_norm)


def healthy_half_that_trains(rank):
    """All ranks train the first half alone."""

    def clip(share):
        share.part.grad = share.cut(share.summed())
        nn.utils.clip_grad_norm_([share.part], 0.01)

    def compare(share):
        mean = share.part.detach().mean()[None]
        dist.all_gather([torch.empty_like(mean) for _ in range(2)], mean)

    shared_by_hand(rank, clip, compare, lambda flat: flat.chunk(2)[0].clone())


def healthy_end_that_trains(rank):
    """All ranks train the last layer alone, and see whether they have it alike."""

    def clip(share):
        share.part.grad = share.cut(share.summed())
        nn.utils.clip_grad_norm_([share.part], 0.01)

    def compare(share):
        dist.all_gather([torch.empty_like(share.part) for _ in range(2)], share.part.detach())

    shared_by_hand(rank, clip, compare, lambda flat: flat[-9:].clone())


def healthy_clipped_beside_another(rank):
    """Says nothing where it is clipped together with what is no part."""

    def clip(share):
        share.part.grad = share.cut(share.summed())
        other = torch.zeros(3, requires_grad=True)
        other.grad = torch.ones(3)
        nn.utils.clip_grad_norm_([share.part, other], 0.01)

    shared_by_hand(rank, clip)


def healthy_own_gradient(rank):
    """Clips what each rank has by itself, before it meets the others."""

    def clip(share):
        flat = share.flat([one.grad for one in share.parameters])
        share.part.grad = share.cut(flat)
        nn.utils.clip_grad_norm_([share.part], 0.01)
        dist.all_reduce(flat)

    shared_by_hand(rank, clip)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
