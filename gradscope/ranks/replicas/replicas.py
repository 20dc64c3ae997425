"""GS792, GS795 and GS796: copies of one model that start apart, drift apart, or whose gradients nobody averages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path

from gradscope.model.finding import Related
from gradscope.model.site import Site
from gradscope.ranks.core.copies import (
    Apart,
    Replicas,
    apart_words,
    first_apart,
    is_averaged,
    looks_of,
    replicas_of,
)
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.gradients.late_sums import summed_late
from gradscope.ranks.gradients.lost_sums import LostSum, lost_sums
from gradscope.ranks.gradients.summed_early import summed_early
from gradscope.ranks.gradients.unread import unread_broadcast
from gradscope.ranks.replicas.added_alone import added_alone
from gradscope.ranks.replicas.copied import copied_before
from gradscope.ranks.replicas.crossed_sums import crossed_sums
from gradscope.ranks.replicas.drawn_apart import drawn_apart
from gradscope.ranks.replicas.drifting import why_apart
from gradscope.ranks.replicas.kept_equal import parted_later
from gradscope.ranks.replicas.late_parts import unseen_parts
from gradscope.ranks.replicas.late_rates import late_rates
from gradscope.ranks.replicas.mesh_parts import mesh_part
from gradscope.ranks.replicas.outside import outside
from gradscope.ranks.replicas.own_heads import trained_by_own_heads
from gradscope.ranks.replicas.partial_gradients import trained_by_shares
from gradscope.ranks.replicas.passed_over import passed_over
from gradscope.ranks.replicas.seeded import seeded_at
from gradscope.ranks.replicas.selected_derivatives import kept_back
from gradscope.ranks.replicas.sent_once import sent_once
from gradscope.ranks.replicas.sharded_rates import sharded_rates
from gradscope.ranks.replicas.stepped_by_hand import parted_by_hand
from gradscope.ranks.replicas.unaveraged import why_not_averaged
from gradscope.ranks.replicas.written import written_after
from gradscope.store.reader import load


def start_apart(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Replicas whose gradients are averaged, and whose parameters are not equal when the first step begins; a copy of
        such a model, an average of its weights say, that was taken before DistributedDataParallel made them equal.
    Why:
        Averaged gradients keep equal copies equal. Copies that start apart stay apart: each is pushed by gradients that
        were computed for others, and what is saved is one of them.
    Wrong:
        torch.manual_seed(rank)
        model = Model()
        ...
        dist.all_reduce(parameter.grad)
    Right:
        model = Model()
        for parameter in model.parameters():
            dist.broadcast(parameter.data, src=0)
    Do instead:
        Broadcast the parameters of one rank before the first step, or let DistributedDataParallel do it; load
        checkpoints on every rank, or before the wrap; take copies after it.
    How it is found:
        The norms of the parameters at the first look, on ranks where DistributedDataParallel averages their gradients,
        or the program itself reduces the .grad of that very parameter, or a tensor that it copies into that. The line
        is that by which a rank writes the parameter after the wrap, or that of the wrap; else that which broadcasts a
        copy of the parameter that nothing reads, or that of the last seed before the parameter is drawn at random,
        where that is one by the rank's number, or, where nothing seeds, that which builds the model; else that of the
        sum. Of models that are built as one that trains, and have no gradients: the norms at the first look at them,
        where a module was copied before the wrap, by one line.
    """
    for replicas in replicas_of(ranks):
        found = _parameter_at(ranks, replicas, looks_of(ranks.weights, replicas)[:1])
        if found is not None:
            averaging = ranks.averaging[found.members[0]]
            own = ranks.own(found.members[0], found.leaf)
            by_hand = (one.site for one in (*averaging.by_hand, *averaging.in_hooks) if one.leaf == own)
            yield Blame(
                f"{unwrapped(found.leaf)} is not the same on all ranks before the first step ({apart_words(found)}), "
                "though its gradient is averaged",
                _written(ranks, found) or averaging.wrapped or _seeded(ranks, found) or next(by_hand, None),
                certain=False,
                backward=found.backward,
                tensor=found.leaf,
            )
            return
        copied = copied_before(ranks, replicas)
        if copied is not None and _drift(ranks) is None:
            yield Blame(
                f"{unwrapped(copied.apart.leaf)} of a copy of the model is not the same on all ranks "
                f"({apart_words(copied.apart)}): it was taken before DistributedDataParallel gave all of them the "
                "parameters of rank 0",
                copied.site,
                (Related("cause_at", copied.wrapped, "where the wrapper was made"),),
                certain=False,
                backward=copied.apart.backward,
                tensor=copied.apart.leaf,
            )
            return


