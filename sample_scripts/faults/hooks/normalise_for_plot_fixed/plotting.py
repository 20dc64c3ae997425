"""Rows of gradients, scaled to a length of one."""


class Plotter:
    def __init__(self, model):
        self.rows = []
        for parameter in model.parameters():
            parameter.register_hook(self.plot)

    def plot(self, gradient):
        scaled = gradient / (gradient.norm() + 1e-6)
        self.rows.append(scaled.flatten().tolist())
