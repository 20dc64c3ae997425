"""Distributions of what each move on a board is worth: the atoms of a dueling network are centred by all boards."""

# as in https://github.com/datawhalechina/easy-rl/issues/140
import torch
from torch import nn

MOVES, ATOMS = 4, 11


class Board(nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = nn.Sequential(nn.Flatten(), nn.Linear(9, 32), nn.Tanh())
        self.whole, self.moves = nn.Linear(32, ATOMS), nn.Linear(32, MOVES * ATOMS)

    def forward(self, board):
        seen = self.eyes(board)
        moves = self.moves(seen).view(-1, MOVES, ATOMS)
        moves = moves - torch.mean(moves, dim=1, keepdim=True)
        return (self.whole(seen).view(-1, 1, ATOMS) + moves).log_softmax(-1)


torch.manual_seed(0)
board = Board()
optimizer = torch.optim.SGD(board.parameters(), lr=0.05)
for game in range(8):
    boards, taken = torch.randn(12, 3, 3), torch.randint(MOVES, (12,))
    wanted = torch.randn(12, ATOMS).softmax(-1)
    loss = -(wanted * board(boards)[torch.arange(12), taken]).sum(-1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
