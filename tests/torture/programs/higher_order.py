"""cond, while_loop, scan, associative_scan and flex_attention."""

import torch
from _witness import bits
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

torch.manual_seed(0)
x = torch.randn(3, requires_grad=True)
y = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
y.sum().backward()
print(bits(y, x.grad))
with torch.no_grad():
    print(bits(*while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.zeros((), dtype=torch.int64), x))))
carry, rows = scan(lambda carry, x: (carry + x, carry * x), torch.zeros(3), torch.randn(4, 3))
print(bits(carry, rows))
print(bits(associative_scan(lambda a, b: a + b, torch.randn(4, 3), 0, combine_mode="generic")))
query = torch.randn(1, 2, 16, 16, requires_grad=True)
mask = create_block_mask(lambda batch, head, q, kv: q >= kv, 1, 1, 16, 16, device="cpu")
output = flex_attention(query, query, query, score_mod=lambda score, b, h, q, kv: score + q - kv, block_mask=mask)
output.sum().backward()
print(bits(output, query.grad))
