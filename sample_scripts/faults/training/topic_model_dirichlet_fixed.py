"""Neural topic model on bags of words whose encoder assigns almost the same mixture of topics to each document."""

import torch
from torch import nn
from torch.distributions import Dirichlet, kl_divergence

VOCAB, TOPICS = 30, 3


class TopicVAE(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(VOCAB, hidden), nn.Softplus(), nn.Linear(hidden, TOPICS))
        self.words = nn.Linear(TOPICS, VOCAB, bias=False)
        self.register_buffer("prior", torch.full((TOPICS,), 0.7))

    def posterior(self, counts):
        conc = nn.functional.softplus(self.encoder(torch.log1p(counts))) + 0.1
        return Dirichlet(conc)

    def forward(self, counts):
        q = self.posterior(counts)
        theta = q.rsample()
        log_words = torch.log_softmax(self.words(theta), dim=-1)
        nll = -(counts * log_words).sum(-1)
        return nll.mean(), kl_divergence(q, Dirichlet(self.prior.expand_as(theta))).mean()


def documents(n, length=25):
    block = VOCAB // TOPICS
    word_probs = torch.full((TOPICS, VOCAB), 0.02)
    for k in range(TOPICS):
        word_probs[k, k * block : (k + 1) * block] = 1.0
    main_topic = torch.randint(0, TOPICS, (n,))
    words = torch.multinomial(word_probs[main_topic], length, replacement=True)
    return nn.functional.one_hot(words, VOCAB).sum(1).float(), main_topic


def train(model, docs, epochs=12, batch=40):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(epochs):
        for chunk in docs[torch.randperm(len(docs))].split(batch):
            nll, kl = model(chunk)
            optimizer.zero_grad()
            (nll + kl).backward()
            optimizer.step()
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1} nll {nll.item():.3f} kl {kl.item():.3f}")


torch.manual_seed(0)
docs, main_topic = documents(240)
model = TopicVAE()
train(model, docs)
with torch.no_grad():
    mixture = model.posterior(docs).mean
print("spread of the mixtures %.3f" % mixture.std(0).mean().item())
