"""Variational graph autoencoder with Laplace latents that reconstructs edges no better than chance."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Laplace, kl_divergence


def planted_graph(n, groups):
    label = torch.arange(n) % groups
    p = torch.where(label[:, None] == label[None, :], 0.5, 0.05)
    upper = torch.triu((torch.rand(n, n) < p).float(), 1)
    return upper + upper.T


def normalise(adj):
    a = adj + torch.eye(len(adj))
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None, :]


def init_params(n, hidden, latent):
    shapes = {"w1": (n, hidden), "w_loc": (hidden, latent), "w_scale": (hidden, latent)}
    params = {name: nn.init.xavier_uniform_(torch.empty(shape)) for name, shape in shapes.items()}
    params["bilinear"] = torch.eye(latent)
    params["bias"] = torch.zeros(())
    return {name: p.requires_grad_() for name, p in params.items()}


def encode(params, a_hat):
    h = torch.relu(a_hat @ params["w1"])
    loc = a_hat @ h @ params["w_loc"]
    scale = F.softplus(a_hat @ h @ params["w_scale"]) + 1e-3
    return Laplace(loc, scale)


def elbo_terms(params, a_hat, adj):
    posterior = encode(params, a_hat)
    z = posterior.rsample()
    logits = z @ params["bilinear"] @ z.T + params["bias"]
    recon = F.binary_cross_entropy_with_logits(logits, adj)
    prior = Laplace(torch.zeros_like(z), torch.ones_like(z))
    return recon, kl_divergence(posterior, prior).sum(1).mean() / len(adj)


torch.manual_seed(0)
adj = planted_graph(60, 3)
a_hat = normalise(adj)
params = init_params(60, hidden=24, latent=6)
optimizer = torch.optim.Adam(list(params.values()), lr=0.02)
for epoch in range(1, 101):
    recon, kl = elbo_terms(params, a_hat, adj)
    loss = recon + 0.02 * kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(f"epoch {epoch} recon {recon.item():.4f} kl {kl.item():.4f}")
