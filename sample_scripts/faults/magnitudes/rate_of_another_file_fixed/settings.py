"""What may be set."""

from dataclasses import dataclass


@dataclass
class Settings:
    steps: int = 30
    rate: float = 0.03
    momentum: float = 0.9
