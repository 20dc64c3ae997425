"""A part of a result that is taken twice is hinted at, where the rest of it is read by nobody."""

import pytest

SCRIPT = '''"""A mean and a width, side by side."""

import torch

torch.manual_seed(0)
net, decoder, also = torch.nn.Linear(8, {columns}), torch.nn.Linear(3, 8), torch.nn.Linear(3, 8)
optimizer = torch.optim.Adam([*net.parameters(), *decoder.parameters(), *also.parameters()], lr=0.01)
three, warm = 3, 100


def split(x, step, three):
    h = net(x)
    mean = h[:, :three]
    {second}
    return mean, width


for step in range(6):
    x = torch.randn(16, 8)
    mean, width = split(x, step, three)
    loss = (decoder(mean) - x).square().mean()
    {reads}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
BOTH = "loss = loss + also(width).square().mean()"
TOLD = {
    "twice": ("width = h[:, :three]", BOTH),
    "with a zero": ("width = h[:, 0:three].exp()", BOTH),
    "with its sizes read": ("width = h[:, :three] / h.shape[1]", BOTH),
}
SILENT = {
    "the other half": ("width = h[:, three:]", BOTH),
    "another range by the same name": ("three = slice(3, 6).start; three = -three; width = h[:, three:]", BOTH),
    "the rest later": ("width = h[:, :three] if step < warm else h[:, three:]", BOTH),
    "the rest elsewhere": ("width = h[:, :three]\n    rest = h[:, three:] if step > warm else None", BOTH),
    "all of it": ("width = h[:, :three]\n    all_of_it = h.square()", BOTH),
    "for the eyes": ("width = h[:, :three]", "shown = width.argmax(1)"),
    "without a graph": ("width = h[:, :three].detach()", BOTH),
    "one at a time": ("width = h[:, :three] if step < 0 else mean", BOTH),
}


def _codes(explained, path, second, reads, columns=6):
    script = path / "learns.py"
    script.write_text(SCRIPT.format(second=second, reads=reads, columns=columns))
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS718"]


@pytest.mark.parametrize(("second", "reads"), TOLD.values(), ids=list(TOLD))
def test_the_second_place_is_named(explained, tmp_path, second, reads):
    assert _codes(explained, tmp_path, second, reads) == [("GS718", 14)]


@pytest.mark.parametrize(("second", "reads"), SILENT.values(), ids=list(SILENT))
def test_what_is_read_or_meant_is_not(explained, tmp_path, second, reads):
    assert _codes(explained, tmp_path, second, reads) == []


def test_a_result_that_is_padded_is_not(explained, tmp_path):
    assert _codes(explained, tmp_path, "width = h[:, :three]", BOTH, columns=8) == []


def test_a_name_that_has_another_value_by_then_is_not(explained, tmp_path):
    second = "h = h + 1\n    width = h[:, :three]"
    assert _codes(explained, tmp_path, second, BOTH) == []


def test_a_range_that_moves_is_not(explained, tmp_path):
    text = SCRIPT.replace("h[:, :three]", "h[:, three]").replace("three, warm = 3, 100", "three, warm = slice(3), 100")
    script = tmp_path / "learns.py"
    script.write_text(text.format(second="three = slice(3, 6); width = h[:, three]", reads=BOTH, columns=6))
    assert "GS718" not in {one.code for one in explained(script).findings}
