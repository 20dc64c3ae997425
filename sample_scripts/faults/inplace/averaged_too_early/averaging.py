"""An average of the weights over time, in the style of old code that writes through .data."""


class Average:
    def __init__(self, model):
        self.parameters = list(model.parameters())
        self.values = [parameter.detach().clone() * 0.5 for parameter in self.parameters]

    def update(self):
        for value, parameter in zip(self.values, self.parameters, strict=True):
            value.mul_(0.9).add_(parameter.data, alpha=0.1)

    def swap_in(self):
        for value, parameter in zip(self.values, self.parameters, strict=True):
            parameter.data.copy_(value)  # expect: GS702
