"""All trials, in the order in which they run. The compile group runs only when asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradscope.functions.trials import batching, compiled, contract, levels, memory, numbers, transforms, values
from gradscope.functions.trials.bench import Bench
from gradscope.functions.trials.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Trial:
    """One way to try a Function; `seconds` is the time limit. `fresh`: in a process that never called the Function."""

    name: str
    group: str
    run: Callable[[Bench], Outcome]
    seconds: float = 20.0
    fresh: bool = False


TRIALS: dict[str, Trial] = {
    trial.name: trial
    for trial in (
        Trial("eager_fwd", "values", values.eager_fwd),
        Trial("eager_bwd", "values", values.eager_bwd),
        Trial("eager_bwd2", "values", values.eager_bwd2),
        Trial("bwd2_engine", "values", values.bwd2_engine),
        Trial("gradcheck", "values", values.gradcheck),
        Trial("gradgradcheck", "values", values.gradgradcheck),
        Trial("gradcheck_fwd", "values", values.gradcheck_fwd),
        Trial("fwad", "values", values.fwad),
        Trial("float32", "values", numbers.float32),
        Trial("complex", "values", numbers.complex_numbers),
        Trial("autocast", "values", numbers.autocast),
        Trial("zero_size", "values", numbers.zero_size),
        Trial("noncontig", "values", numbers.noncontig),
        Trial("expanded_gout", "values", numbers.expanded_gout),
        Trial("grad", "torch.func", transforms.grad),
        Trial("vjp", "torch.func", transforms.vjp),
        Trial("jvp", "torch.func", transforms.jvp),
        Trial("jvp_partial", "torch.func", transforms.jvp_partial),
        Trial("jacrev", "torch.func", transforms.jacrev),
        Trial("jacfwd", "torch.func", transforms.jacfwd),
        Trial("hessian", "torch.func", transforms.hessian),
        Trial("jvp_grad", "torch.func", transforms.jvp_grad),
        Trial("grad_grad", "torch.func", transforms.grad_grad),
        Trial("vmap", "torch.func", batching.vmap),
        Trial("vmap_lastdim", "torch.func", batching.vmap_lastdim),
        Trial("vmap_mixed", "torch.func", batching.vmap_mixed),
        Trial("vmap_partial", "torch.func", batching.vmap_partial),
        Trial("vmap_vmap", "torch.func", batching.vmap_vmap),
        Trial("vmap_grad", "torch.func", batching.vmap_grad),
        Trial("grad_vmap", "torch.func", batching.grad_vmap),
        Trial("grad_vmap_partial", "torch.func", batching.grad_vmap_partial),
        Trial("eager_grad_of_vmap", "torch.func", batching.eager_grad_of_vmap),
        Trial("functionalize", "torch.func", transforms.functionalize),
        Trial("functional_call", "torch.func", transforms.functional_call),
        Trial("mark_dirty", "torch.func", levels.mark_dirty),
        Trial("dead_wrapper", "torch.func", levels.dead_wrapper, fresh=True),
        Trial("gout_mutated", "contract", contract.gout_mutated),
        Trial("input_mutated", "contract", contract.input_mutated),
        Trial("saved_inplace", "contract", contract.saved_inplace),
        Trial("out_inplace", "contract", contract.out_inplace),
        Trial("backward_twice", "contract", contract.backward_twice),
        Trial("subset_grad", "contract", contract.subset_grad),
        Trial("one_output", "contract", contract.one_output),
        Trial("leak", "contract", memory.leak),
        Trial("ctx_tensors", "contract", memory.ctx_tensors),
        Trial("saved_hooks", "contract", memory.saved_hooks),
        Trial("saved_read", "contract", memory.saved_read),
        Trial("retained_inputs", "contract", memory.retained_inputs),
        Trial("needless_grad", "contract", contract.needless_grad),
        Trial("grad_buffer_reuse", "contract", contract.grad_buffer_reuse),
        Trial("grad_none_requires", "contract", contract.grad_none_requires),
        Trial("threads", "contract", contract.threads),
        Trial("compile", "compile", compiled.compile_full, 90.0),
        Trial("compiled_autograd", "compile", compiled.compiled_autograd, 90.0),
        Trial("export", "compile", compiled.export, 90.0),
        Trial("make_fx", "compile", compiled.make_fx, 90.0),
    )
}
