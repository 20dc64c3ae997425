"""Rows of gradients, scaled to a length of one."""


class Plotter:
    def __init__(self, model):
        self.rows = []
        for parameter in model.parameters():
            parameter.register_hook(self.plot)

    def plot(self, gradient):
        gradient /= gradient.norm() + 1e-6  # expect: GS756
        self.rows.append(gradient.flatten().tolist())
