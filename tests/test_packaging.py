"""What a wheel holds, and that every kind of install carries the line that makes GRADSCOPE_TRACE work."""

import os
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent.parent
AUTOSTART = "gradscope_autostart.pth"


def build(directory, version):
    """A wheel of this checkout, as pip builds it: `standard`, or `editable` for `pip install -e`."""
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(directory), versions=[version])
    return zipfile.ZipFile(wheel)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    with build(tmp_path_factory.mktemp("wheel"), "standard") as opened:
        yield opened


def test_wheel_holds_every_module(wheel):
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "gradscope").rglob("*.py")}
    assert modules <= set(wheel.namelist())


def test_wheel_holds_the_files_of_the_page(wheel):
    assets = {str(path.relative_to(ROOT)) for path in (ROOT / "gradscope" / "render" / "assets").iterdir()}
    assert len(assets) > 10
    assert assets <= set(wheel.namelist())


def test_wheel_holds_only_the_package(wheel):
    tops = {name.partition("/")[0] for name in wheel.namelist() if ".dist-info" not in name}
    assert tops == {"gradscope", AUTOSTART}


def test_wheel_says_that_it_is_typed(wheel):
    assert "gradscope/py.typed" in wheel.namelist()


def test_wheel_requires_four_packages_and_no_more(wheel):
    (path,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    requirements = message_from_string(wheel.read(path).decode()).get_all("Requires-Dist")
    assert {each for each in requirements if "extra ==" not in each} == {"click", "graphviz", "rich", "torch>=2.9"}


@pytest.mark.parametrize("version", ["standard", "editable"])
def test_every_install_carries_the_autostart_line(version, tmp_path):
    with build(tmp_path, version) as opened:
        assert opened.read(AUTOSTART).decode() == (ROOT / AUTOSTART).read_text()


def test_editable_install_finds_the_package_before_it_runs_the_autostart_line(tmp_path):
    with build(tmp_path, "editable") as opened:  # python runs .pth files in the order of their names
        first, second = sorted(name for name in opened.namelist() if name.endswith(".pth"))
        assert opened.read(first).decode() == str(ROOT)
    assert second == AUTOSTART


@pytest.mark.parametrize(
    ("environment", "printed"),
    [({}, "not loaded"), ({"GRADSCOPE_TRACE": ""}, "not loaded"), ({"GRADSCOPE_TRACE": "run.gscope"}, "loaded")],
)
def test_autostart_line_loads_gradscope_only_when_asked(environment, printed, tmp_path):
    (tmp_path / "gradscope").mkdir()
    (tmp_path / "gradscope" / "__init__.py").touch()
    (tmp_path / "gradscope" / "autostart.py").touch()
    (tmp_path / AUTOSTART).write_text((ROOT / AUTOSTART).read_text())
    program = f"""
import site, sys
sys.path.insert(0, {str(tmp_path)!r})
site.addsitedir({str(tmp_path)!r})
print("loaded" if "gradscope.autostart" in sys.modules else "not loaded")
"""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GRADSCOPE_")}
    command = [sys.executable, "-S", "-c", program]
    result = subprocess.run(command, env=plain | environment, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == printed
