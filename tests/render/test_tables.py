"""Tables as text, JSON, CSV and svg."""

import csv
import io
import json
from xml.etree import ElementTree

import pytest

from gradscope.errors import UsageError
from gradscope.model.table import Column, Table, Unit
from gradscope.render.tables import TABLE_FORMATS, Page, choose
from gradscope.view.sparkline import BARS, sparkline
from tests.by_hand import HOSTILE

COLUMNS = (
    Column("line", Unit.PLACE),
    Column("own", Unit.SECONDS),
    Column("share", Unit.SHARE),
    Column("bytes", Unit.BYTES),
    Column("norms", Unit.CURVE, "the norms"),
)
ROWS = (("/project/a.py:3", 0.5, 0.25, 2000, "1 10 100"), ("/lib/b.py:4 (accumulating)", None, 0.75, None, "nan"))
TABLE = Table("times", COLUMNS, ROWS, ("a note",))


def page(*tables):
    return Page("run.gscope", tables or (TABLE,), "/project", 120)


def test_text_has_words_for_numbers_and_short_places():
    lines = TABLE_FORMATS["text"].render(page()).splitlines()
    assert lines[2].split() == ["a.py:3", "500", "ms", "25.0%", "2.0", "kB", "▁▅█"]
    assert lines[3].split() == ["b.py:4", "(accumulating)", "-", "75.0%", "-", "!"]
    assert lines[-1] == "a note"


def test_a_note_that_is_wider_than_the_page_goes_on_in_the_next_line():
    narrow = Page("run.gscope", (Table("times", COLUMNS, ROWS, ("a note of several words, " * 9,)),), "/project", 80)
    notes = [line for line in TABLE_FORMATS["text"].render(narrow).splitlines() if "words" in line]
    assert len(notes) > 1
    assert max(map(len, notes)) <= 80


def test_an_empty_table_says_so():
    assert "nothing to show" in TABLE_FORMATS["text"].render(page(Table("hooks", COLUMNS, ())))


def test_json_has_the_values_as_they_are():
    content = json.loads(TABLE_FORMATS["json"].render(page()))
    assert content["format"] == 1
    assert content["times"]["rows"][0] == dict(zip(TABLE.names, ROWS[0], strict=True))


def test_csv_reads_back():
    rows = list(csv.reader(io.StringIO(TABLE_FORMATS["csv"].render(page()))))
    assert rows == [
        list(TABLE.names),
        ["" if value is None else str(value) for value in ROWS[0]],
        ["/lib/b.py:4 (accumulating)", "", "0.75", "", "nan"],
    ]


def test_svg_draws_a_line_for_each_curve():
    root = ElementTree.fromstring(TABLE_FORMATS["svg"].render(page()))
    assert len(root.findall("{http://www.w3.org/2000/svg}polyline")) == 1


def test_a_table_without_curves_cannot_be_drawn():
    with pytest.raises(UsageError):
        TABLE_FORMATS["svg"].render(page(Table("hooks", COLUMNS[:2], ())))


@pytest.mark.parametrize("name", TABLE_FORMATS)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_stay_text(name, text):
    written = TABLE_FORMATS[name].render(
        page(Table("grads", (Column("parameter"), Column("n", Unit.CURVE)), ((text, "1 2"),)))
    )
    if name == "svg":
        ElementTree.fromstring(written)
    if name in ("svg", "text"):
        assert "\x1b" not in written


def test_the_format_follows_the_outputs_suffix():
    assert (choose(None, "x.csv").name, choose(None, None).name, choose("json", "x.csv").name) == (
        "csv",
        "text",
        "json",
    )


def test_rows_sort_by_a_column_and_unknown_values_stand_last():
    assert [row[0] for row in TABLE.sorted_by("own").rows] == [ROWS[0][0], ROWS[1][0]]
    assert TABLE.sorted_by("share").rows[0] == ROWS[1]


def test_the_rest_is_counted():
    assert TABLE.top(1).notes[-1] == "1 more row: --top 2 shows all"


def test_a_sparkline_shows_the_worst_of_a_stretch():
    assert sparkline([1.0] * 63 + [float("nan")], most=4) == "▅▅▅!"
    assert sparkline([0.0, 0.0]) == BARS[0] * 2
