"""A teacher in a list, so that parameters() does not list it: only its values are read under torch.func.grad."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad

torch.manual_seed(0)


class Student(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 4)
        self.teacher = [nn.Linear(6, 4)]

    def forward(self, x):
        with torch.no_grad():
            wanted = self.teacher[0](x).softmax(1)
        return F.cross_entropy(self.layer(x), wanted)


student = Student()
weights = {name: weight.detach() for name, weight in student.named_parameters()}
for _ in range(20):
    x = torch.randn(16, 6)
    gradients = grad(lambda weights, x: functional_call(student, weights, (x,)))(weights, x)
    weights = {name: (weights[name] - 0.5 * gradients[name]).detach() for name in weights}
print(f"loss {functional_call(student, weights, (x,)).item():.3f}")
