"""The frameworks have an environment of their own: elsewhere their tests are not collected, or skip."""

import importlib.util

collect_ignore = ["test_frameworks.py"] if importlib.util.find_spec("lightning") is None else []
