"""What a loop spares and was frozen before is told; nothing is where it learns, may learn later, or is not meant."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "adapters_frozen_with_the_rest.py").read_text()
FROZEN = "model.requires_grad_(False)  # expect: GS716 cause_at\n"
TEST = 'if "lora_" not in name:  # expect: GS716'
CALL = "only_lora(model)\nmodel.out"
SILENT = {
    "nothing was frozen before": [(FROZEN, "")],
    "it is thawed behind the loop": [
        (CALL, 'only_lora(model)\nfor n, p in model.named_parameters():\n    p.requires_grad_("lora" in n)\nmodel.out'),
    ],
    "a later stage may thaw it": [
        ('print(f"{loss', 'if loss < 0:\n    model.layer.requires_grad_(True)\nprint(f"{loss')
    ],
    "it is to freeze what is named": [(TEST, 'if "words" in name or "out" in name or "base" in name:')],
    "some of it learns": [
        (
            "nn.Linear(width, width)\n",
            "nn.Linear(width, width)\n        self.lora_c = nn.Parameter(torch.ones(width))\n",
        ),
        ("self.base(x) +", "self.base(x) * self.lora_c +"),
        (CALL, "only_lora(model)\nmodel.layer.lora_c = nn.Parameter(torch.ones(16))\nmodel.out"),
    ],
    "what it spares is made frozen": [
        ("nn.Parameter(torch.zeros(4, width))", "nn.Parameter(torch.zeros(4, width), requires_grad=False)")
    ],
    "nobody knows what it spares": [
        (TEST, "if not spares(name):"),
        ("def only", "def spares(name):\n    return 'lora_' in name\n\n\ndef only"),
    ],
    "it is not read": [("+ x @ self.lora_a @ self.lora_b", "")],
}
OTHER_FORMS = {
    "another part is thawed": [(CALL, "only_lora(model)\nmodel.out.requires_grad_(True)\nmodel.out")],
    "ends": [(TEST, 'if not (name.endswith("lora_a") or name.endswith(("lora_b",))):')],
    "parts": [(TEST, 'if not any(part in name for part in ["lora_a", "lora_b"]):')],
    "several conditions": [(TEST, 'if "lora_a" not in name and not name.endswith(".lora_b"):')],
}


def told(explained, tmp_path, edits):
    script = tmp_path / "text.py"
    script.write_text(edited(PROGRAM, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS716"]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_it_is_meant(edits, explained, tmp_path):
    assert told(explained, tmp_path, edits) == []


@pytest.mark.parametrize("edits", OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_other_forms(edits, explained, tmp_path):
    (line,) = told(explained, tmp_path, edits)
    assert line.startswith("if ")
