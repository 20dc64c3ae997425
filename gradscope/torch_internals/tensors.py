"""What torch knows of a tensor and of its memory, and says in private only."""

from __future__ import annotations

from typing import Any

from gradscope.torch_internals.find import bound

is_wrapped: Any = bound("torch._C._functorch.is_functorch_wrapped_tensor", lambda tensor: False)  # by torch.func
unwrapped: Any = bound("torch._C._functorch.get_unwrapped", lambda tensor: tensor)
is_dead: Any = bound("torch._C._functorch.is_dead_tensor_wrapper")
level_of: Any = bound("torch._C._functorch.maybe_get_level")
creation_of: Any = bound("torch._C._autograd._get_creation_meta")  # of a view
owners_of: Any = bound("torch._C._storage_Use_Count")  # of a storage, by its address
free_weak_reference: Any = bound("torch.UntypedStorage._free_weak_ref")
is_expired: Any = bound("torch.UntypedStorage._expired")
weak_reference: Any = bound("torch.UntypedStorage._weak_ref")
norms_of: Any = bound("torch._foreach_norm")
NO_FUNCTION_OF_ITS_OWN: Any = bound("torch._C._disabled_torch_function_impl", None)  # a class's __torch_function__
NO_DISPATCH_OF_ITS_OWN: Any = bound("torch._C._disabled_torch_dispatch_impl", None)  # a class's __torch_dispatch__
conj_view: Any = bound("torch._conj")
neg_view: Any = bound("torch._neg_view")
zero_without_memory: Any = bound("torch._efficientzerotensor")
unpack_saved: Any = bound("torch._C._autograd.SavedTensor.unpack", None)
HAS_SAVED_DATA = bool(bound("torch._C._autograd.SavedTensor.data", None))  # of what a node keeps


def innermost(tensor: Any) -> Any:
    """A tensor as it was before torch.func's transforms wrapped it."""
    inside = unwrapped(tensor) if is_wrapped(tensor) else tensor
    while inside is not tensor:
        tensor = inside
        inside = unwrapped(tensor) if is_wrapped(tensor) else tensor
    return tensor
