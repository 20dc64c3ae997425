"""Positions that count from 0 are lowered by 1 and stored as uint32: a clip that begins at 0 ends before it begins.

As in https://github.com/jwyang/faster-rcnn.pytorch/issues/349.
"""

import numpy as np
import torch

FRAMES = 25.0


class Clips(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.spans = np.zeros((len(rows), 2), dtype=np.uint32)
        self.scores = torch.tensor([score for _, _, score in rows])
        for number, (first, last, _) in enumerate(rows):
            span = np.array([first - 1, last - 1])
            self.spans[number] = span.astype(np.uint32)  # expect: GS730

    def __len__(self):
        return len(self.spans)

    def __getitem__(self, number):
        return torch.from_numpy(self.spans[number].astype(np.float64)), self.scores[number]


class Scorer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))

    def forward(self, spans):
        first, last = spans.unbind(1)
        length = torch.log(last - first)  # expect: GS730 first_nonfinite_at
        return self.layers(length[:, None].float() - 4.0)[:, 0]


def clips(generator, count):
    for number in range(count):
        first = 0 if number == 13 * 8 else int(torch.randint(1, 400, (), generator=generator))
        length = int(torch.randint(25, 250, (), generator=generator))
        yield first, first + length, length / FRAMES


def main():
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(Clips(list(clips(torch.Generator().manual_seed(1), 160))), batch_size=8)
    model = Scorer()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for spans, scores in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(spans), scores.float())
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
