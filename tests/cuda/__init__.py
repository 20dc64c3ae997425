"""What only a real CUDA device shows. Skipped where there is none: run `pytest tests/cuda` where one is."""

from pathlib import Path

import pytest
import torch

PROGRAMS = Path(__file__).parent / "programs"
# Counting starts no device, which a nursery's forked children could not use then.
needs_device = pytest.mark.skipif(torch.cuda.device_count() == 0, reason="there is no CUDA device")
