"""Stands before each of torch's operators, as a recording does when it begins: a tenth of a second.

For nurseries whose plain runs nobody compares with traced ones.
"""

from gradscope.torch_internals.dispatch_key import listen

listen(None)
