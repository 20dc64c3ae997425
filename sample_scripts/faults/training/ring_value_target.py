"""Value learning with eligibility of one step on a ring of noisy states."""

# as in https://github.com/philtabor/Youtube-Code-Repository/issues/23
import torch
import torch.nn.functional as F
from torch import nn


class ValueNetwork(nn.Module):
    def __init__(self, n_states, fc=48):
        super().__init__()
        self.fc1 = nn.Linear(n_states, fc)
        self.fc2 = nn.Linear(fc, fc)
        self.v = nn.Linear(fc, 1)

    def forward(self, state):
        x = F.relu(self.fc1(state))
        return self.v(F.relu(self.fc2(x))).squeeze(-1)


class RingWorld:
    """Steps right with probability 0.7, left otherwise; the goal pays and teleports at random."""

    def __init__(self, n=9, seed=0):
        self.n = n
        self.g = torch.Generator().manual_seed(seed)

    def transitions(self, batch):
        s = torch.randint(0, self.n, (batch,), generator=self.g)
        right = torch.rand(batch, generator=self.g) < 0.7
        s2 = (s + torch.where(right, 1, -1)) % self.n
        goal = s == self.n - 1
        s2 = torch.where(goal, torch.randint(0, self.n, (batch,), generator=self.g), s2)
        r = goal.float() + 0.5 * torch.randn(batch, generator=self.g)
        return F.one_hot(s, self.n).float(), r, F.one_hot(s2, self.n).float()

    def true_values(self, gamma):
        P = torch.zeros(self.n, self.n)
        for s in range(self.n - 1):
            P[s, (s + 1) % self.n] += 0.7
            P[s, (s - 1) % self.n] += 0.3
        P[self.n - 1] = 1 / self.n
        r = torch.zeros(self.n)
        r[-1] = 1.0
        return torch.linalg.solve(torch.eye(self.n) - gamma * P, r)


class Agent:
    def __init__(self, n_states, gamma=0.9, lr=3e-3):
        self.gamma = gamma
        self.value = ValueNetwork(n_states)
        self.optimizer = torch.optim.Adam(self.value.parameters(), lr=lr)

    def learn(self, state, reward, state_):
        value = self.value(state)
        value_ = self.value(state_)
        target = reward + self.gamma * value_  # expect: GS842
        loss = 0.5 * F.mse_loss(value, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    env = RingWorld()
    agent = Agent(env.n)
    for step in range(300):
        loss = agent.learn(*env.transitions(64))
        if step % 60 == 59:
            print(f"step {step:3d} loss {loss:.4f}")
    with torch.no_grad():
        err = (agent.value(torch.eye(env.n)) - env.true_values(0.9)).abs().mean().item()
    print(f"mean value error {err:.4f}")


if __name__ == "__main__":
    main()
