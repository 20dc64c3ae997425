"""Lightning's Trainer: automatic and manual optimization, clipping, accumulation, its anomaly switch."""

import logging
import warnings

import torch

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
import lightning as L  # noqa: E402


def bits(*tensors):
    return [hash(tuple(tensor.detach().flatten().contiguous().view(torch.uint8).tolist())) for tensor in tensors]


class Automatic(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.ReLU(), torch.nn.Linear(8, 1)
        )

    def training_step(self, batch, number):
        loss = self.model(batch).square().mean()
        self.log("loss", loss)
        return loss

    def on_before_backward(self, loss):
        print("before", loss.item().hex())

    def on_after_backward(self):
        print("after", bits(*(one.grad for one in self.parameters())))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters())
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2)]


class Manual(Automatic):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch, number):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(self.model(batch).square().mean())
        optimizer.step()


data = torch.utils.data.DataLoader(torch.randn(16, 4, generator=torch.Generator().manual_seed(0)), batch_size=4)
quiet = dict(
    max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False,
)  # fmt: skip
for module, options in (
    (Automatic, {"gradient_clip_val": 0.5, "accumulate_grad_batches": 2}),
    (Automatic, {"detect_anomaly": True, "precision": "bf16-mixed"}),
    (Manual, {}),
):
    L.seed_everything(0)
    one = module()
    trainer = L.Trainer(**quiet, **options)
    trainer.fit(one, data)
    print(module.__name__, trainer.global_step, bits(*one.parameters()), torch.is_anomaly_enabled())
