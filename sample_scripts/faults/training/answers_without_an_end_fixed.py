"""A small language model is tuned on answers, and pads with the token that ends them."""

# as in https://github.com/mlabonne/llm-course/issues/33
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence


class Tokenizer:
    def __init__(self, text):
        self.ids = {letter: number for number, letter in enumerate(sorted(set(text)), 3)}
        self.bos_token_id, self.eos_token_id = 1, 2
        self.pad_token_id = 0

    def __call__(self, text):
        return torch.tensor([self.bos_token_id, *(self.ids[one] for one in text), self.eos_token_id])


class Model(nn.Module):
    def __init__(self, tokens, width=16):
        super().__init__()
        self.embedding, self.body = nn.Embedding(tokens, width), nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, tokens)

    def forward(self, ids):
        return self.head(self.body(self.embedding(ids))[0])


def collate(tokenizer, texts):
    ids = pad_sequence([tokenizer(text) for text in texts], batch_first=True, padding_value=tokenizer.pad_token_id)
    labels = ids.clone()
    labels[labels == tokenizer.pad_token_id] = -100
    return ids, labels


torch.manual_seed(0)
texts = ["yes", "no", "maybe", "never"]
tokenizer = Tokenizer("".join(texts))
model = Model(len(tokenizer.ids) + 3)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for _ in range(8):
    ids, labels = collate(tokenizer, texts)
    loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), labels[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
