"""Seq2seq with GRU encoder and decoder, an optimizer for each (as in the old tutorial).

The embedding is shared by both and so it is updated by both.

A shared embedding ended up twice in one optimizer in https://github.com/atulkum/pointer_summarizer/issues/61
"""

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, DIM, LEN, SOS = 12, 24, 5, 0


class Encoder(nn.Module):
    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding
        self.gru = nn.GRU(DIM, DIM, batch_first=True)

    def forward(self, src):
        return self.gru(self.embedding(src))[1]


class Decoder(nn.Module):
    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding
        self.gru = nn.GRU(DIM, DIM, batch_first=True)
        self.out = nn.Linear(DIM, VOCAB)

    def forward(self, inp, hidden):
        h, _ = self.gru(self.embedding(inp), hidden)
        return self.out(h)


def train_batch(src, encoder, decoder, enc_opt, dec_opt):
    target = src.flip(1)
    enc_opt.zero_grad()
    dec_opt.zero_grad()
    hidden = encoder(src)
    inp = torch.cat([torch.full((len(src), 1), SOS), target[:, :-1]], 1)
    loss = F.cross_entropy(decoder(inp, hidden).transpose(1, 2), target)
    loss.backward()
    enc_opt.step()
    dec_opt.step()
    return loss.item()


def train_iters(n_iters, lr=0.01):
    embedding = nn.Embedding(VOCAB, DIM)
    encoder, decoder = Encoder(embedding), Decoder(embedding)
    enc_opt = torch.optim.Adam(encoder.parameters(), lr=lr)
    dec_opt = torch.optim.Adam(decoder.parameters(), lr=lr)  # expect: GS832
    for it in range(1, n_iters + 1):
        src = torch.randint(1, VOCAB, (32, LEN))
        loss = train_batch(src, encoder, decoder, enc_opt, dec_opt)
        if it % 10 == 0:
            print(f"({it} {100 * it // n_iters}%) {loss:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train_iters(40)
