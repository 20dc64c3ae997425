"""Tunes virtual tokens before a frozen encoder that was trained before."""
# as in https://geek-docs.com/pytorch/pytorch-questions/409_pytorch_pytorch_runtimeerror_element_0_of_tensors_does_not_require_grad_and_does_not_have_a_grad_fn.html

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, words=12, width=8):
        super().__init__()
        self.table, self.mix = nn.Embedding(words, width), nn.Linear(width, width)
        self.head = nn.Linear(width, 3)

    def forward(self, ids, prompt=None):
        x = self.table(ids)
        x = x if prompt is None else torch.cat([prompt.expand(len(x), -1, -1), x], 1)
        return self.head(torch.tanh(self.mix(x)).mean(1))


class Tuner:
    def __init__(self, model, tokens):
        self.model = model
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        begin = model.table.weight[:tokens].detach()
        self.prompt = begin.clone().unsqueeze(0).requires_grad_()
        self.optimizer = torch.optim.Adam([self.prompt], lr=1e-1)

    def step(self, ids, labels):
        loss = nn.functional.cross_entropy(self.model(ids, self.prompt), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def pretrained(model, batches):
    optimizer, total = torch.optim.Adam(model.parameters(), lr=1e-2), 0.0
    for ids, labels in batches:
        loss = nn.functional.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"loss {total / len(batches):.3f}")
    return model


def main():
    torch.manual_seed(0)
    batches = [(ids, ids[:, 0] % 3) for ids in torch.randint(0, 12, (20, 16, 5))]
    tuner = Tuner(pretrained(Encoder(), batches), tokens=2)
    for ids, labels in batches:
        loss = tuner.step(ids, (labels + 1) % 3)
    print(f"tuned {loss:.3f}")


if __name__ == "__main__":
    main()
