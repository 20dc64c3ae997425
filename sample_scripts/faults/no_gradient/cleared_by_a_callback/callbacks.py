"""What happens around a step."""


class Callback:
    def before_forward(self, step):
        pass

    def after_backward(self, step):
        pass


class Log(Callback):
    def before_forward(self, step):
        if step % 2 == 0:
            print(f"step {step}")


class Clear(Callback):
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def after_backward(self, step):
        self.optimizer.zero_grad()  # expect: GS728
