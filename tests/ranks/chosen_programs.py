"""Programs of two ranks whose fault goes back to what a rank alone has: a hook, settings, a group, a name of its own;
and their healthy twins. They run as those of `group_programs.py` do."""

import sys
import time
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from group_programs import PATIENCE, STEPS, chosen, data, model, run, train
from torch.nn.parallel import DistributedDataParallel as Replicated


class SlowWeights:
    """Puts an average of the weights in their place now and then."""

    def __init__(self, net, every=2):
        self.net, self.every = net, every
        self.slow = [one.detach().clone() for one in net.parameters()]

    @torch.no_grad()
    def after_step(self, step):
        if step % self.every:
            return
        for slow, one in zip(self.slow, self.net.parameters(), strict=True):
            slow.lerp_(one, 0.5)
            one.copy_(slow)


class Meter:
    """Writes nothing of the model's."""

    def __init__(self):
        self.seen = []

    def after_step(self, step):
        self.seen.append(step)


def train_with(net, rank, hooks):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        optimizer.step()
        for number, hook in enumerate(hooks):
            hook.after_step(step + 0 * number)


def hooks_of_one_rank(rank):
    net = Replicated(model())
    hooks = [Meter(), SlowWeights(net.module)] if rank == 0 else [Meter()]  # expect: GS792
    train_with(net, rank, hooks)


def hooks_in_a_branch(rank):
    net = Replicated(model())
    is_main = rank == 0
    hooks = [Meter()]
    if is_main:
        hooks.append(Meter())
    if is_main:  # expect: GS792
        hooks += [SlowWeights(net.module)]
    train_with(net, rank, hooks)


def healthy_hooks(rank):
    net = Replicated(model())
    hooks = [SlowWeights(net.module)]
    if rank == 0:
        hooks.append(Meter())
    train_with(net, rank, hooks)


class Trainer:
    """Calls what was registered."""

    def __init__(self, rank):
        self.rank, self.net, self.hooks = rank, Replicated(model()), []

    def register(self, hook):
        self.hooks.append(hook)

    def fit(self):
        optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        for step in range(STEPS):
            optimizer.zero_grad()
            self.net(data(self.rank, step)).square().mean().backward()
            optimizer.step()
            for hook in self.hooks:
                hook.after_step(step)


def hook_registered_by_one(rank):
    trainer = Trainer(rank)
    if rank == 0:
        trainer.register(Meter())
    if rank == 0:  # expect: GS792
        trainer.register(SlowWeights(trainer.net.module))
    trainer.fit()


@torch.no_grad()
def halve(step, net):
    for one in net.parameters():
        if step == 2:
            one.mul_(0.5)


class Averaging:
    """Calls what averages, where it was given that."""

    def __init__(self, net, slow):
        self.net = net
        self.slow = slow

    def step(self, net, step):
        if self.slow is not None:
            self.slow(step, self.net)


def averaging(net, slow):
    return Averaging(net, slow)


def averaged_by_one(rank):
    net = Replicated(model())
    callback = averaging(net, halve if rank == 0 else None)  # expect: GS792
    train(net, rank, before=callback.step)


class Study:
    """Proposes settings."""

    def ask(self):
        return {"lr": 0.3}


@dataclass(frozen=True)
class Settings:
    """What a trial is made with."""

    lr: float = 0.1


def settings_of(study, box=None):
    proposal = study.ask() if study is not None else {}
    if box is not None:
        box.append(proposal)
        dist.broadcast_object_list(box, src=0)
        proposal = box[0]
    return Settings(**proposal)


def settings_by_a_branch(study):
    settings = Settings()
    if study is not None:
        settings = Settings(**study.ask())  # expect: GS792 in settings_of_a_branch
    return settings


def settings_of_a_branch(rank):
    study = Study() if rank == 0 else None
    train(Replicated(model()), rank, lr=settings_by_a_branch(study).lr)


def settings_at_once(rank):
    study = Study() if rank == 0 else None
    settings = study.ask() if study is not None else {"lr": 0.1}  # expect: GS792
    train(Replicated(model()), rank, lr=settings["lr"])


def settings_of_one_rank(rank):
    study = Study() if rank == 0 else None  # expect: GS792
    settings = settings_of(study)
    train(Replicated(model()), rank, lr=settings.lr)


def healthy_settings(rank):
    study = Study() if rank == 0 else None
    settings = settings_of(study, [])
    train(Replicated(model()), rank, lr=settings.lr)


class Confusion:
    """Has a group of its own."""

    def __init__(self):
        self.group = dist.new_group(timeout=timedelta(seconds=PATIENCE))


def grouped(rank, hooks):
    net = Replicated(model())
    train(net, rank)
    return hooks


def group_of_one_rank(rank):
    hooks = []
    if rank == 0:  # expect: GS791
        hooks += [kind() for kind in (Confusion,)]
    grouped(rank, hooks)


def healthy_group(rank):
    hooks = [Confusion()]
    if rank == 0:
        hooks.append(Meter())
    grouped(rank, hooks)


