"""Programs of two ranks that part in one trip of a loop, by what each has counted or kept for itself; and their healthy
twins. They run as those of `group_programs.py` do."""

import copy
import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run
from torch.nn.parallel import DistributedDataParallel as Replicated


class Sieve:
    """Makes no step of an echo that is too loud."""

    def __init__(self, net):
        self.net, self.made = net, 0
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step(self, echo):
        if echo.abs().max() < 100:
            self.optimizer.step()
            self.made += 1
        self.optimizer.zero_grad()

    def share(self, number, by_its_own):
        if (self.made if by_its_own else number) % 3 == 2:  # expect: GS790 in shares_by_the_steps_made
            dist.all_reduce(self.net[0].bias.detach()[:3].clone())


def echo(rank, step):
    """Of a whale: of the second rank, once, its own ship drowns it."""
    heard = data(rank, step)
    return heard * 1000 if rank == 1 and step == 4 else heard


def whales(rank, by_its_own):
    net = model()
    sieve = Sieve(net)
    for step in range(3 * STEPS):
        heard = echo(rank, step)
        loss = net(heard).square().mean()
        loss.backward()
        sieve.step(heard)
        sieve.share(step, by_its_own)
        if step % 2:
            dist.all_reduce(loss.detach().clone())


def shares_by_the_steps_made(rank):
    """As in https://github.com/dylanyunlon/Neuron_SP/issues/2."""
    whales(rank, True)


def healthy_whales(rank):
    whales(rank, False)


def echoes_in_one_loop(rank, by_its_own):
    net, made = model(), 0
    for step in range(3 * STEPS):
        heard = echo(rank, step)
        loss = net(heard).square().mean()
        loss.backward()
        if heard.abs().max() < 100:
            made += 1
        if (made if by_its_own else step) % 3 == 2:  # expect: GS790 in shares_by_what_it_counted
            dist.all_reduce(net[0].bias.grad[:3].clone())
        if step % 2:
            dist.all_reduce(loss.detach().clone())


def shares_by_what_it_counted(rank):
    echoes_in_one_loop(rank, True)


def healthy_echoes(rank):
    echoes_in_one_loop(rank, False)


def told_now_and_then(step):
    if step % 2:
        dist.all_reduce(torch.ones(1))


def tells_of_an_echo_more(rank):
    """Where the other comes round to the line above, not this leaves anything out."""
    net = model()
    for step in range(STEPS):
        net(data(rank, step)).square().mean().backward()
        told_now_and_then(step)
        if rank == 1 and step == 2:
            dist.all_reduce(torch.ones(3))  # expect: GS790


class Fog:
    """Light that is seen now and then, of which each rank has some other nights; one of the second's is dark."""

    def __init__(self, rank):
        self.drawn, self.rank, self.night = torch.Generator().manual_seed(40 + rank), rank, 0

    def seen(self):
        light, self.night = torch.zeros(6, 4), self.night + 1
        for row in range(6):
            if torch.rand(1, generator=self.drawn) > 0.6:
                continue
            at = int(torch.randint(0, 4, (1,), generator=self.drawn))
            light[row, at] += 1 + torch.rand((), generator=self.drawn)
        light[0, 0] += 1
        return light * (0 if self.rank == 1 and self.night == 5 else 1)


def as_of_a_bucket():
    """As large as what the wrapper sends in a backward: gloo aborts the process of a rank that is sent more."""
    return torch.zeros(sum(one.numel() for one in model().parameters()))


def beacons(rank, agreed=lambda any_seen: any_seen, told=lambda light, night: None):
    net, fog = Replicated(model()), Fog(rank)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for night in range(STEPS):
        light = fog.seen()
        any_seen = agreed(light.any().int())
        if any_seen.item():  # expect: GS790 in leaves_dark_nights_out
            optimizer.zero_grad()
            net(light).square().mean().backward()
            optimizer.step()
        told(light, night)
        if night % 2:
            dist.all_reduce(as_of_a_bucket())


def leaves_dark_nights_out(rank):
    """As in https://github.com/NVIDIA-NeMo/Automodel/pull/2468."""
    beacons(rank)


def tells_of_a_night_more(rank):
    """Ranks go other ways in a loop that draws, and each makes all steps: not that is what keeps them from meeting."""

    def told(light, night):
        if rank == 1 and night == 2:
            dist.all_reduce(as_of_a_bucket())  # expect: GS790

    beacons(rank, torch.ones_like, told)


def healthy_beacons(rank):
    """Leaves out what is dark on any rank."""

    def agreed(any_seen):
        dist.all_reduce(any_seen, op=dist.ReduceOp.MIN)
        return any_seen

    beacons(rank, agreed)


def over_all(number):
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return number
    told = as_of_a_bucket() + number
    dist.all_reduce(told)
    return told[0] / dist.get_world_size()


