"""A name into which a file puts something, and that comes from elsewhere, is followed no further."""

from gradscope.model.site import Site
from gradscope.ranks.source.deciding import part_of

PROGRAM = """
from data import mine

mine[0] = first
for row in mine:
    step(row)
"""


class Told:
    """A recording of one file."""

    def source(self, file):
        return PROGRAM

    def sources(self):
        return {"train.py": PROGRAM}


def test_what_is_only_put_into_a_name_ends_there():
    assert part_of(Told(), (Site("train.py", 6),), Site("train.py", 5)) is None
