"""A smoothed objective: the starting point is learned, and what is tried is drawn around it by normal(). As in https://github.com/Unity-Technologies/ml-agents/pull/5546."""

import torch


def height(points):
    return (points - torch.tensor([1.0, -2.0])).square().sum(-1) + (3 * points).sin().sum(-1)


class Search:
    def __init__(self, width=0.3):
        self.centre = torch.zeros(2, requires_grad=True)
        self.log_width = torch.full((2,), width).log().requires_grad_()

    def tried(self, count):
        centre, width = self.centre.expand(count, 2), self.log_width.exp().expand(count, 2)
        return centre + width * torch.randn(count, 2)

    def cost(self):
        return height(self.tried(64)).mean() + 0.01 * self.centre.square().sum() - 0.01 * self.log_width.sum()


if __name__ == "__main__":
    torch.manual_seed(0)
    search = Search()
    optimizer = torch.optim.Adam([search.centre, search.log_width], lr=0.05)
    for _ in range(80):
        cost = search.cost()
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
    print(f"cost {cost.item():.2f} at {search.centre.tolist()}")
