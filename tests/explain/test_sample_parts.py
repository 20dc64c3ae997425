"""The dataset's line is named only where it alone makes what is refused: else the loss that refuses it is."""

import pytest

PROGRAM = '''"""Labels that begin at 1."""

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.labels = [1 + at % 4 for at in range(len(rows))]  # made

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return self.rows[at], self.labels[at]


def fit(model, loader):
    for rows, labels in loader:
        loss = criterion(model(rows), labels)
        loss.backward()


criterion = torch.nn.CrossEntropyLoss()  # refuses
rows = torch.randn(8, 3)
fit(torch.nn.Linear(3, 4), DataLoader(Rows(rows), batch_size=8))
'''
MADE = {
    "as it is": ("", ""),
    "moved": ("model(rows), labels", "model(rows.cpu()), labels.to('cpu').long()"),
    "numbered": ("for rows, labels in loader", "for at, (rows, labels) in enumerate(loader)"),
    "taken apart later": ("for rows, labels in loader:", "for batch in loader:\n        rows, labels = batch"),
    "by its place": ("for rows, labels in loader:", "for batch in loader:\n        rows, labels = batch[0], batch[1]"),
    "by name": ("loss = criterion(model(rows), labels)", "loss = criterion(target=labels, input=model(rows))"),
}
REFUSED = {
    "computed with": ("model(rows), labels", "model(rows), labels + 0"),
    "two datasets": ("def fit(", "class Others(Rows):\n    " + "def __len__(self):\n        return 1\n\n    "
                     "def __getitem__(self, at):\n        return self.rows[at], 1\n\n\ndef fit("),
    "columns": ("DataLoader(Rows(rows)", "DataLoader(TensorDataset(rows, 1 + torch.arange(8) % 4)"),
    "a mark for pixels": ("1 + at % 4", "255"),
    "a mark that is padded": ("def fit(", "pad = torch.full((2,), 4)\n\n\ndef fit("),
}  # fmt: skip


def line_of(script, mark):
    return next(at for at, line in enumerate(script.read_text().splitlines(), 1) if line.endswith(f"# {mark}"))


@pytest.mark.parametrize(
    ("edit", "mark"),
    [
        *(pytest.param(edit, "made", id=name) for name, edit in MADE.items()),
        *(pytest.param(edit, "refuses", id=name) for name, edit in REFUSED.items()),
    ],
)
def test_the_line_of_labels_without_a_class(explained, tmp_path, edit, mark):
    script = tmp_path / "labels.py"
    script.write_text(PROGRAM.replace(*edit) if edit[0] else PROGRAM)
    first = explained(script).findings[0]
    assert (first.code, first.site.line) == ("GS818", line_of(script, mark))


QUESTIONS = '''"""Words after words: the scores are of all but the first."""

import torch
from torch.utils.data import DataLoader, Dataset


class Questions(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, at):
        return torch.arange(at, at + 5), torch.arange(at + 1, at + 7)[:6]  # cut


model = torch.nn.Sequential(torch.nn.Embedding(20, 4), torch.nn.Linear(4, 20))
for given, wanted in DataLoader(Questions(), batch_size=8):
    loss = torch.nn.functional.cross_entropy(model(given).flatten(0, 1), wanted.flatten())  # refuses
'''


@pytest.mark.parametrize(("edit", "mark"), [(("", ""), "cut"), (("[:6]", ""), "refuses")])
def test_targets_of_another_length_are_of_the_dataset_where_it_cuts_them(explained, tmp_path, edit, mark):
    script = tmp_path / "words.py"
    script.write_text(QUESTIONS.replace(*edit) if edit[0] else QUESTIONS)
    first = explained(script).findings[0]
    assert (first.code, first.site.line) == ("GS862", line_of(script, mark))
