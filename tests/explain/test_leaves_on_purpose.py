"""A leaf made of a detached result is on purpose where the program asks for its gradient."""

import pytest

from gradscope.model.finding import Severity

PROGRAM = '''"""Inputs are moved along their gradient."""

import torch

embed, head = torch.nn.Embedding(9, 4), torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD([*embed.parameters(), *head.parameters()], lr=0.1)
for _ in range(4):
    inputs = embed(torch.randint(0, 9, (6,))).detach().requires_grad_()
    loss = head(inputs).square().mean()
    {asked}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
SEVERITIES = {
    "(slope,) = torch.autograd.grad(loss, inputs, retain_graph=True)": Severity.INFO,
    "pass": Severity.ERROR,
}


@pytest.mark.parametrize(("asked", "severity"), SEVERITIES.items(), ids=["asked for", "not asked for"])
def test_how_sure_it_is(explained, tmp_path, asked, severity):
    script = tmp_path / "moves.py"
    script.write_text(PROGRAM.format(asked=asked))
    assert [one.severity for one in explained(script).findings if one.code == "GS724"] == [severity]
