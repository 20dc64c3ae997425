"""Each rank's part of what all have summed or scattered, scaled by a norm in which the other parts are missing, or were
put in otherwise than by their squares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.gradients.clipped_cuts import GATHERS
from gradscope.ranks.gradients.norm_values import NORMS, NormValue, computed, measured
from gradscope.ranks.gradients.part_norms import REPLACES
from gradscope.ranks.gradients.read_norms import READS, scaled_from
from gradscope.ranks.source.squares import divides_itself, takes_a_root_of_squares
from gradscope.ranks.source.ways import is_collective
from gradscope.store.collective_reader import read_groups_of_runs, read_process_groups
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording

_SUMS = frozenset(("allreduce_", "all_reduce"))
_SCATTERS = frozenset(("_reduce_scatter_base_", "reduce_scatter_"))
_NUMBERS = frozenset(("allgather_", "_allgather_base_", "all_gather_into_tensor"))
_SCALES = frozenset(("mul", "div", "_foreach_mul", "_foreach_div"))
_SAME = frozenset((*_SCALES, "clone", "_to_copy", "neg", "detach", "alias", "view", "_unsafe_view", "reshape", "copy"))
_PICKS = frozenset(("index_select", "index"))
_JOINS = frozenset(("cat", "stack"))
_PADS = frozenset(("constant_pad_nd", "cat"))
_CLIPS = "clip_grad_norm_"  # of torch's: asked for elsewhere, as it may have no bound and serve the norm alone
_LISTS = "_foreach_"
_ROOTS = frozenset((*NORMS, "sqrt", "pow", "rsqrt"))
_OF_NUMBERS = frozenset(  # what makes of a norm the factor that follows from it
    (
        *("add", "sub", "rsub", "mul", "div", "reciprocal", "sqrt", "pow", "lerp", "where", "select", "view", "detach"),
        *("clamp", "clamp_max", "clamp_min", "minimum", "maximum", "min", "max", "clone", "_to_copy", "unsqueeze"),
        *("squeeze", "alias", "expand", "stack", "unbind"),
    )
)


@dataclass(frozen=True, slots=True)
class Scaled:
    """The line that makes a norm that is not that of all, the line that scales by it, and whether ranks had met."""

    norm: Site
    scales: Site
    is_merged: bool


@dataclass(frozen=True, slots=True)
class _Number:
    """What is known of a number; `root`: where it became a norm; `loose`: it follows from one, and is none itself;
    `mean`: where ranks have divided what they had put together."""

    value: NormValue
    root: Site | None = None
    loose: bool = False
    mean: Site | None = None


@dataclass(slots=True)
class _Walk:
    """What is known since the last backward call. By memory: `wholes`, what several ranks have summed (its size, and
    how many they are), `numbers`, and `led`, what came of parts that were scaled (how large such a part is, and where).
    By tensor: `cuts`, which parts of wholes it shows; `whole_of` the whole of each. `shared` are others' numbers. By
    line: `read`, what it read since ranks met, None where that is not known.
    """

    tensors: Mapping[int, FlowTensor]
    worlds: Mapping[int, int]
    wholes: dict[int, tuple[int, int]] = field(default_factory=dict)
    numbers: dict[int, _Number] = field(default_factory=dict)
    cuts: dict[int, frozenset[int]] = field(default_factory=dict)
    whole_of: dict[int, int] = field(default_factory=dict)
    led: dict[int, tuple[int, Scaled]] = field(default_factory=dict)
    shared: set[int] = field(default_factory=set)
    read: dict[str, _Number | None] = field(default_factory=dict)

    def memory(self, at: int) -> int:
        """The storage of a tensor; none has a negative number."""
        return self.tensors[at].storage if at in self.tensors else -1

    def size(self, at: int) -> int:
        """How many numbers it has."""
        return math.prod(self.tensors[at].type.shape) if at in self.tensors else 0

    def begin(self) -> None:
        """Forget what was known before a backward call, but for what others have had a part in."""
        for known in (self.wholes, self.numbers, self.cuts, self.whole_of, self.led, self.read):
            known.clear()

    def is_large(self, at: int) -> bool:
        """Whether it is no number: several, or a part, which may be a single one."""
        return at in self.cuts or self.size(at) > 1

    def is_of_all(self, of: frozenset[int]) -> bool:
        """Whether one part of each whole that was cut is in it: of two parts, it would be the norm of the whole."""
        wholes = [self.whole_of[part] for part in of if part in self.whole_of]
        return len(wholes) == len(set(wholes)) and set(wholes) == set(self.whole_of.values())


def scaled_shards(recording: Recording) -> Scaled | None:
    """The first parts that are scaled so, where parts of their size are put together before the next backward."""
    with damage_is_one_sentence(recording.path):
        rows, interned = recording.tables.rows, recording.tables.interned
        groups = read_process_groups(rows, interned)
        worlds = {run: len(groups[number].members) for run, number in read_groups_of_runs(rows).items()}
    walk = _Walk({one.number: one for one in recording.flow_tensors()}, worlds)
    for one in recording.flow():
        if one.backward is not None:
            walk.begin()
        elif is_collective(one.operation.name):
            if worlds.get(one.run, 1) > 1:
                told = _put_together(walk, one)
                if told is not None:
                    return told
                _meet(walk, one, worlds[one.run])
        elif one.operation.name.startswith(READS):
            _read(walk, one)
        else:
            _lead(walk, one, _scaled(walk, recording, one))
            _pass_on(walk, one)
    return None


def _put_together(walk: _Walk, one: FlowOperation) -> Scaled | None:
    """What came of parts that were scaled, whole, if that is what ranks put together."""
    if not one.operation.name.startswith(GATHERS):
        return None
    given = [(walk.size(each.tensor), *walk.led.get(walk.memory(each.tensor), (0, None))) for each in one.reads]
    return next((scaled for size, least, scaled in given if scaled is not None and size >= least), None)


def _lead(walk: _Walk, one: FlowOperation, scaled: Scaled | None) -> None:
    """Note what comes of parts that an operator scales, or that were scaled: weights, by a step of whatever kind."""
    reads = [each.tensor for each in one.reads]
    made = set(map(walk.memory, one.makes or reads))  # an operator on lists makes nothing
    if base_name(one.operation.name) in REPLACES:
        reads = [at for at in reads if at not in one.makes]
        for each in made:
            walk.led.pop(each, None)
    least = min((walk.size(at) for at in reads if at in walk.cuts), default=0)
    found = [walk.led[memory] for memory in map(walk.memory, reads) if memory in walk.led]
    found += [] if scaled is None else [(least, scaled)]
    if found:
        walk.led |= dict.fromkeys(made, found[0])


def _meet(walk: _Walk, one: FlowOperation, world: int) -> None:
    """Note what several ranks have summed or scattered, and what has become of their norms."""
    walk.read.clear()
    name, reads = base_name(one.operation.name), [each.tensor for each in one.reads]
    known = [walk.numbers.pop(memory) for memory in dict.fromkeys(map(walk.memory, reads)) if memory in walk.numbers]
    touched = {*reads, *one.makes}
    walk.shared |= {walk.memory(at) for at in touched if walk.size(at) == 1}
    norms = [one for one in known if one.value.is_root and one.value.merged is None and not one.loose]
    if len(known) == 1 and norms and name in _SUMS | _NUMBERS:
        met = replace(norms[0], value=norms[0].value.met(gathered=name in _NUMBERS, site=one.site))
        walk.numbers.update(dict.fromkeys(map(walk.memory, one.makes), met))
        walk.shared -= {walk.memory(at) for at in touched}
    elif name in _SUMS:
        walk.wholes.update({walk.memory(at): (walk.size(at), world) for at in reads})
    elif name in _SCATTERS:
        given = sum(map(walk.size, set(reads) - set(one.makes)))  # one tensor, or a list with one for each rank
        for at in one.makes:
            if walk.size(at) * world == given:
                walk.cuts[at], walk.whole_of[at] = frozenset([at]), walk.memory(at)


def _scaled(walk: _Walk, recording: Recording, one: FlowOperation) -> Scaled | None:
    """Whether an operator scales parts by what follows from a norm that is not that of all."""
    if base_name(one.operation.name).removesuffix("_") not in _SCALES or one.site is None:
        return None
    if any(site.function == _CLIPS for site in one.operation.stack):
        return None
    if not any(each.tensor in walk.cuts for each in one.reads) or any(each.requires_grad for each in one.reads):
        return None  # what requires gradients is none, but samples of which ranks have parts
    by = [walk.numbers.get(walk.memory(each.tensor)) for each in one.reads if not walk.is_large(each.tensor)]
    for number in (each for each in by if each is not None):
        mean = number.mean if number.mean is not None and divides_itself(recording, number.mean) else None
        value, line = number.value, mean or number.value.merged or number.root
        is_known = value.merged is not None or (value.is_root and not value.gathered)
        squares = value.merged is None or all(takes_a_root_of_squares(recording, site) for site in value.sites)
        if is_known and squares and line is not None and walk.is_of_all(value.of):
            return Scaled(line, one.site, value.merged is not None)
    return _scaled_by_what_was_read(walk, recording, one)


def _read(walk: _Walk, one: FlowOperation) -> None:
    """Note what a line reads as a number of Python: in a loop, of one part after the other."""
    numbers = [walk.numbers.get(walk.memory(each.tensor)) for each in one.reads]
    number, line = numbers[0] if len(numbers) == 1 else None, str(one.site)
    if number is None or number.value.merged is not None or number.value.gathered or one.site is None:
        walk.read[line] = None
        return
    before = walk.read.get(line, number)
    of = number.value.of | (frozenset() if before is None else before.value.of)
    known = _Number(replace(number.value, of=of), number.root or one.site)
    walk.read[line] = None if before is None else known


def _scaled_by_what_was_read(walk: _Walk, recording: Recording, one: FlowOperation) -> Scaled | None:
    """Whether nothing but parts goes into what scales them, by a number that was read from their own norm."""
    is_of_parts = all(each.tensor in walk.cuts for each in one.reads)
    if one.site is None or not is_of_parts or not any(walk.read.values()):
        return None
    line = scaled_from(recording, one, walk.read) or ""
    number = walk.read.get(line)
    if number is None or number.root is None or not walk.is_of_all(number.value.of):
        walk.read[line] = None  # each part is scaled by its own
        return None
    return Scaled(number.root, one.site, is_merged=False)


def _pass_on(walk: _Walk, one: FlowOperation) -> None:
    """Note wholes, parts, norms of parts, and what follows from these."""
    name, reads, many = base_name(one.operation.name).removesuffix("_"), [at.tensor for at in one.reads], len(one.makes)
    is_list = name.startswith(_LISTS) and many and len(reads) % many == 0
    for place, made in enumerate(one.makes):
        given = reads[place::many] if is_list else reads
        large = [at for at in given if walk.is_large(at)]
        if _is_part(walk, name, large, made) or _is_whole(walk, name, given, made):
            walk.numbers.pop(walk.memory(made), None)
        elif large and all(at in walk.cuts for at in large):
            of = frozenset[int]().union(*(walk.cuts[at] for at in large))
            value = measured(name, of, len(given), one.site)
            _keep(walk, made, None if value is None else _Number(value, one.site if name in _ROOTS else None))
        elif walk.memory(made) not in walk.wholes:
            _number(
                walk, name, [at for at in given if at not in one.makes or walk.memory(at) in walk.numbers], made, one
            )


def _is_part(walk: _Walk, name: str, large: list[int], made: int) -> bool:
    """Whether a tensor is a part of a whole, cut out of it or made of a part number by number, or is several parts."""
    if name in _JOINS and large and all(at in walk.cuts for at in large):
        walk.cuts[made] = frozenset[int]().union(*(walk.cuts[at] for at in large))
        return True
    if len(large) != 1:
        return False
    (read,), size = large, walk.size(made)
    if read in walk.cuts and walk.size(read) == size and name in _SAME:
        walk.cuts[made] = walk.cuts[read]
        return True
    memory = walk.memory(read)
    whole, world = walk.wholes.get(memory, (0, 1))
    is_cut = whole > size == -(-whole // world) and (walk.memory(made) == memory or name in _PICKS)
    if is_cut:
        walk.cuts[made], walk.whole_of[made] = frozenset([made]), memory
    return is_cut


def _is_whole(walk: _Walk, name: str, given: list[int], made: int) -> bool:
    """Whether a tensor is what several ranks have summed, or made of that number by number."""
    large = [at for at in given if walk.memory(at) in walk.wholes]
    if len(large) != 1:
        return False
    memory, size = walk.memory(large[0]), walk.size(made)
    whole, world = walk.wholes[memory]
    pads = name in _PADS and whole <= size < whole + world
    if walk.size(large[0]) == whole and (pads or (size == whole and name in _SAME)):
        walk.wholes[walk.memory(made)] = size, world
        return True
    return walk.memory(made) == memory


def _number(walk: _Walk, name: str, given: list[int], made: int, one: FlowOperation) -> None:
    """Note what an operator makes of numbers."""
    memories = list(dict.fromkeys(map(walk.memory, given)))
    known = [walk.numbers[memory] for memory in memories if memory in walk.numbers]
    if not walk.shared.isdisjoint(memories):
        walk.shared.add(walk.memory(made))
        _keep(walk, made, None)
        return
    walk.shared.discard(walk.memory(made))
    if not known:
        _keep(walk, made, None)
        return
    if name == "div" and len(known) == len(memories) == 1 and known[0].value.merged is not None and not known[0].loose:
        _keep(walk, made, replace(known[0], mean=one.site))  # what is divided by a number may be made a mean of
        return
    plain = [each.value for each in known if not each.loose]
    value = computed(name, plain, len(plain) == len(memories), one.site) if len(plain) == len(known) else None
    if value is not None:
        became = value.is_root and (name in _ROOTS or not all(each.is_root for each in plain))
        _keep(walk, made, _Number(value, one.site if became else _root(known), mean=_mean(known)))
        return
    _keep(walk, made, _loose(walk, name, known, made))


def _loose(walk: _Walk, name: str, known: list[_Number], made: int) -> _Number | None:
    """What follows from norms, and is none itself."""
    values = [each.value for each in known]
    is_one = walk.size(made) == 1 and name in _OF_NUMBERS
    if not is_one or any(each.gathered or not (each.is_root or each.merged) for each in values):
        return None
    of = frozenset[int]().union(*(each.of for each in values))
    merged = next((each.merged for each in values if each.merged is not None), None)
    sites = frozenset[Site]().union(*(each.sites for each in values))
    value = NormValue(of, is_root=True, sites=sites, merged=merged)
    return _Number(value, _root(known), loose=True, mean=_mean(known))


def _mean(known: Iterable[_Number]) -> Site | None:
    return next((each.mean for each in known if each.mean is not None), None)


def _root(known: Iterable[_Number]) -> Site | None:
    return next((each.root for each in known if each.root is not None), None)


def _keep(walk: _Walk, made: int, number: _Number | None) -> None:
    if number is None:
        walk.numbers.pop(walk.memory(made), None)
    else:
        walk.numbers[walk.memory(made)] = number
