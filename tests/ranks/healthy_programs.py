"""Small programs of two ranks that do nothing wrong, run as those of `group_programs.py` are."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, batches, data, model, put_together, run, train
from replica_programs import LENGTHS, Centred, by_length, evaluated, loop, resume, two_wrappers, with_statistics
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated
from wrapper_programs import mean, summed, trained


def healthy_ddp(rank):
    train(Replicated(model()), rank)


def healthy_by_hand(rank):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= 2
        optimizer.step()


def healthy_sums_with_a_rate_for_all(rank):
    """What the gradients are too large by, the learning rate is too small by."""
    net, world = model(), dist.get_world_size()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1 / world)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()


def healthy_accumulation(rank):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        with net.no_sync():
            net(data(rank, 2 * step)).square().mean().backward()
        net(data(rank, 2 * step + 1)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def healthy_tensor_parallel(rank):
    """Both ranks see the same data and have parts of one layer."""
    part = model(seed=rank)
    optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        out = part(data(0, step))
        whole = out.detach().clone()
        dist.all_reduce(whole)
        (out * whole).mean().backward()
        optimizer.step()


def healthy_pipeline(rank):
    """Two stages: what one sends, the other receives."""
    torch.manual_seed(rank)
    stage = nn.Linear(4, 4)
    for step in range(STEPS):
        if rank == 0:
            out = stage(data(0, step))
            dist.send(out.detach(), 1)
            gradient = torch.empty(5, 4)
            dist.recv(gradient, 1)
            out.backward(gradient)
        else:
            x = torch.empty(5, 4)
            dist.recv(x, 0)
            x.requires_grad_()
            stage(x).square().mean().backward()
            dist.send(x.grad, 0)


def healthy_two_models(rank):
    """Each rank trains a model of its own, from a start of its own."""
    train(model(seed=rank), rank)
    dist.barrier()


def healthy_long_ones_in_turn(rank):
    """Batches are sorted by length, and each rank takes every second one."""
    by_length(range(len(LENGTHS))[rank::2])


def healthy_averaged_now_and_then(rank):
    """Each rank steps by itself, and parameters are averaged every third step."""
    net = model()

    def average(net, step):
        if step % 3 == 2:
            for parameter in net.parameters():
                dist.all_reduce(parameter.data)
                parameter.data /= 2

    train(net, rank, before=average)


def healthy_expert(rank):
    """A part of the model is each rank's own: nobody averages it, and the wrapper knows."""
    net = nn.ModuleDict({"shared": model(), "expert": nn.Linear(1, 1)})
    net._ddp_params_and_buffers_to_ignore = ["expert.weight", "expert.bias"]
    net.forward = lambda x: net["expert"](net["shared"](x))
    train(Replicated(net), rank)


def healthy_comm_hook(rank):
    net = Replicated(model())

    def averaged(state, bucket):
        future = dist.all_reduce(bucket.buffer().div_(2), async_op=True).get_future()
        return future.then(lambda result: result.value()[0])

    net.register_comm_hook(None, averaged)
    train(net, rank)


def healthy_join(rank):
    """One rank has more to do than the other."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with net.join():
        for step in range(STEPS - 3 * rank):
            optimizer.zero_grad()
            net(data(rank, step)).square().mean().backward()
            optimizer.step()


def healthy_join_of_epochs(rank):
    """One rank has more to do in each epoch, so that the next one begins with another number."""
    from torch.distributed.algorithms.join import Join

    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        with Join([net], divide_by_initial_world_size=False):
            for step in range(STEPS - 3 * rank):
                optimizer.zero_grad()
                net(data(rank, step)).square().mean().backward()
                optimizer.step()


def healthy_sharded_optimizer(rank):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    net = Replicated(model(), gradient_as_bucket_view=True, static_graph=True)
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.01)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        optimizer.step()


def healthy_unused(rank):
    """Each rank uses another branch; what it does not use is averaged all the same."""
    net = nn.ModuleDict({"first": model(), "second": model(1)})
    net.forward = net["first" if rank else "second"].forward
    train(Replicated(net, find_unused_parameters=True), rank)


def healthy_schedule_by_all_losses(rank):
    """And the last layer is written, alike on all ranks."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)

    def after(loss, step):
        dist.all_reduce(loss)
        schedule.step(loss)
        nn.init.zeros_(net.module[2].weight)

    loop(net, optimizer, rank, after)