def _seeded(ranks: Ranks, found: Apart) -> Site | None:
    """The line that broadcasts a copy of the parameter, which nobody reads; else that seeds a rank by its number before
    it draws the parameter, or that builds the model unseeded."""
    with load(Path(ranks.rank(found.odd[0]).path)) as recording:
        own = ranks.own(found.odd[0], found.leaf)
        return unread_broadcast(recording, own) or seeded_at(recording, own)


def _written(ranks: Ranks, found: Apart) -> Site | None:
    """The line by which a rank itself wrote the parameter after the wrap had made it that of rank 0."""
    wrapped = ranks.averaging[found.members[0]].wrapped
    if wrapped is None:
        return None
    with load(Path(ranks.rank(found.odd[0]).path)) as recording:
        return written_after(recording, ranks.own(found.odd[0], found.leaf), wrapped)


def drifted(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Replicas of one model whose parameters were equal at the first backward and are not any more.
    Why:
        Data-parallel training keeps one model in many copies only as long as every copy makes the same steps. Other
        learning rates, a step that one rank leaves out, weights that are written on one rank: each rank then trains a
        model of its own, and only rank 0's is saved.
    Wrong:
        optimizer = SGD(model.parameters(), lr=0.1 * (rank + 1))
    Right:
        optimizer = SGD(model.parameters(), lr=0.1)
    Do instead:
        Let every rank make the same steps with the same settings, and average the gradient of what they share.
    How it is found:
        The norms of parameters at the backward calls 0, 1, 2, 4, 8, ..., and of those that torch.autograd.grad()
        derives and a program exchanges: equal on all ranks at the first look, different at a later one by more than
        rounding explains, where gradients are averaged, or where copies with losses of their own had stayed equal at
        three values. Learning rates are compared after the last look as well. Looks before which the ranks had not met
        equally often are left out.
        The line is that of what is not the same on the ranks: an optimizer or a schedule with a rate of its own; the
        condition, in whatever function, by which one rank leaves out a step, an exchange or the loading of a state, or
        what that condition measures; a loop in which the ranks sum gradients of different parameters, and, where it
        goes by the order of a set, the line that makes a list by it, else the loop's; the condition
        that counts, by which gradients are summed before the last backward of a step; what adds a rank's own gradient
        behind the exchange, selects what is exchanged, passes some by in a broadcast, or draws and writes a weight on
        one rank; else what first wrote the parameter since the last look.
        Told by the line that makes or steps them are parameters that nobody averages where most others are, and those
        of parts that are exchanged at the start alone, be it under other names on each rank, as those of a tied weight,
        and those that a rank uses alike for each head of its part of a layer, behind what all ranks keep equal; as
        hints, for a rank may keep a part for itself. Where ranks hold parts of one model, told are parameters of all
        whose gradient no node sums on its way back, or that one rank's seed has changed; and of shards, rates that are
        not the same. Silent where a program restores random states.
    """
    ways = (_apart_now, _parted_later, kept_back, _crossed, _outside, _sent_once, _masked, trained_by_shares, _shards)
    yield from islice(chain.from_iterable(way(ranks) for way in (*ways, _own_heads)), 1)


def _apart_now(ranks: Ranks) -> Iterator[Blame]:
    """What is averaged, and is not equal any more."""
    found = _drift(ranks)
    if found is not None:
        told = why_apart(ranks, found) or _late(ranks, found) or passed_over(ranks, found) or _added_alone(ranks, found)
        why, site = told or ("", None)
        yield Blame(
            f"{unwrapped(found.leaf)} is not the same on all ranks before backward {found.backward} "
            f"({apart_words(found)}); at the first backward it was equal{why and f': {why}'}",
            site,
            certain=False,
            backward=found.backward,
            tensor=found.leaf,
        )


def _parted_later(ranks: Ranks) -> Iterator[Blame]:
    """What stayed equal by an exchange in a form that nobody follows, and did not any more."""
    for found, (why, site) in chain(parted_later(ranks), parted_by_hand(ranks)):
        yield Blame(
            f"{unwrapped(found.leaf)} is not the same on all ranks before backward {found.backward} "
            f"({apart_words(found)}); at the first backward it was equal: {why}",
            site,
            certain=False,
            backward=found.backward,
            tensor=found.leaf,
        )


def _crossed(ranks: Ranks) -> Iterator[Blame]:
    """What is trained by gradients of others, where no look has all parameters of a model that uses some at a time."""
    for one in crossed_sums(ranks):
        related = Related("cause_at", one.site, "where they are summed")
        why = f"copies of the model are trained by gradients of other parameters: {one.why}"
        yield Blame(why, one.chosen, (related,), certain=False, backward=one.before, tensor=min(one.leaves))


def _outside(ranks: Ranks) -> Iterator[Blame]:
    """What is beside the parameters whose gradients are averaged."""
    for found, site in outside(ranks):
        why = f"({apart_words(found)}): it was at first, and its gradient is not averaged as others are"
        yield _trained_alone(found, f"is not the same on all ranks before backward {found.backward} {why}", site, True)


def _sent_once(ranks: Ranks) -> Iterator[Blame]:
    """What was broadcast at the start and never exchanged again."""
    for one in sent_once(ranks):
        into = "" if len(set(one.names)) == 1 else f" as what others call {one.names[-1]}"
        when = f"was broadcast at the start{into} and is not the same on all ranks before backward {one.apart.backward}"
        why = f"({apart_words(one.apart)}): each rank steps it by its own gradient"
        yield _trained_alone(one.apart, f"{when} {why}", one.site, one.is_meant)


def _masked(ranks: Ranks) -> Iterator[Blame]:
    """What ranks of one model with sharded layers hold alike, and train under masks of their own."""
    for one in drawn_apart(ranks):
        where = "" if one.drawn is None else f" at line {one.drawn.line}"
        why = f"each rank draws other numbers{where}, over activations that all have, by a seed of its own"
        yield Blame(
            f"{unwrapped(one.apart.leaf)} is not the same on all ranks before backward {one.apart.backward} "
            f"({apart_words(one.apart)}); at the first backward it was equal: {why}",
            one.seed,
            (Related("cause_at", one.drawn, "where it is drawn"),) if one.drawn is not None else (),
            certain=False,
            backward=one.apart.backward,
            tensor=one.apart.leaf,
        )


def _own_heads(ranks: Ranks) -> Iterator[Blame]:
    """What ranks hold alike, and each trains for its own heads alone."""
    for one in trained_by_own_heads(ranks):
        heads = f"all {one.heads.count:,} heads of its part of {unwrapped(one.heads.part)}"
        why = f"({apart_words(one.apart)}): each rank uses it for {heads}, and no rank sums the gradients of all heads"
        when = f"is not the same on all ranks before backward {one.apart.backward}, as it was at first"
        yield _trained_alone(one.apart, f"{when} {why}", one.site, True)


def _trained_alone(found: Apart, message: str, site: Site | None, meant: bool) -> Blame:
    """That a parameter is not equal; `meant`: a head of each rank's own looks the same."""
    return Blame(
        f"{unwrapped(found.leaf)} {message}",
        site,
        certain=False,
        backward=found.backward,
        tensor=found.leaf,
        meant=meant,
    )


def _shards(ranks: Ranks) -> Iterator[Blame]:
    """Shards or copies of one model that are stepped with rates of their own, of which no look tells."""
    for why, site in late_rates(ranks):
        yield Blame(f"copies of one model are equal and then not trained alike: {why}", site, certain=False)
    for why, site in sharded_rates(ranks):
        yield Blame(f"shards of one model are not trained alike: {why}", site, certain=False)


def _added_alone(ranks: Ranks, found: Apart) -> Told | None:
    """That a wrapper's averages are changed by gradients of a rank's own, and the line."""
    number = found.odd[0]
    if not ranks.averaging[number].groups:
        return None
    with load(Path(ranks.rank(number).path)) as recording:
        return added_alone(recording)


def _late(ranks: Ranks, found: Apart) -> Told | None:
    """Why what a program sums itself, too late or too early, does not keep a parameter equal, and the line."""
    number = found.odd[0]
    with load(Path(ranks.rank(number).path)) as recording:
        own = ranks.own(number, found.leaf)
        late = summed_late(recording, ranks.averaging[number], own)
        return late or summed_early(ranks, number, recording, own)


def not_averaged(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Parameters of a model in DistributedDataParallel whose gradients nobody averages, so that copies drift apart; or
        that a program averages by hand, where the sum is a copy that nothing reads, or comes to one rank alone; copies
        of a model along a dimension of a mesh which fully_shard() is not given.
    Why:
        The wrapper averages what was computed through it, when a backward() adds up a gradient: not when the module
        inside it is called, not in no_sync(), not what torch.autograd.grad() hands out, and not for parameters that
        required no gradient when it was made, were put in others' place later, or came later. Nothing fails; each rank
        trains a model of its own, and only rank 0's is saved.
    Wrong:
        loss = model.module(x).sum()
    Right:
        loss = model(x).sum()
    Do instead:
        Call the wrapper itself, leave no_sync() before the last backward of a step, wrap after freezing, unfreezing,
        loading and adding layers, average by hand what torch.autograd.grad() gives, and give fully_shard() both
        dimensions of a mesh.
    How it is found:
        Replicas that drift apart, where no collective ran in any backward, where the wrapper of the parameter that
        drifts is never called though another one is, or not for some backward calls that a step followed and in which
        nothing met, where no_sync() was entered for a backward that a step followed,
        or where the parameter that drifts has no hook of the wrapper's. The line is that of the call that went past the
        wrapper, or that asks for the module where this runs as often, of no_sync() or of the condition under which it
        is entered or chosen, or the one that calls a helper which counts for it several times at once, of the line that
        computes require_backward_grad_sync, where gradients are averaged in no backward, or not in the last of a step,
        or the condition under which the program switches it on, of the
        load_state_dict(assign=True) after the wrap, of the only line that fills a `.grad`, else of the
        torch.autograd.grad(), or of the wrap; that which thaws the parameter after others were trained, by itself or by
        what it calls. Or that which builds a layer after the wrap, where no forward before read its parameter; such a
        one is told too that no two looks have, where an optimizer steps it, losses are each rank's own, and, once it is
        there, nothing as large is sent outside of backward calls, nor anything in its node. Without a wrapper and a sum
        of any `.grad` itself: where parameters that were equal drift apart, and tensors that were computed from
        gradients are summed, from which nothing is computed after that, the last line that touches them; or where
        reduce() is all that gradients meet others in, its line. Of fully_shard(): the line that takes the one dimension
        of a mesh of two which each call is given, where the name of the other says that copies or data lie along it,
        and nothing but single numbers goes from some ranks to others by any group, though torch is seeded, and not by
        the rank, and the losses and not the learning rates are other ones.
    """
    yield from map(_lost, lost_sums(ranks))
    yield from _beside_a_mesh(ranks)
    apart = list(_by_no_wrapper(ranks))
    yield from apart or islice(_added(ranks), 1)


def _beside_a_mesh(ranks: Ranks) -> Iterator[Blame]:
    """Copies along a dimension of a mesh that fully_shard() is not given."""
    part = mesh_part(ranks)
    if part is not None:
        yield Blame(
            f"fully_shard() is given the dimension {part.taken} of a mesh, so that nobody averages gradients along "
            f"{part.left}: the copies of the model there are each trained by themselves",
            part.site,
            certain=False,
        )


def _by_no_wrapper(ranks: Ranks) -> Iterator[Blame]:
    """What DistributedDataParallel does not average, of copies that drift apart."""
    found = _drift(ranks)
    averaging = None if found is None else ranks.averaging[found.members[0]]
    if found is None or averaging is None or not averaging.is_wrapped:
        return
    told = why_not_averaged(ranks, found, averaging)
    if told is None:
        return
    why, site = told
    wrapped = averaging.wrapped
    yield Blame(
        f"{why}: {unwrapped(found.leaf)} is not the same on all ranks before backward {found.backward} "
        f"({apart_words(found)})",
        site,
        (Related("cause_at", wrapped, "where the wrapper was made"),) if str(site) != str(wrapped) else (),
        certain=False,
        backward=found.backward,
        tensor=found.leaf,
    )


def _added(ranks: Ranks) -> Iterator[Blame]:
    """What a wrapped module was given later, where no look tells that it drifts."""
    for leaf, (why, site), wrapped in unseen_parts(ranks):
        yield Blame(
            f"{why}: each rank steps {unwrapped(leaf)} by the gradient of its own loss alone",
            site,
            (Related("cause_at", wrapped, "where the wrapper was made"),),
            certain=False,
            tensor=leaf,
        )


def _lost(one: LostSum) -> Blame:
    """That the sum of gradients is lost."""
    return Blame(
        f"{one.why}: {unwrapped(one.apart.leaf)} is not the same on all ranks before backward {one.apart.backward} "
        f"({apart_words(one.apart)})",
        one.site,
        (Related("cause_at", one.meets, "where it is summed"),) if str(one.site) != str(one.meets) else (),
        certain=False,
        backward=one.apart.backward,
        tensor=one.apart.leaf,
    )


def _drift(ranks: Ranks) -> Apart | None:
    """The first look at which replicas are apart that were not at the first one."""
    for replicas in replicas_of(ranks):
        looks = looks_of(ranks.weights, replicas)
        if len(looks) > 1 and _parameter_at(ranks, replicas, looks[:1]) is None:
            found = _parameter_at(ranks, replicas, looks[1:])
            if found is not None:
                return found
    return None


def _parameter_at(ranks: Ranks, replicas: Replicas, looks: list[int]) -> Apart | None:
    """The first of these looks at which a parameter whose gradient is averaged is not the same on all ranks."""
    return first_apart(ranks.weights, replicas, looks, partial(is_averaged, ranks, replicas))
