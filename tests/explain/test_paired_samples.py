"""GS808: data of a batch that are compared with the predictions for each other sample, where only a sum is used."""

import pytest

PROGRAM = '''"""Densities that a layer gives for each sample."""

import torch
from torch import nn
from torch.distributions import *

torch.manual_seed(0)
layer, free = nn.Linear(3, 4), nn.Parameter(torch.randn(8))
data, wanted = torch.randn(8, 3), torch.rand({wanted}) + 0.2
groups, near = torch.arange(8).unsqueeze(1), torch.eye(8)
for _ in range(4):
    given = layer(data)
    a, b = given[:, 0], given[:, 1].exp()
    law = {law}
    {told}.backward()
'''
NORMAL = {"law": "Normal(a, b)", "wanted": "8, 1", "told": "law.log_prob(wanted).mean()"}
FAULTS = {
    "one class": {},
    "another": {"law": "Laplace(a, b)"},
    "with products": {"law": "Gamma(b, b)"},
    "expanded": {"law": "Bernoulli(logits=a)", "told": "law.log_prob((wanted > 0.5).float()).mean()"},
    "with classes": {"law": "Categorical(logits=given)", "told": "law.log_prob(groups % 4).mean()"},
    "of columns against a row": {"law": "Gamma(given[:, :1].exp(), given[:, 1:2].exp())", "wanted": "8"},
    "of vectors": {"law": "Independent(Normal(given, 1.0), 1)", "wanted": "8, 1, 4"},
    "transformed": {"law": "LogNormal(a, b)"},
    "a mixture": {
        "law": "MixtureSameFamily(Categorical(logits=given[:, :2]), Normal(given[:, :2], given[:, 2:].exp()))"
    },
    "one weight a sample": {"told": "(law.log_prob(wanted).sum(-1) * torch.rand(8)).mean()"},
    "by hand": {"told": "((wanted - a) ** 2 / 2).mean()"},
}
HEALTHY = {
    "of one shape": {"wanted": "8"},
    "a sum over what may have made each": {"told": "law.log_prob(wanted).logsumexp(1).mean()"},
    "all pairs in so many words": {"told": "law.log_prob(wanted[:, 0].unsqueeze(1)).mean()"},
    "as many parameters as samples": {"law": "Normal(free * 2, 1.0)"},
    "parts as many as samples": {"law": "Normal(layer(data).new_zeros(8) + free, 1.0)"},
    "weights of pairs": {"told": "(law.log_prob(wanted) * near).sum()"},
    "each with itself": {"told": "law.log_prob(wanted).diagonal().mean()"},
    "a mixture of parts as many as samples": {
        "law": "MixtureSameFamily(Categorical(logits=free), Normal(free * 2, 1.0))",
        "wanted": "8",
    },
    "of several draws": {"law": "Normal(given, 1.0)", "wanted": "8, 8, 4"},
}


def _found(explained, tmp_path, changes):
    script = tmp_path / "densities.py"
    script.write_text(PROGRAM.format(**{**NORMAL, **changes}))
    return [one.site.line for one in explained(script).findings if one.code == "GS808"]


@pytest.mark.parametrize("changes", FAULTS.values(), ids=FAULTS)
def test_each_with_each_is_told(explained, tmp_path, changes):
    assert _found(explained, tmp_path, changes) == [15]


@pytest.mark.parametrize("changes", HEALTHY.values(), ids=HEALTHY)
def test_what_is_meant_is_not(explained, tmp_path, changes):
    assert _found(explained, tmp_path, changes) == []
