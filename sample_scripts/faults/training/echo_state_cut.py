"""A cell that shall repeat what it read four symbols ago, in chunks of a long stream, and never learns to."""

import torch
from torch import nn

SYMBOLS, HIDDEN, CHUNK, BACK = 6, 32, 12, 4


class Stream(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, 16)
        self.cell = nn.GRUCell(16, HIDDEN)
        self.head = nn.Linear(HIDDEN, SYMBOLS)

    def forward(self, symbols, state):
        x, outputs = self.embed(symbols), []
        for t in range(symbols.size(1)):
            state = self.cell(x[:, t], state)
            outputs.append(state)
            state = state.detach()  # expect: GS850
        return self.head(torch.stack(outputs, 1)), state


torch.manual_seed(0)
model = Stream()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    symbols = torch.randint(0, SYMBOLS, (32, 48))
    targets = symbols.roll(BACK, 1)
    state = torch.zeros(32, HIDDEN)
    for start in range(0, 48, CHUNK):
        logits, state = model(symbols[:, start : start + CHUNK], state)
        wanted = targets[:, start : start + CHUNK]
        loss = nn.functional.cross_entropy(logits[:, BACK:].flatten(0, 1), wanted[:, BACK:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.3f}")
