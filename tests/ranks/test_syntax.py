"""Files are read once, however often something is looked for in them."""

import ast

from gradscope.model.site import Site
from gradscope.ranks.source.syntax import nodes_of, tree_of


class Texts:
    """A recording of one file."""

    def source(self, file):
        return "def train():\n    step()\n"


def test_a_file_is_parsed_and_gone_through_once():
    tree = tree_of(Texts(), Site("train.py", 1))
    assert tree_of(Texts(), Site("train.py", 2)) is tree
    assert nodes_of(tree) is nodes_of(tree)
    assert [type(one) for one in nodes_of(tree)] == [type(one) for one in ast.walk(tree)]
