"""REINFORCE on a contextual bandit where the probabilities of a state sum to less than 1 in the update."""
# as in https://github.com/DeepReinforcementLearning/DeepReinforcementLearningInAction/issues/32

import torch

ARMS, STATE = 4, 6

torch.manual_seed(0)
true_weights = torch.randn(STATE, ARMS)

model = torch.nn.Sequential(
    torch.nn.Linear(STATE, 32),
    torch.nn.LeakyReLU(),
    torch.nn.Linear(32, ARMS),
    torch.nn.Softmax(dim=0),  # expect: GS843
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)


def act(state):
    with torch.no_grad():
        probs = model(state)
    return torch.multinomial(probs, 1).item()


def reward_of(state, arm):
    expected = torch.sigmoid(state @ true_weights)[arm]
    return (torch.rand(()) < expected).float()


for episode in range(1, 41):
    states, arms, rewards = [], [], []
    for _ in range(48):
        state = torch.randn(STATE)
        arm = act(state)
        states.append(state)
        arms.append(arm)
        rewards.append(reward_of(state, arm))
    state_batch = torch.stack(states)
    arm_batch = torch.tensor(arms)
    reward_batch = torch.stack(rewards)
    prob_batch = model(state_batch)
    chosen = prob_batch.gather(1, arm_batch[:, None]).squeeze(1)
    loss = -((reward_batch - reward_batch.mean()) * chosen.log()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if episode % 10 == 0:
        print(f"episode {episode} reward {reward_batch.mean():.3f} sum of probs {prob_batch.sum(1).mean():.3f}")
