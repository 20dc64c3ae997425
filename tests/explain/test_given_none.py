"""A Function is told to give None where no measured gradient says otherwise; cleared gradients are told as such."""

import pytest

LEARNS = '''"""A layer, a Function that {gives}, and a head."""

import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return {gives}


layer, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
for _ in range(6):
    optimizer.zero_grad()
    head(Double.apply(layer(torch.randn(5, 3)))).square().mean().backward()
    {between}
    optimizer.step()
'''
FOUND = {
    "None": ("None", "pass", ("GS721", 13)),
    "a gradient that is cleared": ("gradient * 2", "layer.zero_grad()", ("GS728", 21)),
    "a gradient": ("gradient * 2", "pass", None),
}


@pytest.mark.parametrize(("gives", "between", "first"), FOUND.values(), ids=list(FOUND))
def test_what_a_function_gives(explained, tmp_path, gives, between, first):
    script = tmp_path / "learns.py"
    script.write_text(LEARNS.format(gives=gives, between=between))
    findings = [(one.code, one.site.line) for one in explained(script).findings]
    assert findings[:1] == ([] if first is None else [first])


NESTED = '''"""Two Functions between a layer and the loss, of which the one at the layer gives None."""

import torch


class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, gradient):
        return None


layer, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
for _ in range(6):
    optimizer.zero_grad()
    head(Outer.apply(Inner.apply(layer(torch.randn(5, 3))))).square().mean().backward()
    optimizer.step()
'''


def test_of_two_the_one_at_the_layer_is_told(explained, tmp_path):
    script = tmp_path / "nested.py"
    script.write_text(NESTED)
    finding = explained(script).findings[0]
    assert (finding.code, finding.site.line) == ("GS721", 23)
