"""Topic tagging over a document stream whose vocabulary grows while training.

As in https://github.com/huggingface/transformers/pull/3532.
"""

import torch
import torch.nn.functional as F
from torch import nn

TOPICS = 5


class Vocabulary:
    """Maps words to ids; unseen words wait in a pending set until the next commit."""

    def __init__(self, commit_every):
        self.ids = {"<unk>": 0}
        self.pending = {}
        self.commit_every = commit_every

    def __len__(self):
        return len(self.ids)

    def encode(self, words):
        for word in words:
            if word not in self.ids:
                self.pending[word] = self.pending.get(word, 0) + 1
        return [self.ids.get(word, 0) for word in words]

    def ready(self):
        return sum(count >= 2 for count in self.pending.values()) >= self.commit_every

    def commit(self):
        for word, count in list(self.pending.items()):
            if count >= 2:
                self.ids[word] = len(self.ids)
                del self.pending[word]


class TopicTagger(nn.Module):
    def __init__(self, size, width=24):
        super().__init__()
        self.embed = nn.Embedding(size, width)
        self.weigh = nn.Linear(width, 1, bias=False)
        self.hidden = nn.Linear(width, 32)
        self.out = nn.Linear(32, TOPICS)

    def forward(self, ids):
        x = self.embed(ids)
        pooled = (self.weigh(x).softmax(1) * x).sum(1)
        return self.out(F.silu(self.hidden(pooled)))

    def resize_embeddings(self, size):
        old = self.embed
        new = nn.Embedding(size, old.embedding_dim)
        with torch.no_grad():
            new.weight[: old.num_embeddings] = old.weight
        self.embed = new


class DocumentStream:
    """Documents mix topic words and filler; a second wave of topic words appears later on."""

    def __init__(self, seed, second_wave_at):
        self.g = torch.Generator().manual_seed(seed)
        self.second_wave_at = second_wave_at

    def draw(self, high):
        return int(torch.randint(0, high, (1,), generator=self.g))

    def batch(self, step, size, words=10):
        documents, topics = [], []
        for _ in range(size):
            topic = self.draw(TOPICS)
            late = step >= self.second_wave_at and self.draw(10) < 8
            prefix = "late" if late else "early"
            document = [f"{prefix}{topic}_{self.draw(8)}" for _ in range(words // 3)]
            document += [f"filler{self.draw(30)}" for _ in range(words - len(document))]
            documents.append(document)
            topics.append(topic)
        return documents, torch.tensor(topics)


def make_optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)


def train(steps=170, batch=24, second_wave_at=67):
    torch.manual_seed(25)
    stream = DocumentStream(seed=26, second_wave_at=second_wave_at)
    vocab = Vocabulary(commit_every=20)
    warmup, _ = stream.batch(0, 200)
    for document in warmup:
        vocab.encode(document)
    vocab.commit()
    model = TopicTagger(len(vocab))
    optimizer = make_optimizer(model)
    accuracy = 0.0
    for step in range(1, steps + 1):
        documents, topics = stream.batch(step, batch)
        ids = torch.tensor([vocab.encode(document) for document in documents])
        logits = model(ids)
        loss = F.cross_entropy(logits, topics)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy += 0.1 * ((logits.argmax(-1) == topics).float().mean().item() - accuracy)
        if vocab.ready():
            vocab.commit()
            model.resize_embeddings(len(vocab))
            optimizer = make_optimizer(model)
        if step % 17 == 0:
            print(f"step {step:4d} vocab {len(vocab):3d} loss {loss.item():.4f} acc {accuracy:.3f}")
    return model


if __name__ == "__main__":
    train()
