"""Small programs of two ranks that choose, and their healthy twins: which layers run, when an object says that a
training stops, which rank removes what the other still reads, and how files are named. They run as those of
`group_programs.py` do."""

import itertools
import os
import shutil
import sys
import time
from datetime import datetime
from pathlib import Path

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run, train
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated


class Choosing(nn.Module):
    """One of three layers runs, by a number."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.stem = nn.Linear(4, 4)
        self.ways = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3))

    def forward(self, x, way):
        return self.ways[way](self.stem(x))


class Tasks(nn.Module):
    """A head for each task, of which a batch has one."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Linear(4, 4)
        self.heads = nn.ModuleDict({"depth": nn.Linear(4, 1), "label": nn.Linear(4, 3)})

    def forward(self, batch):
        task = batch["task"]
        return self.heads[task](self.body(batch["x"]))


class Drawn(nn.Module):
    """Draws in each forward which expert runs."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.stem, self.experts = nn.Linear(4, 4), nn.ModuleList([nn.Linear(4, 1), nn.Linear(4, 1)])

    def forward(self, x):
        first = int(torch.randint(2, ()))
        return self.experts[first](self.stem(x))


class Shortened(nn.Module):
    """Leaves out the last of its layers, which its forward goes through one by one."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList()
        for _ in range(3):
            self.layers.append(nn.Linear(4, 4))  # expect: GS791 in last_layer_forgotten

    def forward(self, x):
        for at in range(2):
            x = self.layers[at](x)
        return x


WAYS, TASKS = itertools.cycle((1, 0, 2)), itertools.cycle(("label", "depth"))


def by_turns(net, x):
    return net(x, next(WAYS)).square().mean()


def by_task(net, x):
    return net({"task": next(TASKS), "x": x}).square().mean()


def one_of_three(rank):
    net = Replicated(Choosing())  # expect: GS791
    train(net, rank, loss=by_turns)


def healthy_one_of_three(rank):
    net = Replicated(Choosing(), find_unused_parameters=True)
    train(net, rank, loss=by_turns)


def one_head_a_batch(rank):
    net = Replicated(Tasks())  # expect: GS791
    train(net, rank, loss=by_task)


def healthy_one_head_a_batch(rank):
    net = Replicated(Tasks(), find_unused_parameters=True)
    train(net, rank, loss=by_task)


def one_expert(rank):
    net = Replicated(Drawn())  # expect: GS791
    train(net, rank)


def healthy_one_expert(rank):
    train(Replicated(Drawn(), find_unused_parameters=True), rank)


def last_layer_forgotten(rank):
    train(Replicated(Shortened()), rank)


class Patience:
    """Says that a training stops when a loss has been no better for a while."""

    def __init__(self, most):
        self.best, self.most, self.worse, self.stops = None, most, 0, False

    def __call__(self, loss):
        if self.best is None or loss < self.best:
            self.best, self.worse = loss, 0
        else:
            self.worse += 1
        if self.worse >= self.most:
            self.stops = True


class Plateau:
    """The same by a method with a name, which goes by a score."""

    def __init__(self, most):
        self.best, self.most, self.worse, self.over = None, most, 0, False

    def update(self, loss):
        score = -loss
        if self.best is None or score > self.best:
            self.best, self.worse = score, 0
            return
        self.worse += 1
        if self.worse >= self.most:
            self.over = True


class Together:
    """Asks all ranks."""

    def __init__(self):
        self.agreed = False

    def __call__(self, loss):
        total = torch.tensor(float(loss))
        dist.all_reduce(total)
        self.agreed = total.item() > 2


def measured(rank, step):
    """A loss that grows on rank 1 from step 3 on."""
    return torch.tensor(float(3 * step) if rank == 1 and step >= 3 else -float(step)).item()


def mean(value):
    total = torch.tensor(value)
    dist.all_reduce(total)
    return total.item() / 2


def stopped_by_what_it_hands_on(rank):
    net, patience = Replicated(model()), Patience(1)
    for step in range(STEPS):
        net(data(rank, step)).square().mean().backward()
        loss = measured(rank, step)
        net.told = mean(loss)
        patience(loss)  # expect: GS790
        if patience.stops:
            break
    dist.barrier()


def stopped_by_a_method(rank):
    net, plateau = Replicated(model()), Plateau(1)
    for step in range(STEPS):
        net(data(rank, step)).square().mean().backward()
        loss = measured(rank, step)
        net.told = mean(loss)
        plateau.update(loss=loss)  # expect: GS790
        if plateau.over:
            break
    dist.barrier()


class Fit:
    """Holds what says when it stops."""

    def __init__(self, shared):
        self.net, self.patience, self.shared = Replicated(model()), None, shared
        self.patience = Patience(1)

    def run(self, rank):
        step = 0
        while step < STEPS and not self.patience.stops:
            self.net(data(rank, step)).square().mean().backward()
            loss = measured(rank, step)
            told = mean(loss)
            self.patience(told if self.shared else loss)  # expect: GS790 in stopped_by_what_is_held
            step += 1
        dist.barrier()


def stopped_by_what_is_held(rank):
    Fit(shared=False).run(rank)


