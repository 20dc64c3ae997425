"""The private parts of torch that this room stands on."""

from __future__ import annotations

from gradscope.model.seam import Seam

_PART = "replay --execute"
SEAMS = (
    Seam("torch._C._set_mkldnn_enabled", _PART, "runs with the settings of the recording", optional=True),
    Seam("torch._conj", _PART, "makes a conjugate view", optional=True),
    Seam("torch._neg_view", _PART, "makes a negated view", optional=True),
    Seam("torch._efficientzerotensor", _PART, "makes a zero without memory", optional=True),
)
