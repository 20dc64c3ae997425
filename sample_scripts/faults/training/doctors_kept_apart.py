"""Signs of an illness are coded so that nobody can tell the hospital; a critic is asked several times for each step.

As in https://github.com/nikhilsinghmus/image2reverb/issues/37.
"""

import torch
from torch import nn

torch.manual_seed(0)
coder = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
doctor, guesser = nn.Linear(4, 1), nn.Linear(4, 2)
criterion, guesses_well = nn.BCEWithLogitsLoss(), nn.CrossEntropyLoss()
main_optimizer = torch.optim.AdamW([*coder.parameters(), *doctor.parameters()], lr=2e-3)
guess_optimizer = torch.optim.AdamW(guesser.parameters(), lr=1e-2)
for step in range(48):
    hospital = torch.randint(0, 2, (64,))
    signs = torch.randn(64, 8) + hospital.unsqueeze(1)
    code = coder(signs)
    hidden = code.detach()  # expect: GS892
    guess = guesses_well(guesser(hidden), hospital)
    if step % 4 == 3:
        loss = criterion(doctor(code).squeeze(1), (signs[:, 0] > 0).float()) - 2.0 * guess
        main_optimizer.zero_grad()
        loss.backward()  # expect: GS892 called_at
        main_optimizer.step()
    else:
        guesser.zero_grad()
        guess.backward()
        guess_optimizer.step()
print(f"guess {guess.item():.3f}")
