"""Reviews of words, made ids and no more: the first batch of two lengths cannot be stacked."""

# as in https://github.com/MECLabTUDA/Super_Selfish/issues/2
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

REVIEWS = ["good and cheap", "bad and slow", "slow but good", "not good", "cheap and bad but good", "good"]
WORDS = {word: number for number, word in enumerate(sorted({w for text in REVIEWS for w in text.split()}), 1)}


class Reviews(Dataset):
    def __len__(self):
        return len(REVIEWS)

    def __getitem__(self, index):
        words = REVIEWS[index].split()
        ids = [WORDS[word] for word in words]
        return torch.tensor(ids), float("good" in words)  # expect: GS839


torch.manual_seed(0)
model = nn.Sequential(nn.EmbeddingBag(len(WORDS) + 1, 8, padding_idx=0), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
loader = DataLoader(Reviews(), batch_size=2)
for epoch in range(2):
    for ids, labels in loader:  # expect: GS839 fails_at
        loss = nn.functional.binary_cross_entropy_with_logits(model(ids).squeeze(1), labels.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
