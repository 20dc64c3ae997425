"""Takes a picture of a page: `python docs/screenshot.py PAGE LINK PICTURE`, with Chromium and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

WINDOW = "1280,800"


def main() -> None:
    """Take it, or say what is missing."""
    page, link, picture = sys.argv[1:]
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit(f"{picture} is not drawn: it needs the browser `chromium`")
    options = ["--headless", "--hide-scrollbars", "--force-prefers-reduced-motion", "--virtual-time-budget=5000"]
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    address = Path(page).resolve().as_uri() + link
    command = [program, *options, f"--window-size={WINDOW}", f"--screenshot={Path(picture).resolve()}", address]
    subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    main()
