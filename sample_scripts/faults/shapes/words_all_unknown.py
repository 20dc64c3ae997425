"""Reviews are cut to the words that are known, padded and packed for a recurrent network."""
# as in https://github.com/lichengunc/MAttNet/issues/5

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence


class Reviews(nn.Module):
    def __init__(self, words=20, width=12):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=0)
        self.read = nn.GRU(width, width, batch_first=True)
        self.good = nn.Linear(width, 2)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.words(ids), lengths, batch_first=True, enforce_sorted=False)  # expect: GS818
        return self.good(self.read(packed)[1][-1])


def batch(step):
    known = [torch.randint(1, 30, (5 + step % 3,)) for _ in range(6)]
    if step == 4:
        known.append(torch.tensor([25, 28]))
    texts = [one[one < 20] for one in known]
    lengths = torch.tensor([len(one) for one in texts])
    return pad_sequence(texts, batch_first=True), lengths


def main():
    torch.manual_seed(1)
    model = Reviews()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(8):
        ids, lengths = batch(step)
        loss = nn.functional.cross_entropy(model(ids, lengths), ids[:, 0] % 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
