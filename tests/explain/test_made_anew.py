"""GS906: an optimizer made anew for each pass over the same data has lost its state; one of a new training has not."""

import pytest

from tests.edited import edited

PROGRAM = '''"""The yield of fields, in passes over what was measured."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
fields = torch.randn(60, 4)
harvest = fields.sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
start = copy.deepcopy(model.state_dict())
parameters = list(model.parameters())
kept, weight, deviation = None, 1.0, nn.functional.mse_loss
for epoch in range(5):
    x, y = fields, harvest
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for chosen in torch.randperm(len(x)).split(12):
        loss = deviation(model(x[chosen]), y[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())
'''
MADE = "    optimizer = torch.optim.Adam(parameters, lr=0.01)\n"
LOOP = "for chosen in torch.randperm(len(x)).split(12):"
TAKEN = "x, y = fields, harvest\n"
PASS = PROGRAM[PROGRAM.index("    for chosen") : PROGRAM.index("    print")]
SHOWN = "    print(loss.item())\n"
SLICED = (
    (LOOP, "for first in range(0, 60, 12):"),
    ("x[chosen]", "x[first : first + 12]"),
    ("y[chosen]", "y[first : first + 12]"),
)
SPLIT = ((LOOP, "for a, b in zip(x.split(12), y.split(12)):"), ("x[chosen]", "a"), ("y[chosen]", "b"))
ALL = (("x[chosen]", "x"), ("y[chosen]", "y"))
ONE_STEP = PASS.split("\n", 1)[1].replace("        ", "    ").replace("[chosen]", "")
LISTED = "batches = [(fields[i::5].clone(), harvest[i::5].clone()) for i in range(5)]\n"
LIST = (
    ("for epoch", LISTED + "for epoch"),
    (LOOP, "for first, (a, b) in enumerate(batches):"),
    ("x[chosen]", "a"),
    ("y[chosen]", "b"),
)
HELPER = (
    f"def one_pass(tasks):\n{MADE}    for a, b in tasks:\n        loss = deviation(model(a), b)\n"
    "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"
)
TRAINED = (
    (MADE, ""),
    ("for epoch", HELPER + LISTED + "for epoch"),
    (PASS, "    one_pass(batches)\n"),
    (SHOWN, ""),
)
AGAIN = (("for first, (a, b) in enumerate(batches):", "for a, b in [one for _ in range(3) for one in batches]:"),)
TOLD = {
    "a list": LIST,
    "a list that a function is given": TRAINED,
    "Adam": (),
    "momentum": (("Adam(parameters, lr=0.01)", "SGD(parameters, lr=0.01, momentum=0.9)"),),
    "the last batch is smaller": ((LOOP, "for chosen in torch.randperm(len(x)).split(14):"),),
    "in order": ((LOOP, "for chosen in torch.arange(len(x)).split(12):"),),
    "as it lies": SLICED,
    "split": SPLIT,
    "one step": ((PASS, ONE_STEP),),
    "saved": ((SHOWN, SHOWN + "    kept = copy.deepcopy(model.state_dict())\n"),),
    "an average": ((SHOWN, SHOWN + "    kept = [p.detach() * 0.1 for p in parameters]\n"),),
}


def _before(text, *others):
    return (MADE, f"    {text}\n{MADE}"), *others


def _after(text, *others):
    return (SHOWN, f"{SHOWN}    {text}\n"), *others


