"""Springs find their lengths by gradient descent from random ones, which are drawn around zero and then moved.

As in https://github.com/pytorch/pytorch/issues/560.
"""

import torch


class Chain:
    def __init__(self, springs, generator):
        self.lengths = torch.randn(springs, generator=generator, requires_grad=True) + 2.0  # expect: GS879
        self.stiffness = torch.linspace(1.0, 3.0, springs)

    def energy(self):
        stretched = self.lengths - torch.linspace(0.5, 1.5, len(self.lengths))
        return 0.5 * (self.stiffness * stretched.square()).sum()

    def relax(self, rate):
        energy = self.energy()
        energy.backward()
        gradient = self.lengths.grad  # expect: GS879 fails_at
        if gradient is not None:
            self.lengths.data.sub_(rate * gradient)
            self.lengths.grad = None
        return energy.item()


def main(steps=40):
    chain = Chain(6, torch.Generator().manual_seed(0))
    for step in range(steps):
        energy = chain.relax(0.2)
        if step % 10 == 9:
            print(f"step {step} energy {energy:.4f}")


if __name__ == "__main__":
    main()
