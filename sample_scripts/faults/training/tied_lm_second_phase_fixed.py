"""Language model with embedding and output head tied that has more parameters in its second phase of training."""
# as in https://github.com/pytorch/pytorch/issues/188346

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, DIM, LEN = 20, 32, 8


class TiedLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.gru = nn.GRU(DIM, DIM, batch_first=True)
        self.head = nn.Linear(DIM, VOCAB, bias=False)
        self.head.weight = self.embed.weight
        nn.init.normal_(self.embed.weight, std=0.1)

    def forward(self, tokens):
        return self.head(self.gru(self.embed(tokens))[0])


def batch(n=32):
    start = torch.randint(0, VOCAB, (n, 1))
    step = torch.randint(1, 4, (n, 1))
    seq = (start + step * torch.arange(LEN + 1)) % VOCAB
    return seq[:, :-1], seq[:, 1:]


def run_phase(model, lr, steps, name):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for i in range(1, steps + 1):
        tokens, target = batch()
        loss = F.cross_entropy(model(tokens).transpose(1, 2), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 10 == 0:
            print(f"{name} {i} loss {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    first = TiedLM()
    run_phase(first, lr=0.01, steps=30, name="pretrain")
    second = TiedLM()
    second.load_state_dict(first.state_dict())
    run_phase(second, lr=0.01, steps=30, name="finetune")
    print("parameters", sum(p.numel() for p in second.parameters()))


if __name__ == "__main__":
    main()
