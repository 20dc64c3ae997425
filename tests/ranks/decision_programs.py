"""Small programs of two ranks in which one decides by what it alone knows, and their healthy twins, run as those of
`group_programs.py` are: out of a loop, into a branch, in a step of a scaler; and sizes that a caller gets wrong."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run, train
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

SPLITS = ((1, 2), (3, 4))  # rows that each rank sends to each


def validated(rank, step, together=False):
    """A loss that grows on rank 1 from step 3 on."""
    loss = torch.tensor(float(3 * (rank == 1 and step >= 3)))
    if together:
        dist.all_reduce(loss)
    told = loss.item()
    dist.all_reduce(torch.ones(1))
    return told


def on_rank_zero(function):
    def called():
        if dist.get_rank() == 0:
            function()

    return called


@on_rank_zero  # expect: GS790 in saved_by_one_rank
def saved():
    """Waits for the others, which do not save."""
    dist.barrier()


def saved_by_one_rank(rank):
    net = Replicated(model())
    for step in range(STEPS):
        net(data(rank, step)).square().mean().backward()
        if step == 3:
            saved()


def loss_of(net, x, known):
    out = net(x)
    if not known.any():  # expect: GS790 in batch_without_targets
        return None
    return out[known].square().mean()


def trained_where_known(rank, loss_of):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        known = torch.full((5,), not (rank == 1 and step == 3))
        loss = loss_of(net, data(rank, step), known)
        if loss is None:
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.barrier()


def batch_without_targets(rank):
    trained_where_known(rank, loss_of)


def healthy_batch_without_targets(rank):
    trained_where_known(rank, lambda net, x, known: (net(x).square() * known[:, None]).mean())


class Stopper:
    """Stops a training when a loss has become no better."""

    def __init__(self, stop):
        self.stopped, self.stop = False, stop

    def train(self, rank, together=False):
        net, step = Replicated(model()), 0
        while step < STEPS and not self.stopped:
            net(data(rank, step)).square().mean().backward()
            self.stop(self, validated(rank, step, together))
            step += 1
        dist.barrier()


def stops_by_its_own_loss(rank):
    def look(stopper, loss):
        if loss > 2:
            stopper.stopped = True  # expect: GS790

    Stopper(look).train(rank)


def healthy_stops_together(rank):
    def look(stopper, loss):
        vars(stopper)["stopped"] = loss > 2

    Stopper(look).train(rank, together=True)


def breaks_by_its_own_loss(rank):
    net = Replicated(model())
    for step in range(STEPS):
        net(data(rank, step)).square().mean().backward()
        if validated(rank, step) > 2:  # expect: GS790
            break
    dist.barrier()


def healthy_breaks_together(rank):
    net = Replicated(model())
    for step in range(STEPS):
        net(data(rank, step)).square().mean().backward()
        if validated(rank, step, together=True) > 2:
            break
    dist.barrier()


def batches(many):
    return torch.utils.data.DataLoader([torch.full((4,), 0.1 * at) for at in range(many)], batch_size=1)


def epoch(net, loader):
    for x in loader:
        net(x).square().mean().backward()


def over_epochs(rank, together):
    net, loader = Replicated(model()), batches(2)
    for number in range(STEPS):
        epoch(net, loader)
        loss = net.module(torch.ones(1, 4)).sum() * 0 + 3 * (rank == 1 and number >= 3)
        if together:
            dist.all_reduce(loss)
        if loss.item() > 2:  # expect: GS790 in breaks_after_an_epoch
            break
    dist.barrier()


def breaks_after_an_epoch(rank):
    """Leaves the loop of the epochs, when all have come to the end of that over the batches."""
    over_epochs(rank, together=False)


def healthy_breaks_after_an_epoch(rank):
    over_epochs(rank, together=True)


def saved_after_an_epoch(rank):
    """One rank meets the other in a branch of its own, and the other begins the next epoch, of the same function."""
    net, loader = Replicated(model()), batches(2)
    for _ in range(STEPS):
        for x in loader:
            net(x).square().mean().backward()
        if rank == 0:
            dist.barrier()  # expect: GS790


def healthy_saved_after_an_epoch(rank):
    net, loader = Replicated(model()), batches(2)
    for _ in range(STEPS):
        for x in loader:
            net(x).square().mean().backward()
        dist.barrier()


def has_fewer_batches_in_an_epoch(rank):
    """Ends the loop over its batches, and not that of the epochs, which it is in as the other is."""
    net = Replicated(model())
    for number in range(STEPS):
        loader = batches(3 - (rank == 1 and number == 2))
        for x in loader:  # expect: GS790
            net(x).square().mean().backward()
        dist.barrier()


def steps_of(net, loader):
    for x in loader:  # expect: GS790 in has_fewer_steps
        loss = net(x).square().mean()
        loss.backward()
        yield loss.detach()


def has_fewer_steps(rank):
    """What goes through a generator runs between its steps, and does not leave its loop."""
    net, total = Replicated(model()), torch.zeros(())
    for loss in steps_of(net, batches(4 - rank)):
        total += loss
    dist.barrier()


def has_fewer_batches(rank):
    net = Replicated(model())
    batches = [data(rank, step) for step in range(STEPS - rank)]  # expect: GS790
    for x in batches:
        net(x).square().mean().backward()
    dist.barrier()


class Detector(nn.Module):
    """Has a part that works on some batches only."""

    def __init__(self, loss):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.box, self.loss = nn.Linear(4, 4), nn.Linear(4, 1), loss

    def forward(self, x, empty):
        features = self.body(x)
        for _ in range(1 if empty else 2):
            features = features.tanh()
        return self.loss(self, features, empty)


def detect(rank, loss):
    net = Replicated(Detector(loss))
    for step in range(STEPS):
        net(data(rank, step), rank == 1 and step == 3).backward()


def a_part_left_out(rank):
    def loss(net, features, empty):
        if not empty:
            boxes = net.box(features)
            boxes = boxes.mean()
        else:
            boxes = features.sum() * 0.0  # expect: GS791
        return features.square().mean() + boxes

    detect(rank, loss)


def a_part_skipped(rank):
    def loss(net, features, empty):
        total = features.square().mean()
        if not empty:  # expect: GS791
            total = total + net.box(features).mean()
        return total

    detect(rank, loss)


def healthy_part_times_zero(rank):
    def loss(net, features, empty):
        boxes = net.box(features)
        return features.square().mean() + (boxes.sum() * 0.0 if empty else boxes.mean())

    detect(rank, loss)


class Exchange(torch.autograd.Function):
    """Rows to all ranks, and gradients back."""

    @staticmethod
    def forward(ctx, x, received, sent):
        ctx.sizes = received, sent
        out = x.new_empty(sum(received), x.size(1))
        dist.all_to_all_single(out, x.contiguous(), received, sent)
        return out

    @staticmethod
    def backward(ctx, gradient):
        received, sent = ctx.sizes
        out = gradient.new_empty(sum(sent), gradient.size(1))
        dist.all_to_all_single(out, gradient.contiguous(), sent, received)
        return out, None, None


def splits_of(number):
    return [one[number] for one in SPLITS], list(SPLITS[number])


def swapped_on_the_way_back(rank):
    received, sent = splits_of(rank)
    there = Exchange.apply(torch.ones(sum(sent), 2, requires_grad=True), received, sent)
    Exchange.apply(there * 2, received, sent).sum().backward()  # expect: GS791


def healthy_there_and_back(rank):
    received, sent = splits_of(rank)
    there = Exchange.apply(torch.ones(sum(sent), 2, requires_grad=True), received, sent)
    Exchange.apply(there * 2, sent, received).sum().backward()


def put_into(out, x):
    dist.all_gather_into_tensor(out, x)
    return out


def room_for_too_few(rank):
    put_into(torch.empty(4), torch.ones(2))
    put_into(torch.empty(4), torch.ones(3))  # expect: GS791


def scaled(rank, between, bad):
    """Steps of a scaler, with gradients that overflow on `bad` ranks in step 3."""
    net = model()
    optimizer, scaler = torch.optim.SGD(net.parameters(), lr=0.01), torch.amp.GradScaler("cpu", init_scale=2.0**16)
    for step in range(STEPS):
        optimizer.zero_grad()
        out = net(data(rank, step))
        steep = 1e35 if rank in bad and step == 3 else 0.0
        scaler.scale(out.square().mean() + steep * (out - out.detach()).sum()).backward()
        between(net, scaler, optimizer)
        scaler.step(optimizer)
        scaler.update()


def averaged(net):
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= 2


def averaged_at_once(net):
    flat = torch.cat([parameter.grad.flatten() for parameter in net.parameters()])
    dist.all_reduce(flat)
    sizes = [parameter.numel() for parameter in net.parameters()]
    for parameter, part in zip(net.parameters(), flat.split(sizes), strict=True):
        parameter.grad.copy_(part.view_as(parameter) / 2)


def looks_before_it_averages(rank):
    def between(net, scaler, optimizer):
        scaler.unscale_(optimizer)  # expect: GS793
        averaged_at_once(net)

    scaled(rank, between, bad=(1,))


def looks_before_each_is_averaged(rank):
    def between(net, scaler, optimizer):
        scaler.unscale_(optimizer)  # expect: GS793
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        averaged(net)

    scaled(rank, between, bad=(0,))


def healthy_looks_after_it_averaged(rank):
    def between(net, scaler, optimizer):
        averaged(net)
        scaler.unscale_(optimizer)

    scaled(rank, between, bad=(1,))


def healthy_features_of_all(rank):
    """A contrastive loss over the features of all ranks: it is the same on each of them."""
    net = Replicated(model())

    def loss(net, x):
        mine = net(x)
        parts = [torch.zeros_like(mine) for _ in range(2)]
        dist.all_gather(parts, mine.detach())
        parts[rank] = mine
        return torch.cat(parts).square().mean()

    train(net, rank, loss=loss)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
