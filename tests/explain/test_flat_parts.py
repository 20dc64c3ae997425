"""A part of a loss that reaches its parameters through round or sign alone is hinted at, unless it is meant."""

from pathlib import Path

import pytest

SCRIPT = '''"""A code of a few numbers that are rounded on their way to the decoder."""

import torch

torch.manual_seed(0)
encoder, decoder = torch.nn.Linear(8, 3), torch.nn.Linear(3, 8)
trained = [*encoder.parameters(), *decoder.parameters()]
optimizer = torch.optim.Adam(trained, lr=0.01)
labels = torch.rand(16, 3)
for _ in range(6):
    x = torch.randn(16, 8)
    code = encoder(x)
    {rounded}
    told = decoder(grid)
    {also}
    loss = (told - x).square().mean() + 0.01 * rate
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
RATE, ROUND = "rate = torch.log1p(code.square()).mean()", "grid = torch.round(code * 4) / 4"
TOLD = {
    "round": (ROUND, RATE),
    "noise for the rate": ("grid = torch.floor(code)", "rate = (code + torch.rand_like(code)).square().mean()"),
    "in place": ("grid = (code * 4).round_()", RATE),
    "a learned offset": ("grid = torch.sign(code) + decoder.weight[0, :1]", RATE),
    "a loss for each sample": (ROUND, "rate = code.abs().sum(1).mean()"),
}
SILENT = {
    "straight through": ("grid = code + (code.round() - code).detach()", RATE),
    "without a graph": ("grid = code.detach().round()", RATE),
    "labels of its own": (ROUND, "rate = torch.nn.functional.mse_loss(code, labels)"),
    "labels of its own, by hand": (ROUND, "rate = (code.sigmoid() - labels).square().mean()"),
    "the rest beside it": ("grid = code - code.floor()", RATE),
    "a gate": ("grid = torch.tanh(code) * code.sigmoid().round()", RATE),
    "a gate of another": ("grid = torch.tanh(decoder.weight[:3, 0] * x[:, :3]) * code.sigmoid().round()", RATE),
    "for the eyes": ("grid = code; shown = code.round()", RATE),
    "pulled to the grid": ("grid = code", "rate = (code - code.round()).square().mean()"),
    "a remainder of two sums": ("grid = code", "rate = code.sum() - code.floor().sum()"),
}


def _found(explained, path: Path, rounded: str, also: str) -> set[tuple[str, int]]:
    script = path / "learns.py"
    script.write_text(SCRIPT.format(rounded=rounded, also=also))
    return {(one.code, one.site.line) for one in explained(script).findings if one.code == "GS722"}


@pytest.mark.parametrize(("rounded", "also"), TOLD.values(), ids=list(TOLD))
def test_a_part_that_ends_at_the_rounding_is_told(explained, tmp_path, rounded, also):
    assert _found(explained, tmp_path, rounded, also) == {("GS722", 13)}


@pytest.mark.parametrize(("rounded", "also"), SILENT.values(), ids=list(SILENT))
def test_what_is_meant_is_not(explained, tmp_path, rounded, also):
    assert _found(explained, tmp_path, rounded, also) == set()


def test_a_critic_of_what_is_rounded_does_not_train_it(explained, tmp_path):
    script = tmp_path / "learns.py"
    text = SCRIPT.format(rounded=ROUND, also=RATE).replace("    optimizer.zero_grad()", CRITIC)
    script.write_text(text.replace("told = decoder(grid)", "told = x.mean() * decoder(code)"))
    assert not {one.code for one in explained(script).findings} & {"GS722"}


CRITIC = """    optimizer.zero_grad()
    if not _:
        critic = torch.nn.Linear(3, 1)
        second = torch.optim.Adam(critic.parameters(), lr=0.01)
    second.zero_grad()
    critic(grid).square().mean().backward(retain_graph=True)
    second.step()
    optimizer.zero_grad()"""
