"""An actor and a critic with an optimizer each; the actor's step clips the critic's gradients. As in https://github.com/google-deepmind/open_spiel/issues/827."""

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_


class ActorCritic:
    def __init__(self, observed=3, actions=4):
        self.actor = nn.Sequential(nn.Linear(observed, 32), nn.Tanh(), nn.Linear(32, actions))
        self.critic = nn.Sequential(nn.Linear(observed, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=3e-3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-2)

    def update(self, observation, best):
        value = self.critic(observation).squeeze(1)
        policy = torch.distributions.Categorical(logits=self.actor(observation))
        action = policy.sample()
        reward = (action == best).float()

        self.critic_optimizer.zero_grad()
        (reward - value).square().mean().backward()
        clip_grad_norm_(self.critic.parameters(), 0.5)
        self.critic_optimizer.step()

        self.actor_optimizer.zero_grad()
        (-policy.log_prob(action) * (reward - value.detach())).mean().backward()
        clip_grad_norm_(self.critic.parameters(), 0.5)  # expect: GS893
        self.actor_optimizer.step()
        return reward.mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    agent = ActorCritic()
    for step in range(60):
        observation = torch.randn(64, 3)
        reward = agent.update(observation, (observation[:, 0] > 0).long() + 2 * (observation[:, 1] > 0).long())
    print(f"reward {reward:.2f}")
