"""The line that what a model is given goes back to, by the names in the source."""

import pytest

from gradscope.model.site import Origin, Site
from gradscope.ranks.source.given import origin_of

PROGRAMS = {
    "a loader": """
loader = DataLoader(data, shuffle=True)  # <-
for number, (x, y) in enumerate(tqdm(loader)):
    x, y = x.to(device), y.to(device)
    loss = cross_entropy(model(x), y)  # call
""",
    "a sampler": """
def main():
    sampler = DistributedSampler(data, rank=0)  # <-
    loader = DataLoader(data, sampler=sampler)
    for batch in loader:
        model(batch["x"])  # call
""",
    "an iterator": """
batches = iter(stream(path))  # <-
while True:
    batch = next(batches)
    model(**batch)  # call
""",
    "a seed": """
def train():
    torch.manual_seed(0)  # <-
    for _ in range(3):
        x = torch.randn(2, 2)
        model(x).mean().backward()  # call
""",
    "a generator": """
generator = torch.Generator().manual_seed(0)  # <-
for _ in range(3):
    model(torch.randn(2, generator=generator))  # call
""",
    "an order": """
order = shuffled(len(data))  # <-
for at in range(3):
    model(data[order[at : at + 2]])  # call
""",
    "nothing to follow": """
model = Model()
for step in range(3):
    model(make(step))  # call <-
""",
    "itself": """
x = x  # <-
model(x)  # call
""",
}


class Told:
    """A recording that knows one file."""

    def __init__(self, text):
        self.text = text

    def source(self, file):
        return self.text


def marked(text, mark):
    return next(number for number, line in enumerate(text.splitlines(), 1) if mark in line)


def site(text, line, function):
    return Site("/x/train.py", line, function, text.splitlines()[line - 1].strip(), Origin.USER)


def function_of(text):
    return text.partition("def ")[2].partition("(")[0] or "<module>"


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_the_line_that_decides_is_named(text):
    found = origin_of(Told(text), (site(text, marked(text, "call"), function_of(text)),))
    assert found.line == marked(text, "<-")


def test_a_parameter_is_followed_to_the_caller():
    text = "def step(net, x):\n    net(x)\n\nbatches = load()\nfor x in batches:\n    step(net, x)\n"
    assert origin_of(Told(text), (site(text, 2, "step"), site(text, 6, "<module>"))).line == 4


def test_a_file_that_is_no_python_has_the_line_of_the_call():
    assert origin_of(Told("(\nmodel(x)\n"), (site("(\nmodel(x)\n", 2, "<module>"),)).line == 2


def test_no_line_of_the_program_is_none():
    assert origin_of(Told(""), ()) is None
