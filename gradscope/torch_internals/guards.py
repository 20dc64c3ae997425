"""What keeps our looks at tensors out of the script's sight: no autograd, no function modes, no dispatch modes.

The surprise: `torch.no_grad()` is written in Python, so a signal handler that raises inside it can leave the script
without gradients. These guards are C++ objects, which are entered and left in one piece.
"""

from __future__ import annotations

from typing import Any

from gradscope.torch_internals.find import bound

no_autograd: Any = bound("torch._C._AutoDispatchBelowAutograd")
no_function: Any = bound("torch._C.DisableTorchFunction")
no_function_of_classes: Any = bound("torch._C.DisableTorchFunctionSubclass")  # function modes stay
no_dispatch: Any = bound("torch._C._DisableTorchDispatch")
