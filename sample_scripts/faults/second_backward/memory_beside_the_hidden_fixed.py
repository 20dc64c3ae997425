"""A melody is learned bar by bar; between two bars both parts of the state are detached."""

import torch
from torch import nn

NOTES, BAR = 12, 8


class Melodist(nn.Module):
    def __init__(self):
        super().__init__()
        self.notes, self.cell, self.next = nn.Embedding(NOTES, 6), nn.LSTMCell(6, 10), nn.Linear(10, NOTES)

    def forward(self, bar, memory):
        guesses = []
        for note in bar.unbind(1):
            memory = self.cell(self.notes(note), memory)
            guesses.append(self.next(memory[0]))
        return torch.stack(guesses, 1), memory


def next_bar(memory):
    hidden, cell = memory
    hidden, cell = hidden.detach(), cell.detach()
    return hidden, cell


def train(model, tunes):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    memory = (torch.zeros(len(tunes), 10), torch.zeros(len(tunes), 10))
    for at in range(0, tunes.shape[1] - BAR, BAR):
        guesses, memory = model(tunes[:, at : at + BAR], memory)
        loss = nn.functional.cross_entropy(guesses.flatten(0, 1), tunes[:, at + 1 : at + BAR + 1].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        memory = next_bar(memory)


torch.manual_seed(0)
train(Melodist(), torch.arange(41).repeat(4, 1) % NOTES)
