"""The nouns: frozen, slotted dataclasses. No torch, no files, no colours."""