def healthy_statistics(rank):
    """Those of rank 0 are broadcast before each forward, so that they are apart after it."""
    torch.manual_seed(0)
    train(Replicated(with_statistics()), rank)


class Together(Centred):
    def of_batch(self, x):
        mean = x.mean(0)
        dist.all_reduce(mean)
        return mean / 2


def healthy_buffers(rank):
    """One is computed from the batches of all ranks, one is not saved, one is a rank's own from the start."""
    net = Replicated(nn.Sequential(Together(), nn.Unflatten(1, (1, 1)), nn.Flatten()), broadcast_buffers=False)
    net.module.register_buffer("place", torch.tensor([float(rank)]))
    train(net, rank)
    train(Replicated(Centred(persistent=False), broadcast_buffers=False), rank)


def healthy_functional(rank):
    """Results of functional collectives are waited for where they are used."""
    from torch.distributed._functional_collectives import all_reduce

    net = model()
    for step in range(STEPS):
        out = net(data(rank, step))
        assert torch.isfinite(all_reduce(out.detach(), "sum", dist.group.WORLD)).all()
        out.square().mean().backward()


def healthy_messages(rank):
    """Both send before they receive."""
    for _ in range(3):
        sent = dist.isend(torch.ones(2), 1 - rank)
        dist.recv(torch.empty(2), 1 - rank)
        sent.wait()
    dist.barrier()


def healthy_uneven_objects(rank):
    """What is gathered has another size on each rank."""
    gathered = [None, None]
    dist.all_gather_object(gathered, "x" * (rank + 1))


def healthy_logging_on_rank_0(rank):
    net = Replicated(model())
    train(net, rank)
    total = torch.ones(1)
    dist.all_reduce(total)
    if rank == 0:
        print("total", total.item())


def healthy_fsdp(rank):
    from torch.distributed.fsdp import fully_shard

    net = model()
    fully_shard(net)
    train(net, rank)


def healthy_saving_on_rank_0(rank):
    """Rank 0 evaluates and saves; each rank resumes from what all were given of it."""
    saved = {}
    for _ in range(2):
        net = model()
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        if saved:
            resume(net, optimizer, saved)
        loop(Replicated(net), optimizer, rank)
        if rank == 0:
            evaluated(net)
            saved = {"net": net.state_dict(), "optimizer": optimizer.state_dict()}
        given = [saved]
        dist.broadcast_object_list(given)
        saved = given[0]


def healthy_empty_batches(rank):
    """A batch with nothing in it goes through the wrapper as well."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in batches(rank):
        optimizer.zero_grad()
        net(x).square().sum().backward()
        optimizer.step()
    dist.barrier()


def healthy_saving_what_is_sharded(rank):
    """All ranks put it together, and one of them keeps it."""
    from torch.distributed.fsdp import fully_shard

    net = model()
    fully_shard(net)
    train(net, rank)
    state = put_together(net)
    if rank == 0:
        assert state
    dist.barrier()


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = model(), nn.Linear(1, 4)

    def forward(self, x):
        return self.decoder(self.encoder(x))


def healthy_fsdp_in_parts(rank):
    """Each part is sharded, and run without gradients after each step: what is put together is in no module."""
    from torch.distributed.fsdp import fully_shard

    net = Halves()
    for part in (net.encoder, net.decoder, net):
        fully_shard(part)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

    def check(loss, step):
        with torch.no_grad():
            net(data(rank, step))

    loop(net, optimizer, rank, check)


def healthy_two_wrappers(rank):
    two_wrappers(rank, lambda head, x: head(x))


def healthy_rate_for_all(rank):
    world_size = dist.get_world_size()
    trained(rank, lambda out: mean(out) / world_size, rate=0.05 * world_size)


def healthy_rate_that_is_less(rank):
    trained(rank, meet=summed, rate=0.05 / dist.get_world_size())


def healthy_scale_of_all(rank):
    """Divides by a tensor, which all ranks have summed."""

    def loss_of(out):
        world_scale = out.detach().square().mean() + 1.0
        dist.all_reduce(world_scale)
        return mean(out) / world_scale

    trained(rank, loss_of)


PROGRAMS = [found for name, found in list(globals().items()) if name.startswith("healthy_")]

if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), PROGRAMS, 2)
