"""The table of the probes: names that faults are noted under, and the same conditions wherever a probe stands."""

from gradscope.model.detail import Detail
from gradscope.probes.core.context import Options
from gradscope.probes.core.probe import Watcher
from gradscope.probes.table import AT_BACKWARDS, ENTERED


def test_what_is_told_of_backwards_is_a_watcher_under_its_own_name():
    assert all(issubclass(entry.probe, Watcher) for entry in AT_BACKWARDS)
    assert [entry.name for entry in AT_BACKWARDS] == [entry.probe.probe for entry in AT_BACKWARDS]


def test_a_probe_that_stands_twice_has_the_same_conditions():
    entered = {entry.probe: entry for entry in ENTERED}
    both = [(entry, entered[entry.probe]) for entry in AT_BACKWARDS if entry.probe in entered]
    assert len(both) == 8
    assert all(one == other for one, other in both)


def test_the_detail_decides_and_so_does_what_torch_lacks(tmp_path):
    def wanted(detail, *lacking):
        options = Options(detail, frozenset(lacking), watch_all=False, tensors=None, folder=tmp_path)
        return {entry.name for entry in (*ENTERED, *AT_BACKWARDS) if entry.is_wanted(options)}

    nodes, ops, full = map(wanted, Detail)
    assert nodes - ops == {"collectives"}
    assert full - ops == {"values"}
    assert ops - wanted(Detail.OPS, "hooks") == {"hooks", "reducers", "repeats"}
