"""The pages in docs/ say what the code says: options, formats, tables, the JSON, and queries that work."""

from __future__ import annotations

import importlib.util
import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from gradscope.cli import COMMANDS
from gradscope.render.formats import FORMATS
from tests import by_hand

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
MARKDOWN = [*PAGES, *sorted(ROOT.glob("*.md")), ROOT / "sample_scripts" / "README.md"]
SCHEMA: dict[str, Any] = json.loads((DOCS / "graph.schema.json").read_text())
QUERIES = re.findall(r"```sql\n((?:SELECT|WITH) .*?)```", (DOCS / "recording.md").read_text(), re.DOTALL)


def closed(schema: Any) -> Any:
    """The schema with no key allowed beyond those it names."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(part) for key, part in schema.items()}
    return {**parts, "additionalProperties": False} if schema.get("type") == "object" else parts


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample script, recorded in full detail."""
    path = tmp_path_factory.mktemp("docs") / "hooks.gscope"
    script = ROOT / "sample_scripts" / "hooks.py"
    command = [sys.executable, "-W", "ignore", "-m", "gradscope", "trace", "-q", "--detail", "full", "-o", path, script]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    return path


def test_generated_parts_are_up_to_date(generate: ModuleType) -> None:
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    assert [page.name for page, text in texts.items() if generate.filled(text) != text] == [], "run: make docs"


def test_every_command_has_a_page_with_its_options() -> None:
    pages = {command: (DOCS / f"{command}.md").read_text() for command in COMMANDS}
    assert [one for one, text in pages.items() if f"<!-- generated: usage {one} -->" not in text] == []


def test_every_format_has_a_row() -> None:
    page = (DOCS / "graph.md").read_text()
    assert [format for format in FORMATS if f"| `{format}` | `{FORMATS[format].suffix}` |" not in page] == []


def test_links_between_pages_lead_somewhere() -> None:
    links = [(page, link) for page in MARKDOWN for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8"))]
    assert [(page.name, link) for page, link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize(
    "graph",
    [by_hand.small(), by_hand.transformer(2), by_hand.hostile(), by_hand.measured([], [])],
    ids=["small", "transformer", "hostile", "empty"],
)
def test_json_is_what_the_schema_says(graph: Any) -> None:
    page = json.loads(FORMATS["json"].render(by_hand.scene(graph)))
    jsonschema.Draft202012Validator(closed(SCHEMA)).validate(page)


def test_json_of_a_real_run_is_what_the_schema_says(recording: Path) -> None:
    command = [sys.executable, "-m", "gradscope", "graph", "-q", "--fmt", "json", recording]
    page = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)
    assert page["firings"]
    jsonschema.Draft202012Validator(closed(SCHEMA)).validate(page)


def test_the_page_has_queries() -> None:
    assert len(QUERIES) >= 3


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_queries_find_something(query: str, recording: Path) -> None:
    connection = sqlite3.connect(recording)
    assert connection.execute(query).fetchall()
    connection.close()
