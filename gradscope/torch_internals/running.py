"""What torch runs now in this thread: the node of a backward, the engine's task, the levels of torch.func.

Where this torch cannot say, the answer is that nothing runs: `NO_TASK`, None, no levels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradscope.torch_internals.find import bound

NO_TASK = -1  # torch's
current_node: Callable[[], Any] = bound("torch._C._current_autograd_node", lambda: None)
current_task: Callable[[], int] = bound("torch._C._current_graph_task_id", lambda: NO_TASK)
current_level: Callable[[], Any] = bound("torch._C._functorch.maybe_current_level", lambda: None)
interpreters: Callable[[], Any] = bound("torch._C._functorch.get_interpreter_stack", lambda: None)
