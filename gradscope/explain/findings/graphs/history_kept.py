"""GS899: a state that is carried on with its history when the training is over."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.memory.carried_histories import carried_histories, most_calls
from gradscope.explain.evidence.case import Case

_FEWEST = 32  # calls behind a state
_OFTENER = 2  # times as many as between two backward calls before


def history_kept(case: Case) -> Iterator[Cause]:
    """What it flags: a state that goes from call to call of a trained model with the graph of all calls before.

    Why: a trained model's parameters require grad, and while gradients are on each result keeps the graph that made it.
    Without a backward nothing frees that. A filter, a simulation or a service that carries its state on needs more
    memory with each call, and its numbers are right.

    Wrong:
        def advance(self, report):
            forecast = self.model(self.field)
            self.field = forecast + self.gain * (report - forecast)

    Right:
        @torch.no_grad()
        def advance(self, report):
            forecast = self.model(self.field)
            self.field = forecast + self.gain * (report - forecast)

    Do instead: run what is not trained on under torch.no_grad(), or detach the state before it is kept.

    How it is found: after the last backward call a line sets an attribute, or a place in a container, again and
    again, which the next call of a model reads. The graph behind it has one more call each time, never fewer: at least
    32, and twice as many as there were between two backward calls. A hint: the run may end soon enough.
    """
    for one in carried_histories(case):
        usual = most_calls(case) if one.calls >= _FEWEST else 0
        if 0 < _OFTENER * usual <= one.calls:
            yield Cause(
                f"{one.target} carries the graphs of {one.calls} calls and more, one more each time: gradients are on, "
                "and no backward follows that would free them",
                one.site,
                certain=False,
                weight=one.calls,
            )
            return
