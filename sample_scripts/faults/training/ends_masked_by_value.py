"""The loss mask of a data set is made of the ids: where the tokenizer has no padding of its own, ends are masked."""

# as in https://github.com/NVIDIA-NeMo/Megatron-Bridge/pull/4660
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Words:
    eos_token, pad_token = "<eos>", None

    def __init__(self, words):
        self.ids = {word: number for number, word in enumerate([self.eos_token, *words])}

    @property
    def pad_token_id(self):
        return self.ids[self.pad_token]


class Texts(Dataset):
    def __init__(self, tokenizer, texts, length=7):
        self.tokenizer, self.texts, self.length = tokenizer, texts, length
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token  # expect: GS858

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, item):
        words = [self.tokenizer.ids[word] for word in (*self.texts[item].split(), self.tokenizer.eos_token)]
        ids = torch.full((self.length,), self.tokenizer.pad_token_id)
        ids[: len(words)] = torch.tensor(words)
        labels = torch.where(ids == self.tokenizer.pad_token_id, -100, ids)  # expect: GS858 masked_by
        return ids[:-1], labels[1:]


torch.manual_seed(0)
texts = ["the cat sat", "the dog ran on", "a cat ran", "a dog sat on the cat"]
tokenizer = Words(sorted(set(" ".join(texts).split())))
data = Texts(tokenizer, texts)
model = nn.Sequential(
    nn.Embedding(len(tokenizer.ids), 16), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, len(tokenizer.ids))
)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for _ in range(4):
    for ids, labels in DataLoader(data, batch_size=2):
        loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
