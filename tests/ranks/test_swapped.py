"""Which models of two ranks are the same, where each has its own number of them."""

from gradscope.model.averaging import Averaging
from gradscope.model.rank import Weights
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.replicas.swapped import swapped, with_names


def averaging(*models):
    return Averaging(leaves=frozenset(f"{model}.out.{one}" for model in models for one in ("bias", "weight")))


def look(**norms):
    return Weights(
        0,
        tuple(
            sorted(
                (f"{name.replace('_', '#')}.out.{one}", norm)
                for name, norm in norms.items()
                for one in ("bias", "weight")
            )
        ),
    )


def told(first, second, one, other):
    """What a second rank's models are called on the first."""
    ranks = Ranks()
    ranks.weights.add(0, one, {})
    ranks.averaging[0] = first
    return swapped(ranks, second, [other])


def test_a_model_with_the_number_of_its_copy_is_found():
    names = told(averaging("Net"), averaging("Net#2"), look(Net="1.5"), look(Net_2="1.5"))
    assert names == {"Net": "Net#2", "Net#2": "Net"}
    assert with_names(look(Net_2="1.5"), names) == look(Net="1.5")


def test_a_model_with_other_values_is_another():
    assert not told(averaging("Net"), averaging("Net#2"), look(Net="1.5"), look(Net_2="1.6"))


def test_models_with_nothing_in_them_are_not_told_apart():
    assert not told(averaging("Net"), averaging("Net#2"), look(Net="0.0"), look(Net_2="0.0"))


def test_which_of_two_that_are_averaged_is_which_is_not_known():
    first, second = averaging("Net", "Net#2"), averaging("Net#2", "Net#3")
    assert not told(first, second, look(Net="1.5", Net_2="1.5"), look(Net_2="1.5", Net_3="1.5"))
