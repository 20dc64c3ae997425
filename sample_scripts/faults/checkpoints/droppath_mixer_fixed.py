"""Residual MLP-mixer with stochastic depth and activation checkpointing."""

# as in https://github.com/allenai/OLMo-core/pull/828
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class DropPath(nn.Module):
    def __init__(self, p, rng):
        super().__init__()
        self.p, self.rng = p, rng

    def forward(self, x):
        if not self.training or self.p == 0.0:
            return x
        shape = (x.shape[0],) + (1,) * (x.dim() - 1)
        keep = (torch.rand(shape) >= self.p).to(x.dtype)
        return x * keep / (1.0 - self.p)


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim, p, rng):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.channel = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.drop = DropPath(p, rng)

    def forward(self, x):
        x = x + self.drop(self.token(self.n1(x).transpose(1, 2)).transpose(1, 2))
        return x + self.drop(self.channel(self.n2(x)))


class Mixer(nn.Module):
    def __init__(self, rng, d_in=6, tokens=8, dim=24, depth=5, classes=4, p=0.3, recompute=True):
        super().__init__()
        self.recompute = recompute
        self.stem = nn.Linear(d_in, dim)
        self.blocks = nn.ModuleList(MixerBlock(tokens, dim, p, rng) for _ in range(depth))
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, classes))

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.training and self.recompute else block(x)
        return self.head(x.mean(1))


def make_data(n, rng, d_in=6, tokens=8):
    x = torch.randn(n, tokens, d_in, generator=rng)
    a = (x[:, 0] * x[:, 3]).sum(-1) > 0
    b = x[:, 5, :3].sum(-1) > x[:, 6, 3:].sum(-1)
    return x, a.long() + 2 * b.long()


def main(steps=12, batch=64):
    torch.manual_seed(0)
    rng = torch.Generator().manual_seed(7)
    x, y = make_data(1024, rng)
    model = Mixer(rng)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    for step in range(steps):
        idx = torch.randint(0, len(x), (batch,), generator=rng)
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 5 == 0 or step == steps - 1:
            model.eval()
            with torch.no_grad():
                full = F.cross_entropy(model(x), y)
            model.train()
            print(f"step {step:3d} batch {loss.item():.4f} eval {full.item():.4f}")
    return model


if __name__ == "__main__":
    main()
