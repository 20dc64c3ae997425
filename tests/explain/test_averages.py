"""A parameter that the program itself moves to an average of its batches needs no gradient; another one does."""

import pytest

from tests.edited import edited

PROGRAM = '''"""Sounds are told by the nearest of some codes, which follow what comes near them."""

import torch
from torch import nn


class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(16, 4)
        self.total = nn.Parameter(torch.randn(16, 4))
        self.register_buffer("counts", torch.ones(16))

    def forward(self, x):
        chosen = torch.cdist(x, self.table.weight).argmin(1)
        near = nn.functional.one_hot(chosen, 16).float()
        found = near @ self.table.weight
        self.follow(x, near)
        return x + (found - x).detach(), nn.functional.mse_loss(found.detach(), x)

    def follow(self, x, near):
        self.counts = self.counts * 0.9 + 0.1 * near.sum(0)
        self.total = nn.Parameter(self.total * 0.9 + 0.1 * near.t() @ x)
        self.table.weight = nn.Parameter(self.total / self.counts.unsqueeze(1))


torch.manual_seed(0)
encoder, codes, decoder = nn.Linear(8, 4), Codes(), nn.Linear(4, 8)
model = nn.ModuleList([encoder, codes, decoder])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(10):
    x = torch.randn(64, 8)
    found, apart = codes(encoder(x))
    loss = nn.functional.mse_loss(decoder(found), x) + 0.25 * apart
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
ANEW = PROGRAM[PROGRAM.index("        self.counts = ") : PROGRAM.index("\n\ntorch.manual_seed")]
IN_PLACE = """        self.counts.mul_(0.9).add_(0.1 * near.sum(0))
        self.total.data.mul_(0.9).add_(0.1 * (near.t() @ x).detach())
        self.table.weight.data.copy_(self.total.data / self.counts.unsqueeze(1))
"""
OTHER_MEMORY = """        self.counts = self.counts * 0.9 + 0.1 * near.sum(0)
        self.total.data = self.total.data * 0.9 + 0.1 * (near.t() @ x).detach()
        self.table.weight.data = self.total.data / self.counts.unsqueeze(1)
"""
GRADIENTS_OFF = """        with torch.no_grad():
            self.counts.mul_(0.9).add_(0.1 * near.sum(0))
            self.total.mul_(0.9).add_(0.1 * (near.t() @ x))
            self.table.weight.copy_(self.total / self.counts.unsqueeze(1))
"""
FROZEN = [("nn.Linear(8, 4), Codes()", "nn.Linear(8, 4).requires_grad_(False), Codes()"), (" + 0.25 * apart", "")]
SILENT = {
    "made anew": [],
    "in place": [(ANEW, IN_PLACE)],
    "other memory": [(ANEW, OTHER_MEMORY)],
    "gradients off": [(ANEW, GRADIENTS_OFF)],
    "of what is not trained": [(ANEW, GRADIENTS_OFF), *FROZEN],
}
CLIPPED = """        with torch.no_grad():
            self.table.weight.clamp_(-1, 1)
            self.total.clamp_(-1, 1)
"""
AT_FIRST = """        if step == 0:
            self.table.weight.data.copy_(x[:16].detach())
        self.table.weight.data.clamp_(-1, 1)
"""
TOLD = {
    "it is only clipped": ([(ANEW, CLIPPED)], "found.detach(), x)"),
    "it is only begun of a batch": ([(ANEW, AT_FIRST)], "weight.data"),
    "a new one is given the gradient": ([("found.detach(), x)", "found, x.detach())")], "Parameter("),
    "the encoder's way is cut": ([("codes(encoder(x))", "codes(encoder(x).detach())")], "codes(encoder(x).detach())"),
}


def explain(explained, tmp_path, edits):
    text = edited(PROGRAM, *edits)
    script = tmp_path / "sounds.py"
    script.write_text(text)
    findings = explained(script).findings
    return [text.splitlines()[one.site.line - 1] for one in findings if one.code.startswith("GS72")]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_what_follows_the_batches_needs_no_gradient(explained, tmp_path, edits):
    assert explain(explained, tmp_path, edits) == []


@pytest.mark.parametrize(("edits", "line"), TOLD.values(), ids=TOLD)
def test_a_gradient_that_is_missed_is_told(explained, tmp_path, edits, line):
    assert any(line in one for one in explain(explained, tmp_path, edits))