def groups_of_all(rank):
    """Every rank makes a group, and they are not the same: none is missing."""
    if rank == 0:
        dist.new_group(timeout=timedelta(seconds=PATIENCE))  # expect: GS791
    else:
        dist.new_group([0, 1], timedelta(seconds=2 * PATIENCE), use_local_synchronization=True)
    grouped(rank, [])


def group_of_others(rank):
    """A group that torch refuses is no group that others have not come to."""
    if rank == 0:
        dist.new_group([0, 5])  # expect: GS791
    dist.barrier()


@dataclass
class Experiment:
    """Where files of a run are."""

    name: str = "run"
    root: Path = Path("of-a-field")
    stamp: str = field(default_factory=lambda: uuid.uuid4().hex[:8])  # expect: GS791 in folder_of_a_field

    @property
    def folder(self):
        return self.root / f"{self.name}-{self.stamp}"


def folder_of_a_field(rank):
    experiment = Experiment(name="own")
    path = experiment.folder / "scale.pt"
    if rank == 0:
        experiment.folder.mkdir(parents=True)
        torch.save(torch.ones(1), path)
    dist.barrier()
    torch.load(path)
    dist.barrier()


def shared():
    told = [uuid.uuid4().hex]
    dist.broadcast_object_list(told, src=0)
    return told[0]


@dataclass
class Given:
    """Is given a stamp that all ranks have."""

    token: str = field(default_factory=lambda: uuid.uuid4().hex)


def folder_that_is_given(rank):
    """What one rank reads is missing for another reason than its name."""
    given = Given(shared())
    path = Path(f"given-{given.token}")
    if rank == 0:
        (path / "0").mkdir(parents=True)
    dist.barrier()
    (path / f"{rank}" / "scale.txt").write_text("1", encoding="utf-8")  # expect: GS791
    dist.barrier()


@dataclass
class Spread:
    """Is given its stamp among others."""

    mark: str = field(default_factory=lambda: uuid.uuid4().hex)


def folder_of_spread(rank):
    spread = Spread(**dict(zip(["mark"], [shared()], strict=True)))
    path = Path(f"spread-{spread.mark}")
    if rank == 0:
        (path / "0").mkdir(parents=True)
    dist.barrier()
    (path / f"{rank}" / "scale.txt").write_text("1", encoding="utf-8")  # expect: GS791
    dist.barrier()


@dataclass
class Later:
    """Is made with a name of its own, and gets another one."""

    sign: str = field(default_factory=lambda: uuid.uuid4().hex)
    name_of_it: str = field(default_factory=lambda: uuid.uuid4().hex)


def rename(later, sign):
    later.sign = sign


def folder_that_is_set_later(rank):
    later = Later()
    rename(later, shared())
    path = Path(f"later-{later.sign}")
    if rank == 0:
        (path / "0").mkdir(parents=True)
    dist.barrier()
    (path / f"{rank}" / "scale.txt").write_text("1", encoding="utf-8")  # expect: GS791
    dist.barrier()


def folder_that_is_set_by_name(rank):
    later = Later()
    setattr(later, "name_of_it", shared())  # noqa: B010
    path = Path(f"by-name-{later.name_of_it}")
    if rank == 0:
        (path / "0").mkdir(parents=True)
    dist.barrier()
    (path / f"{rank}" / "scale.txt").write_text("1", encoding="utf-8")  # expect: GS791
    dist.barrier()


@dataclass
class Base:
    """Those derived from it are given another identity."""

    identity: str = field(default_factory=lambda: uuid.uuid4().hex)

    def write(self, rank):
        path = Path(f"base-{self.identity}")
        if rank == 0:
            (path / "0").mkdir(parents=True)
        dist.barrier()
        (path / f"{rank}" / "scale.txt").write_text("1", encoding="utf-8")  # expect: GS791 in folder_of_one_derived
        dist.barrier()


class Derived(Base):
    """One that is made."""


def folder_of_one_derived(rank):
    Base()
    Derived(identity=shared()).write(rank)


@dataclass
class Aliased:
    """Is made by another name."""

    alias: str = field(default_factory=lambda: uuid.uuid4().hex)

    def write(self, rank):
        path = Path(f"alias-{self.alias}")
        if rank == 0:
            (path / "0").mkdir(parents=True)
        dist.barrier()
        (path / f"{rank}" / "scale.txt").write_text("1", encoding="utf-8")  # expect: GS791 in folder_of_an_alias
        dist.barrier()


def folder_of_an_alias(rank):
    kind = [Aliased][0]
    kind(alias=shared()).write(rank)


class Constants:
    """Is never made."""

    run = f"constant-{time.time_ns()}"  # expect: GS791 in folder_of_a_class


def folder_of_a_class(rank):
    if rank == 0:
        Path(Constants.run).mkdir()
    dist.barrier()
    (Path(Constants.run) / "scale.txt").write_text("1", encoding="utf-8")
    dist.barrier()


def healthy_folder(rank):
    experiment = Experiment(name=shared())
    experiment.folder.mkdir(parents=True)
    dist.barrier()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
