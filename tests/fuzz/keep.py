"""Keeps the smallest inputs of a folder that reach lines which those that are kept already do not reach:
``python -m tests.fuzz.keep TARGET FOLDER``.
"""

import hashlib
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.fuzz.one import PRODUCT
from tests.fuzz.targets import CORPUS, Target, load

_BYTES_MAX = 20_000
Steps = set[tuple[CodeType, int, int]]


def main(name: str, folder: Path) -> None:
    target = load(name)
    target.run(target.inputs[0])  # compiles and caches
    reached: Steps = set()
    for data in target.inputs:
        reached |= _steps(target, data)
    room = _BYTES_MAX - sum(path.stat().st_size for path in (CORPUS / name).glob("*"))
    for path in sorted(folder.iterdir(), key=lambda path: (path.stat().st_size, path.name)):
        data = path.read_bytes()
        new = _steps(target, data) - reached
        if new and len(data) <= room:
            room -= len(data)
            reached |= new
            (CORPUS / name).mkdir(parents=True, exist_ok=True)
            (CORPUS / name / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


def _steps(target: Target, data: bytes) -> Steps:
    """From line to line of the product."""
    steps: Steps = set()

    def of_call(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in PRODUCT:
            return None
        before = 0

        def of_line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal before
            steps.add((frame.f_code, before, frame.f_lineno))
            before = frame.f_lineno
            return of_line

        return of_line

    sys.settrace(of_call)
    try:
        target.run(data)
    except Exception:  # it is found by the run itself
        pass
    finally:
        sys.settrace(None)
    return steps


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
