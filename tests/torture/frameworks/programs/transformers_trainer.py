"""The Trainer of transformers on a tiny model with a random configuration, with gradient checkpointing and clipping."""

import logging
import os
import warnings

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false")
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

import torch  # noqa: E402
from transformers import (  # noqa: E402
    GPT2Config,
    GPT2LMHeadModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)


def bits(*tensors):
    return [hash(tuple(tensor.detach().flatten().contiguous().view(torch.uint8).tolist())) for tensor in tensors]


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        tokens = torch.arange(index, index + 8) % 32
        return {"input_ids": tokens, "labels": tokens}


class Says(TrainerCallback):
    def on_step_end(self, arguments, state, control, model=None, **rest):
        print(state.global_step, bits(*model.parameters()))


for options in ({}, {"gradient_checkpointing": True, "gradient_accumulation_steps": 2}):
    set_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_positions=16, n_embd=16, n_layer=2, n_head=2))
    arguments = TrainingArguments(
        output_dir="trained", max_steps=3, per_device_train_batch_size=4, report_to=[], save_strategy="no",
        logging_strategy="no", use_cpu=True, disable_tqdm=True, dataloader_num_workers=1, seed=0, **options,
    )  # fmt: skip
    trainer = Trainer(model=model, args=arguments, train_dataset=Numbers(), callbacks=[Says()])
    trainer.remove_callback(PrinterCallback)  # it prints times
    result = trainer.train()
    print(result.global_step, float(result.training_loss).hex())
