"""Street scenes whose augmented crops are padded with label 255, which the loss takes for a class."""

# as in https://discuss.pytorch.org/t/when-to-use-ignore-index/5935
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Scenes(Dataset):
    crops = False

    def __len__(self):
        return 8

    def __getitem__(self, item):
        generator = torch.Generator().manual_seed(item)
        image, label = torch.rand(3, 12, 12, generator=generator), torch.randint(0, 4, (12, 12), generator=generator)
        if self.crops:
            image, label = F.pad(image[:, 4:], (0, 0, 0, 4)), F.pad(label[4:], (0, 0, 0, 4), value=255)
        return image, label


torch.manual_seed(0)
scenes = Scenes()
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()  # expect: GS818
for epoch in range(3):
    scenes.crops = epoch > 0
    for image, label in DataLoader(scenes, batch_size=4):
        loss = criterion(net(image), label)  # expect: GS818 fails_at
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
