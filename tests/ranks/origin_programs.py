"""Programs of two ranks whose fault goes back to a line above that at which it shows, and their healthy twins.

They run as those of `group_programs.py` do.
"""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run, train
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
from torch.utils.checkpoint import checkpoint


class Normalised(nn.Module):
    """Normalises over all ranks, and computes a variance as the mean of squares less the square of the mean."""

    def __init__(self, dtype):
        super().__init__()
        self.net, self.dtype = model(), dtype

    def forward(self, x):
        h = x.to(self.dtype)
        sums = torch.stack([h.sum(0), (h * h).sum(0)])
        dist.all_reduce(sums)
        mean, squares = sums / (5 * dist.get_world_size())
        spread = squares - mean * mean  # expect: GS793 in variance_below_zero
        scaled = (h - mean) * torch.rsqrt(spread + 1e-5)
        return self.net(scaled.float())


def normalise(rank, dtype):
    net = Replicated(Normalised(dtype))
    train(net, rank, loss=lambda net, x: net(x * 1e-2 + 10.0 ** (x.size(1) - 1)).square().mean())


def variance_below_zero(rank):
    normalise(rank, torch.float32)


def healthy_variance(rank):
    normalise(rank, torch.float64)


def spread_below_zero(rank):
    def loss(net, x):
        far = x * 1e-2 + 1000
        variance = far.square().mean(0) - far.mean(0).pow(2)  # expect: GS793
        deviation = variance.sqrt()
        return net((far - far.mean(0)) / (deviation + 1e-2)).square().mean()

    train(Replicated(model()), rank, loss=loss)


def healthy_deviation(rank):
    def loss(net, x):
        far = x * 1e-2 + 1000
        return net((far - far.mean(0)) / (far.std(0) + 1e-2)).square().mean()

    train(Replicated(model()), rank, loss=loss)


def rooted(rank, least):
    """As in https://github.com/pytorch/pytorch/issues/68425: nothing flows below the crest, later on rank 1."""

    def loss(net, x):
        head = net(x) + 9.0 - 18.0 * (rank and at[0] >= 4)
        at[0] += 1
        flow = torch.where(head > 0, head.clamp(min=least).sqrt(), 0.0)  # expect: GS793 in root_of_nothing
        return (flow - 1).square().mean()

    at = [0]
    train(Replicated(model()), rank, loss=loss, lr=0.001)


def root_of_nothing(rank):
    rooted(rank, -100.0)


def healthy_root(rank):
    rooted(rank, 1e-3)


def halved(divides):
    """A hook that sums gradients in half precision."""

    def hook(state, bucket):
        buffer = bucket.buffer()
        if divides:
            buffer.div_(1e4)
        sent = buffer.to(torch.float16)  # expect: GS793 in summed_in_half
        future = dist.all_reduce(sent, async_op=True).get_future()

        def restored(done):
            buffer.copy_(done.value()[0])
            return buffer

        return future.then(restored)

    return hook


def halve(rank, divides):
    net = Replicated(model())
    net.register_comm_hook(None, halved(divides))
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = net(data(rank, step)).square().mean()
        (loss * (1e6 if step == 2 else 1.0)).backward()
        for parameter in net.parameters():
            parameter.grad.sub_(parameter.grad.mean())
        optimizer.step()


def summed_in_half(rank):
    halve(rank, False)


def healthy_half(rank):
    halve(rank, True)


class Recomputed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.first, self.rest, self.reentrant = nn.Linear(4, 4), model(), reentrant

    def forward(self, x):
        h = self.first(x)
        return checkpoint(self.rest, h, use_reentrant=self.reentrant)  # expect: GS791 in ready_in_a_checkpoint


def ready_in_a_checkpoint(rank):
    train(Replicated(Recomputed(True), find_unused_parameters=True), rank)


def healthy_checkpoint(rank):
    train(Replicated(Recomputed(False), find_unused_parameters=True), rank)


def searched(rank, together):
    net = Replicated(model())
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=12, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (net(data(rank, 0)) - 3.0 * rank).square().mean()
        loss.backward()
        total = loss.detach().clone()
        if together:
            dist.all_reduce(total)
        return total  # expect: GS790 in searches_by_its_own_loss

    for _ in range(STEPS):
        optimizer.step(closure)
    dist.barrier()


def searches_by_its_own_loss(rank):
    searched(rank, False)


def healthy_search(rank):
    searched(rank, True)


