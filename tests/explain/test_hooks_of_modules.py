"""A module's hook that did not fire is told where the module ran, and gave what torch does not look into."""

import pytest

PROGRAM = '''"""Two heads of one class, of which one runs."""

import torch


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)

    def forward(self, x):
        return {gives}


def look(module, before, after):
    print(after)


runs, rests = Head(), Head()
{hooked}.register_full_backward_hook(look)
out = runs(torch.randn(4, 3, requires_grad=True))
{loss}.sum().backward()
'''
TENSOR, DICT = {"gives": "self.layer(x)", "loss": "out"}, {"gives": "{'out': self.layer(x)}", "loss": "out['out']"}
CASES = {
    "a dict": ("runs", DICT, [("GS752", 20)]),
    "a tensor": ("runs", TENSOR, []),
    "another one of its class": ("runs.register_full_backward_hook(look); rests", TENSOR, []),
}


@pytest.mark.parametrize(("hooked", "how", "expected"), CASES.values(), ids=list(CASES))
def test_what_the_module_gives(explained, tmp_path, hooked, how, expected):
    script = tmp_path / "looks.py"
    script.write_text(PROGRAM.format(hooked=hooked, **how))
    assert [(one.code, one.site.line) for one in explained(script).findings] == expected
