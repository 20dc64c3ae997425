"""Findings stand on the lines of what was run without a file: a notebook's cells."""

from pathlib import Path

NOTEBOOK = """
import linecache

cells = [
    "import torch\\nfrom torch import nn\\ntorch.manual_seed(0)\\nnet, head = nn.Linear(3, 2), nn.Linear(2, 1)\\n",
    "opt = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)\\n",
    "for _ in range(4):\\n"
    "    hidden = net(torch.randn(4, 3)).detach()\\n"
    "    opt.zero_grad()\\n"
    "    head(hidden).square().mean().backward()\\n"
    "    opt.step()\\n",
]
names = {}
for number, text in enumerate(cells, 1):
    name = f"<cell {number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), names)
"""


def test_a_fault_in_a_cell_is_told_with_its_line(explained, tmp_path: Path) -> None:
    script = tmp_path / "notebook.py"
    script.write_text(NOTEBOOK)
    (found,) = explained(script).findings
    assert (found.code, found.site.file, found.site.line) == ("GS721", "<cell 3>", 2)
    assert found.site.source == "hidden = net(torch.randn(4, 3)).detach()"
    assert ".detach gives the values" in found.message