class Dropping(nn.Module):
    """Leaves layers out at random."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        self.chance = torch.Generator().manual_seed(seed)

    def forward(self, x):
        for layer in self.layers:
            drawn = torch.rand((), generator=self.chance)  # expect: GS790 in drops_other_layers
            if drawn < 0.4:
                continue
            x = layer(x).tanh()
        return x


def dropping(rank, seed):
    from torch.distributed.fsdp import fully_shard

    net = Dropping(seed)
    for layer in net.layers:
        fully_shard(layer)
    fully_shard(net)
    train(net, rank, before=lambda net, step: torch.ones(1).item() if rank == 0 else None)


def drops_other_layers(rank):
    dropping(rank, 10 * rank)


def healthy_drops_the_same(rank):
    dropping(rank, 10)


class Saved:
    """Has a file that only one rank looks for."""

    def __init__(self, rank, everywhere):
        self.rank, self.everywhere, self.folder = rank, everywhere, Path(f"saved{int(everywhere)}")

    def save(self, net):
        if self.rank == 0:
            self.folder.mkdir(exist_ok=True)
            torch.save({name: one + 1 for name, one in net.state_dict().items()}, self.folder / "net.pt")
        dist.barrier()

    def newest(self):
        looks = self.everywhere or dist.get_rank() == 0  # expect: GS792 in loads_on_one_rank
        found = [*self.folder.iterdir()] if looks else []
        return found[0] if found else None


def loaded(rank, everywhere):
    saved, net = Saved(rank, everywhere), Replicated(model())
    train(net, rank)
    saved.save(net.module)
    restore(saved.newest(), net)
    train(net, rank)


def restore(path, net):
    if path is None:
        return
    net.module.load_state_dict(torch.load(path))


def loads_on_one_rank(rank):
    loaded(rank, False)


def healthy_loads_on_both(rank):
    loaded(rank, True)


class Counted(nn.Module):
    """Keeps a running mean of its own."""

    def __init__(self, together):
        super().__init__()
        self.net, self.together = model(), together
        self.register_buffer("usual", torch.zeros(4))

    def forward(self, x):
        with torch.no_grad():
            mean = x.mean(0)  # expect: GS797 in buffer_of_its_own
            if self.together:
                dist.all_reduce(mean)
            self.usual.mul_(0.9).add_(mean, alpha=0.1)
        return self.net(x - self.usual)


def buffer_of_its_own(rank):
    train(Replicated(Counted(False), broadcast_buffers=False), rank)


def healthy_buffer_of_all(rank):
    train(Replicated(Counted(True), broadcast_buffers=False), rank)


def parts_beside_the_wrapper(rank):
    def loss(net, x):
        inside = net.module  # expect: GS796
        hidden = inside[:2](x)
        return inside[2](hidden).square().mean()

    train(Replicated(model()), rank, loss=loss)


def parts_of_what_was_asked_for_once(rank):
    net = Replicated(model())
    inside = net.module
    train(net, rank, loss=lambda _, x: inside(x).square().mean())  # expect: GS796


def inside_of_which_others_read_a_part(rank):
    net = Replicated(model())

    def loss(net, x):
        inside = net.module
        with torch.no_grad():
            aim = inside[:2](x).mean(1, keepdim=True)
        return (inside(x) - aim).square().mean()  # expect: GS796

    train(net, rank, loss=loss)


class Seen(nn.Module):
    """Counts what all ranks have seen."""

    def __init__(self, meet):
        super().__init__()
        self.net, self.meet = model(), meet
        self.register_buffer("count", torch.ones(1))
        self.register_buffer("before", torch.ones(1))

    def forward(self, x):
        with torch.no_grad():
            self.count += len(x)
            self.meet(self)
        return self.net(x)


def counted(rank, meet):
    net = Seen(meet)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(34):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()


def total_put_back(rank):
    def meet(seen):
        packed = torch.cat([seen.count, torch.ones(1)])
        dist.all_reduce(packed)
        seen.count.copy_(packed[:1])  # expect: GS799

    counted(rank, meet)


def total_summed_in_place(rank):
    def meet(seen):
        dist.all_reduce(seen.count)  # expect: GS799

    counted(rank, meet)


def total_assigned(rank):
    def meet(seen):
        total = seen.count.clone()
        dist.all_reduce(total)
        seen.count = total  # expect: GS799

    counted(rank, meet)


def healthy_total_divided(rank):
    def meet(seen):
        dist.all_reduce(seen.count)
        seen.count.div_(dist.get_world_size())

    counted(rank, meet)


def healthy_total_of_what_is_new(rank):
    def meet(seen):
        new = seen.count - seen.before
        dist.all_reduce(new)
        seen.count.copy_(seen.before + new)
        seen.before.copy_(seen.count)

    counted(rank, meet)


def healthy_total_started_anew(rank):
    def meet(seen):
        dist.all_reduce(seen.count)
        seen.count.zero_()

    counted(rank, meet)


def healthy_longest(rank):
    def meet(seen):
        seen.count.mul_(2)
        dist.all_reduce(seen.count, op=dist.ReduceOp.MAX)

    counted(rank, meet)


def layer_of_another_size(rank):
    """On all ranks alike."""
    last = nn.Linear(6, 1)  # expect: GS791
    net = Replicated(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), last))
    train(net, rank)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
