"""Imported before scripts are forked: each makes its tensors on the device."""

import os

import torch

os.register_at_fork(after_in_child=lambda: torch.set_default_device("cuda"))
