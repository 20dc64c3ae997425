"""What may be set."""

from dataclasses import dataclass


@dataclass
class Settings:
    steps: int = 30
    rate: float = 3.0  # expect: GS737
    momentum: float = 0.9