def reefs(rank, step):
    """What lies on the ground of a stretch, and where corals are; some have none."""
    ground = data(rank, step)
    return ground, (ground[:, 0] > 0) & ~torch.tensor(rank == 1 and step == 4)


def weighed_by_corals(out, corals):
    """Asks others only where there are corals."""
    if corals.any():
        corals_of_all = over_all(corals.sum().float()).clamp(min=1)  # expect: GS790 in sums_only_corals
        return out[corals].square().sum() / corals_of_all
    return out.sum() * 0.0


def weighed_by_all_corals(out, corals):
    return out[corals].square().sum() / over_all(corals.sum().float()).clamp(min=1)


def dives(rank, weighed, then=lambda step: None):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        ground, corals = reefs(rank, step)
        out = net(ground)
        loss = out.square().mean() + weighed(out, corals)
        optimizer.zero_grad()
        loss.backward()
        then(step)
        optimizer.step()


def sums_only_corals(rank):
    """As in https://github.com/tinyvision/DAMO-YOLO/issues/30."""
    dives(rank, weighed_by_corals)


def healthy_dives(rank):
    dives(rank, weighed_by_all_corals)


def tells_of_a_dive_more(rank):
    """Not what all ranks run before a backward is why they do not meet."""

    def then(step):
        if rank == 1 and step == 3:
            dist.all_reduce(as_of_a_bucket())  # expect: GS790

    dives(rank, weighed_by_all_corals, then)


class Slow:
    """A model that follows another one slowly."""

    def __init__(self, net):
        self.weights = copy.deepcopy(net).requires_grad_(False)
        self.last = [one.detach().clone() for one in net.parameters()]

    @torch.no_grad()
    def follow(self, net):
        for own, other in zip(self.weights.parameters(), net.parameters(), strict=True):
            own.lerp_(other, 0.5)

    @torch.no_grad()
    def keep(self, net):
        for at, one in enumerate(net.parameters()):
            self.last[at] = one + 0.0

    @torch.no_grad()
    def lead(self, net):
        for own, other in zip(self.weights.parameters(), net.parameters(), strict=True):
            other.copy_(own)

    @torch.no_grad()
    def go_back(self, net):
        for other, kept in zip(net.parameters(), self.last, strict=True):
            other.copy_(kept)


def tides(rank, follows, leads, step_of=lambda slow, net: None):
    """As in https://github.com/lucidrains/ema-pytorch/issues/9."""
    net = model()
    wrapped = Replicated(net)
    slow = Slow(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        wrapped(data(rank, step)).square().mean().backward()
        optimizer.step()
        step_of(slow, net)
        follows(slow, net)
        if step == 3:
            leads(slow, net)


def led_by_what_one_rank_followed(rank):
    def follow(slow, net):
        if rank == 0:  # expect: GS792
            slow.follow(net)

    tides(rank, follow, Slow.lead)


def healthy_tides(rank):
    tides(rank, Slow.follow, Slow.lead)


def set_back_to_what_one_rank_kept(rank):
    def keep(slow, net):
        if rank == 0:  # expect: GS792
            slow.keep(net)

    tides(rank, keep, Slow.go_back)


def healthy_kept_on_one_rank_to_show(rank):
    """What one rank alone keeps, nobody goes back to."""

    def keep(slow, net):
        if rank == 0:
            slow.keep(net)

    tides(rank, keep, Slow.lead, Slow.follow)


def loads_what_one_rank_followed(rank):
    def follow(slow, net):
        if rank == 0:  # expect: GS792
            slow.follow(net)

    tides(rank, follow, lambda slow, net: net.load_state_dict(slow.weights.state_dict()))


def writes_what_each_drew(rank):
    """What one rank alone keeps has no part in it."""

    def keep(slow, net):
        if rank == 0:
            slow.keep(net)

    @torch.no_grad()
    def draw(slow, net):
        torch.manual_seed(rank)
        for one in net.parameters():
            one.copy_(torch.randn(one.shape))  # expect: GS792

    tides(rank, keep, draw)


def nights(rank, is_kept):
    """All ranks meet for a loss each night, and each third night for three numbers."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def listen(heard):
        optimizer.zero_grad()
        loss = net(heard).square().mean()
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.detach())

    for night in range(3 * STEPS):
        heard = data(rank, night) * (rank == 0 or night != 5)
        if is_kept(heard):
            listen(heard)  # expect: GS790 in skips_silent_nights
        if night % 3 == 2:
            dist.all_reduce(torch.ones(3))


def skips_silent_nights(rank):
    """As in https://github.com/NVIDIA-NeMo/Automodel/pull/2468."""
    nights(rank, torch.any)


def healthy_listens_each_night(rank):
    nights(rank, torch.is_tensor)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
