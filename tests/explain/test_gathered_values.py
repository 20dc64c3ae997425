"""A gather that gives values without a graph is told where a gradient could have come back, and was not declined."""

import pytest

PROGRAM = '''"""A query is compared with what all ranks have; one rank is enough."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(4):
    optimizer.zero_grad()
    keys, query = model(torch.randn(6, 4)), model(torch.randn(6, 4))
    parts = [torch.empty_like(keys)]
    dist.all_gather(parts, keys)
    loss = torch.nn.functional.cross_entropy(query @ parts[0].t(), torch.arange(6))
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
'''
DECLINED = {
    "detached": ("(parts, keys)", "(parts, keys.detach())"),
    "put back": ("    loss =", "    parts[0] = keys\n    loss ="),
    "put back in place": ("    loss =", "    parts[0].copy_(keys)\n    loss ="),
    "only looked at": ("query @ parts[0].t()", "query @ query.t()"),
    "only to choose": (
        "query @ parts[0].t(), torch.arange(6)",
        "query, (parts[0] @ parts[0].t()).argmax(1) % 3",
    ),
    "given by a Function": ("parts[0].t()", "torch.distributed.nn.functional.all_gather(keys)[0].t()"),
    "what is trained itself": ("(parts, keys)", "(parts, keys.data.requires_grad_())"),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "compares.py"
    script.write_text(PROGRAM.replace(*edit) if edit else PROGRAM)
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS785"]


def test_the_line_that_gathers(explained, tmp_path):
    assert told(explained, tmp_path) == [("GS785", 13)]


@pytest.mark.parametrize("edit", DECLINED.values(), ids=DECLINED)
def test_no_gradient_is_lost(explained, tmp_path, edit):
    assert told(explained, tmp_path, *edit) == []
