"""Torch's private parts that gradscope stands on, in one table: what each gives, and who needs it.

`require` asks only whether they are there, before a recording starts. `gradscope doctor` also tries each, and those of
other rooms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradscope.errors import UsageError
from gradscope.model.seam import Seam, State

# What records what. A detail needs the parts of those before it as well.
PARTS: dict[str, tuple[str, ...]] = {
    "nodes": ("nodes", "engine", "hooks", "modules", "saved tensors", "tracebacks"),
    "ops": ("operators",),
    "full": ("values",),
}


def _by_trial(name: str) -> Callable[[], str | None]:
    def works() -> str | None:
        from gradscope.probes import seam_trials

        found: str | None = getattr(seam_trials, name)()
        return found

    return works


SEAMS = (
    Seam("torch.fx.traceback.format_stack", "nodes", "sees every node being made", _by_trial("format_stack")),
    Seam("torch._C.set_anomaly_enabled", "nodes", "keeps the engine calling for it", _by_trial("anomaly")),
    Seam("torch._C._current_autograd_node", "nodes", "knows which node makes another", _by_trial("current_node")),
    Seam("torch._C._functorch.maybe_current_level", "nodes", "knows the torch.func level", _by_trial("level")),
    Seam("torch._C._functorch.get_interpreter_stack", "nodes", "names the torch.func transforms"),
    Seam("torch._C._dynamo.eval_frame.set_code_exec_strategy", "nodes", "keeps torch.compile away", _by_trial("skip")),
    Seam("torch.autograd.graph._engine_run_backward", "engine", "sees every backward call", _by_trial("engine")),
    Seam("torch.autograd.graph._register_logging_hooks_on_whole_graph", "engine", "runs before and after each"),
    Seam("torch._C.DisableTorchFunction", "engine", "looks without the script's modes seeing it"),
    Seam("torch.autograd.graph.get_gradient_edge", "engine", "finds a leaf's accumulator"),
    Seam("torch.autograd.Function.apply", "nodes", "sees custom Functions being called"),
    Seam("torch.utils.hooks.RemovableHandle.__init__", "hooks", "sees every hook being registered", _by_trial("hooks")),
    Seam("torch.utils.hooks.BackwardHook.__init__", "hooks", "sees module hooks at work"),
    Seam("torch._C.TensorBase.retain_grad", "hooks", "sees retain_grad, which is a hook as well"),
    Seam("torch.distributed.Reducer", "hooks", "sees DistributedDataParallel's hooks being made",
         _by_trial("reducer"), optional=True),
    Seam("torch._C._current_graph_task_id", "hooks", "tells backward calls in threads apart"),
    Seam("torch.nn.modules.module.Module._wrapped_call_impl", "modules", "sees module calls", _by_trial("modules")),
    Seam("torch.nn.Module.__init__", "operators", "knows the line that built a module"),
    Seam("torch._C._autograd.SavedTensor.data", "saved tensors", "sees what a node keeps", _by_trial("saved")),
    Seam("threading.Thread._bootstrap_inner", "operators", "sees operators in the script's threads"),
    Seam("threading._make_invoke_excepthook", "tracebacks", "takes gradscope's frames out of threads' tracebacks"),
    Seam("torch.utils._python_dispatch.TorchDispatchMode", "operators", "sees every operator", _by_trial("operators")),
    Seam("torch.utils._python_dispatch._get_current_dispatch_mode_stack", "operators", "rests in steps not recorded"),
    Seam("torch._C._len_torch_dispatch_stack", "operators", "leaves the script's own modes in their places"),
    Seam("torch._C._get_dispatch_stack_at", "operators", "knows which mode is the innermost"),
    Seam("torch._C._pop_torch_dispatch_stack", "operators", "rests in backward calls that repeat"),
    Seam("torch._C._push_on_torch_dispatch_stack", "operators", "sees operators again after them"),
    Seam("torch._ops.OpOverload", "operators", "tells operators from higher-order ones"),
    Seam("torch.ops.aten.add.Tensor._op", "operators", "runs an operator with one frame less"),
    Seam("torch._C._disabled_torch_function_impl", "operators", "tells which tensor classes are asked at all"),
    Seam("torch._C.DisableTorchFunctionSubclass", "operators", "runs them without asking the script's tensor classes"),
    *(Seam(f"torch._functorch.{name}", "nodes", gives) for name, gives in (
        ("vmap._vmap_increment_nesting", "sees a vmap begin"),
        ("vmap._vmap_decrement_nesting", "sees it end"),
        ("eager_transforms._grad_increment_nesting", "sees a grad begin"),
        ("eager_transforms._grad_decrement_nesting", "sees it end"),
        ("eager_transforms._jvp_increment_nesting", "sees a jvp begin"),
        ("eager_transforms._jvp_decrement_nesting", "sees it end"),
        ("eager_transforms._func_increment_nesting", "sees a functionalize begin"),
        ("eager_transforms._func_decrement_nesting", "sees it end"),
    )),
    Seam("torch._library.simple_registry.singleton", "operators", "leaves what subclasses do with operators alone"),
    Seam("torch._library.simple_registry.find_torch_dispatch_rule", "operators", "the same, sooner", optional=True),
    Seam("torch._C._functorch.is_dead_tensor_wrapper", "nodes", "sees tensors that outlive their transform"),
    Seam("torch._C._functorch.maybe_get_level", "nodes", "sees those of a vmap"),
    Seam("torch.UntypedStorage._weak_ref", "operators", "knows when a storage is gone"),
    Seam("torch.UntypedStorage._free_weak_ref", "operators", "lets go of it"),
    Seam("torch.UntypedStorage._expired", "operators", "asks whether it is gone"),
    Seam("torch._C._functorch.get_unwrapped", "tensors", "finds a wrapped tensor's storage", optional=True),
    Seam("torch._C._functorch.is_gradtrackingtensor", "operators", "knows what grad differentiates", optional=True),
    *(Seam(name, "operators", "asks for a captured tensor's tangent", optional=True) for name in (
        "torch._C._functorch._jvp_increment_nesting", "torch._C._functorch._jvp_decrement_nesting",
        "torch._C._set_fwd_grad_enabled", "torch._C._is_fwd_grad_enabled", "torch._C._ForceDispatchKeyGuard",
        "torch._C._dispatch_keyset_full", "torch._C._dispatch_tls_local_include_set", "torch._VF._unpack_dual",
        "torch.autograd.forward_ad._current_level",
    )),
    Seam("torch._functorch.autograd_function.CustomFunctionHigherOrderOperator.__call__", "operators",
         "tells a custom Function's forward from its way there"),
    Seam("torch._C._disabled_torch_dispatch_impl", "tensors", "tells subclasses without plain data", optional=True),
    Seam("torch._C._DisableFuncTorch", "tensors", "copies plain data under a transform", optional=True),
    Seam("torch._guards.TracingContext.try_get", "nodes", "leaves what a compiler traces alone"),
    Seam("torch._C._get_dispatch_mode", "nodes", "leaves what a fake run computes alone"),
    Seam("torch._C._TorchDispatchModeKey.FAKE", "nodes", "knows a fake run"),
    Seam("torch._C._TorchDispatchModeKey.PROXY", "operators", "adds nothing to what make_fx takes down"),
    Seam("torch.nn.Module._wrapped_call_impl", "engine", "sees that a module call is over"),
    Seam("torch._C._jit_get_schemas_for_operator", "saved tensors", "tells results from arguments"),
    Seam("torch._foreach_norm", "operators", "measures an accelerator's gradients at once"),
    Seam("torch._C._autograd._get_creation_meta", "operators", "tells leaves among views"),
    Seam("torch._C._storage_Use_Count", "operators", "knows whether memory is shared"),
    Seam("torch._C._AutoDispatchBelowAutograd", "values", "measures without autograd"),
    Seam("torch._C._DisableTorchDispatch", "values", "measures without recording it"),
    Seam("torch.autograd.function._HookMixin._register_hook", "values", "hooks nodes at a lower price", optional=True),
    Seam("torch._C._functorch.is_functorch_wrapped_tensor", "values", "leaves tensors under a transform alone"),
    Seam("torch.distributed.distributed_c10d._rank_not_in_group", "collectives", "commits before collectives",
         _by_trial("collectives"), optional=True),
)  # fmt: skip


def needed(detail: str) -> Iterator[Seam]:
    """The seams that a detail cannot do without."""
    details = list(PARTS)
    parts = {part for each in details[: details.index(detail) + 1] for part in PARTS[each]}
    return (seam for seam in SEAMS if seam.part in parts and not seam.optional)


def require(detail: str) -> None:
    """Raise UsageError when this torch lacks what a detail needs."""
    missing = [seam.name for seam in needed(detail) if seam.state() is State.ABSENT]
    if not missing:
        return
    import torch

    others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    raise UsageError(
        f"torch {torch.__version__} has no {missing[0]}{others}, which --detail {detail} needs",
        "`gradscope doctor` says what works with this torch",
    )