PLAN = (PASS, "    plan = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)\n" + PASS)
TAKEN_BACK = (PASS, "    if kept is not None:\n        optimizer.load_state_dict(kept)\n" + PASS)
NOISE = "    noise = torch.zeros(4, requires_grad=True)\n    optimizer = torch.optim.Adam([noise], lr=0.01)\n"
MIXED = "(harvest + model(x).detach()) / 2"
OWN = "own = (fields[:, 0] > 0) == (epoch % 2 == 0)\n    x, y = fields[own], harvest[own]\n"
SAMPLE = (TAKEN, "x, y = fields[epoch : epoch + 1], harvest[epoch : epoch + 1]\n")
STEPS = (LOOP, "for _ in range(5):")
GROWS = ("    print(loss.item())", "    batches[0] = (fields, harvest)")
SILENT = {
    "a list of a round": (*LIST, (f"{LISTED}for epoch", "for epoch"), (TAKEN, f"{TAKEN}    {LISTED}")),
    "a list that changes": (*LIST, GROWS),
    "a list several times": (*LIST, *AGAIN),
    "a list a function is given in a round": (*TRAINED, (LISTED, ""), (TAKEN, f"{TAKEN}    {LISTED}")),
    "made once": ((MADE, ""), ("for epoch", MADE.strip() + "\nfor epoch")),
    "another rate": (("lr=0.01", "lr=0.01 / (1 + epoch)"),),
    "no state": (("Adam(parameters, lr=0.01)", "SGD(parameters, lr=0.01)"),),
    "no momentum": (("Adam(parameters, lr=0.01)", "SGD(parameters, lr=0.01, momentum=0.0)"),),
    "a schedule": _after("plan.step()", PLAN),
    "the state handed on": _after("kept = optimizer.state_dict()", TAKEN_BACK),
    "frozen by turns": _before("model[0].requires_grad_(epoch % 2 == 0)"),
    "frozen by an attribute": _before("model[0].weight.requires_grad = epoch % 2 == 0"),
    "begun again": _before("model.load_state_dict(start)"),
    "begun again by hand": _before("torch.no_grad()(lambda: [p.mul_(0.5) for p in parameters])()"),
    "begun again by number": _before("parameters[0].data.copy_(start['0.weight'])"),
    "other memory": _before("parameters[0].data = start['0.weight'].clone()"),
    "initialised": _before("model[0].reset_parameters()"),
    "given one vector": _before("nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(parameters), parameters)"),
    "a copy": _before("model = copy.deepcopy(model)\n    parameters = list(model.parameters())"),
    "an attack's input": ((PASS, PASS.replace("model(x[chosen])", "model(x[chosen] + noise)")), (MADE, NOISE)),
    "tasks of their own": ((TAKEN, OWN),),
    "split tasks of their own": ((TAKEN, OWN), *SPLIT),
    "columns of a task": ((TAKEN, "x, y = fields[:, torch.randperm(4)], harvest\n"),),
    "data of a round": ((TAKEN, "x = torch.randn(60, 4)\n    y = x.sum(1, keepdim=True)\n"),),
    "targets of a round": ((TAKEN, f"{TAKEN}    y = {MIXED}\n"),),
    "split targets of a round": ((TAKEN, f"{TAKEN}    y = {MIXED}\n"), *SPLIT),
    "targets overwritten": ((TAKEN, f"{TAKEN}    y.copy_({MIXED})\n"),),
    "a sample each": (SAMPLE, STEPS, *ALL),
    "fitted to the end": (STEPS, *ALL),
    "several passes each": ((LOOP, "for chosen in [c for _ in range(3) for c in torch.randperm(len(x)).split(12)]:"),),
    "stages": (("for epoch in range(5)", "for deviation in 5 * [nn.functional.mse_loss, nn.functional.l1_loss]"),),
    "a growing weight": _after("weight *= 2", ("loss = ", "loss = weight * ")),
    "a count that weighs": (("loss = ", "loss = (epoch / 5) * "),),
    "another optimizer between": _after("end = torch.optim.SGD(parameters, lr=0.01)\n    end.step()"),
    "twice": (("range(5)", "range(2)"),),
}


def _found(explained, path, edits):
    script = path / "fields.py"
    script.write_text(edited(PROGRAM, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS906"]


@pytest.mark.parametrize("edits", TOLD.values(), ids=list(TOLD))
def test_an_optimizer_for_each_pass_is_told(explained, tmp_path, edits):
    found = _found(explained, tmp_path, edits)
    assert len(found) == 1
    assert found[0].startswith("optimizer = torch.optim.")


@pytest.mark.parametrize("edits", SILENT.values(), ids=list(SILENT))
def test_one_of_a_new_training_is_not(explained, tmp_path, edits):
    assert _found(explained, tmp_path, edits) == []
