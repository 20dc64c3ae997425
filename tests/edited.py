"""Programs of tests with some lines changed: each edit has one place, or it changes more than it says."""


def edited(program, *edits):
    """A program in which each edit, a pair of texts, puts the second in the place of the first, which stands there
    once."""
    for before, after in edits:
        assert program.count(before) == 1, f"{program.count(before)} places for {before!r}"
        program = program.replace(before, after)
    return program
