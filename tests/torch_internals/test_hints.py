"""What torch says of an edited saved tensor in a plain run is read off torch itself."""

import pytest
import torch

from gradscope.torch_internals.hints import WITH_ANOMALY_MODE, hint_without_anomaly_mode


def failing_backward():
    y = torch.ones(1, requires_grad=True).exp()
    with torch.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    return str(caught.value)


def test_it_is_what_a_failing_backward_ends_with():
    assert failing_backward().endswith(hint_without_anomaly_mode())


def test_asking_numbers_none_of_the_programs_nodes():
    before = torch.ones(1, requires_grad=True).exp().grad_fn._sequence_nr()
    hint_without_anomaly_mode()
    assert torch.ones(1, requires_grad=True).exp().grad_fn._sequence_nr() == before + 1


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled", "ignore:Error detected in")
def test_under_anomaly_mode_it_is_still_that_of_a_plain_run():
    with torch.autograd.detect_anomaly(check_nan=False):
        hint = hint_without_anomaly_mode()
        assert failing_backward().endswith(WITH_ANOMALY_MODE)
    assert hint.startswith("Hint: enable anomaly detection")
