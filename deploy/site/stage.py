"""Gathers what the site shows, where the repository has it: every page, and every file that a page links to.

``python deploy/site/stage.py FOLDER``. Links stay as they are, so they work here, there and on code hosts.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
NO_PAGES = ("tests/data/",)
"""Folders whose texts are about files that the site does not have."""
_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """All that git has or would take, relative to the repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [Path(name) for name in found if not name.startswith(NO_PAGES) and (ROOT / name).exists()]


def linked(page: Path) -> Iterator[Path]:
    """Files of the repository that the page links to or shows."""
    for link in _LINK.findall(_CODE.sub("", (ROOT / page).read_text())):
        target = (ROOT / page).parent / link
        if ":" not in link and target.is_file():
            yield target.resolve().relative_to(ROOT)


def stage(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    own = pages()
    for path in {*own, *(target for page in own for target in linked(page))}:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, folder / path)


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