def healthy_stopped_by_the_mean(rank):
    Fit(shared=True).run(rank)


def healthy_stopped_by_all(rank):
    net, together = Replicated(model()), Together()
    for step in range(STEPS):
        net(data(rank, step)).square().mean().backward()
        together(measured(rank, step))
        if together.agreed:
            break
    dist.barrier()


class Kept:
    """Weights in a file of all ranks."""

    def __init__(self, name, net):
        self.path, self.net = f"{name}.pt", net

    def save(self):
        if dist.get_rank() == 0:
            torch.save(self.net.state_dict(), self.path)
        dist.barrier()

    def restore(self):
        time.sleep(dist.get_rank())
        self.net.load_state_dict(torch.load(self.path))

    def clean(self):
        if dist.get_rank() == 0:
            os.remove(self.path)  # noqa: PTH107 -- # expect: GS791 in removed_while_read


def kept(rank, name, wait):
    one = Kept(name, Replicated(model()))
    one.save()
    one.restore()
    wait()
    one.clean()
    train(one.net, rank)


def removed_while_read(rank):
    kept(rank, "removed_while_read", lambda: None)


def healthy_removed_after_all_read(rank):
    kept(rank, "healthy_removed_after_all_read", dist.barrier)


def folder_removed_while_read(rank):
    folder = Path("scales")
    if rank == 0:
        folder.mkdir()
        torch.save(torch.ones(1), folder / "scale.pt")
    dist.barrier()
    time.sleep(rank)
    scale = torch.load(folder / "scale.pt")
    if rank == 0:
        shutil.rmtree(folder)  # expect: GS791
    train(Replicated(model()), rank, lr=0.1 * scale.item())


def discard(path):
    path.unlink()  # expect: GS791 in removed_by_a_helper


def read(path):
    time.sleep(dist.get_rank())
    return torch.load(path)


def removed_by_a_helper(rank):
    path = Path("removed_by_a_helper.pt")
    if rank == 0:
        torch.save(torch.ones(1), path)
    dist.barrier()
    scale = read(path)
    if rank == 0:
        discard(path)
    train(Replicated(model()), rank, lr=0.1 * scale.item())


def run_folder(rank, stamp):
    """Where the files of a run are, which one rank writes."""
    folder = Path(f"run-{stamp}")
    if rank == 0:
        folder.mkdir(exist_ok=True)
        torch.save(torch.ones(1), folder / "scale.pt")
    dist.barrier()
    return folder


def scaled_by_what_is_in(folder, rank):
    train(Replicated(model()), rank, lr=0.1 * torch.load(folder / "scale.pt").item())  # expect: GS791 in a_date_of_both


def a_folder_of_its_own(rank):
    stamp = f"{time.time_ns()}"  # expect: GS791
    scaled_by_what_is_in(run_folder(rank, stamp), rank)


def a_folder_named_by_a_clock(rank):
    def under(root):
        now = datetime.now()  # expect: GS791
        folder = Path(root) / now.strftime("%Y%m%d-%H%M%S-%f")
        if rank == 0:
            (folder / "logs").mkdir(parents=True)
        dist.barrier()
        return folder

    (under("clock") / "logs" / f"{rank}.txt").write_text("begun", encoding="utf-8")
    dist.barrier()


def healthy_folder_of_both(rank):
    stamp = shared(f"{time.time_ns()}")
    scaled_by_what_is_in(run_folder(rank, stamp), rank)


def shared(stamp):
    told = [stamp]
    dist.broadcast_object_list(told, src=0)
    return told[0]


def a_folder_of_both_without_a_file(rank):
    """What one rank reads is missing for another reason than its name, which another function makes that of both."""
    agree = [shared][0]  # by another name
    stamp = agree(f"{time.time_ns()}")
    folder = run_folder(rank, stamp)
    torch.load(folder / f"{'scale' * (1 - rank)}.pt")  # expect: GS791
    dist.barrier()


def a_date_of_both(rank):
    """A name that the clocks of both give alike: another rank's file is missing for another reason."""
    folder = Path(datetime.now().strftime("%Y-%m-%d"))
    if rank == 0:
        folder.mkdir(exist_ok=True)
        torch.save(torch.ones(1), folder / "scale.pt")
    dist.barrier()
    scaled_by_what_is_in(folder / str(rank) if rank else folder, rank)


def folders_on_purpose(rank):
    """Each rank has a folder of its own, and one of them has not written into it."""
    folder = Path(f"own-{rank}-{time.time_ns()}")
    folder.mkdir()
    if rank == 0:
        torch.save(torch.ones(1), "own.pt")
    dist.barrier()
    if rank == 1:
        torch.load(folder / "own.pt")  # expect: GS791
    dist.barrier()


def never_written(rank):
    """What one rank reads is missing for another reason: the other removes something else."""
    path, other = Path("never_written.pt"), Path("never_written_either.pt")
    if rank == 0:
        torch.save(torch.ones(1), path)
        torch.save(torch.ones(1), other)
    dist.barrier()
    scale = torch.load(path if rank == 0 else f"{path}.r{rank}")  # expect: GS791
    if rank == 0:
        other.unlink()
    train(Replicated(model()), rank, lr=0.1 * scale.item())


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
