"""Everything private of torch (and of the standard library) that gradscope touches, in one room.

Other rooms take it from here: `bound("torch._C...")` for a value, `Replacement` for a place where ours stands in.
"""
