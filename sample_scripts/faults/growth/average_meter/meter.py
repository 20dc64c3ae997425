"""A weighted mean."""


class Meter:
    def __init__(self):
        self.sum = 0.0
        self.count = 0

    def update(self, value, count):
        self.sum += value * count  # expect: GS742
        self.count += count
