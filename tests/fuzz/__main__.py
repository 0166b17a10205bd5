"""Runs the targets for a while each, one on each core: ``python -m tests.fuzz [TARGET …] --duration 1m``.

Exits with 1 when an input broke one; the input is then in ``tests/fuzz/corpus/TARGET``, so that the suite fails until
it is fixed. ``--keep`` also keeps inputs there that reach lines which those in it do not.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.fuzz.targets import CORPUS, names

ROOT = Path(__file__).parents[2]
_LINES_OF_LOG = 40
_UNITS = {"s": 1, "m": 60, "h": 3600}
_RUNS = re.compile(r"stat::number_of_executed_units: (\d+)")


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"all when absent: {', '.join(names())}")
    parser.add_argument("--duration", default="1m", type=_seconds, help="of each target, as 30s, 1m or 8h")
    parser.add_argument("--seed", default=0, type=int, help="of what is drawn; another one each time when absent")
    parser.add_argument("--keep", action="store_true", help="keep inputs that reach new lines")
    options = parser.parse_args()
    unknown = {*options.targets} - {*names()}
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: expected some of {', '.join(names())}")
    run = partial(_run, seconds=options.duration, seed=options.seed, keep=options.keep)
    chosen = options.targets or names()
    with ThreadPoolExecutor(os.cpu_count()) as cores:
        broken = [name for name, held in zip(chosen, cores.map(run, chosen), strict=True) if not held]
    for name in broken:  # at the end once more: of a long output its end alone may be kept
        print(f"{name} BROKEN; the end of {_log_of(name).relative_to(ROOT)}:\n{_end_of(_log_of(name))}")
    return 1 if broken else 0


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+)([smh])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number with s, m or h")
    return int(found[1]) * _UNITS[found[2]]


def _log_of(name: str) -> Path:
    return ROOT / "build" / "fuzz" / name / "log"


def _end_of(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-_LINES_OF_LOG:])


def _run(name: str, seconds: float, seed: int, *, keep: bool) -> bool:
    """Whether nothing broke it."""
    folder = _log_of(name).parent
    folder.mkdir(parents=True, exist_ok=True)
    with _log_of(name).open("w+") as log:
        command = [sys.executable, "-m", "tests.fuzz.one", name, str(seconds), str(folder), str(seed)]
        status = subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT).returncode
        log.seek(0)
        text = log.read()
    runs = _RUNS.findall(text)
    rate = f"{int(runs[-1]) / seconds:.0f}/s" if runs else "?"
    result = "ok" if status == 0 else "BROKEN"
    print(f"{name:16} {runs[-1] if runs else '?':>10} inputs  {rate:>9}  {result}", flush=True)
    for crash in (path for pattern in ("crash-*", "timeout-*", "oom-*") for path in folder.glob(pattern)):
        (CORPUS / name).mkdir(parents=True, exist_ok=True)
        place = Path(shutil.move(crash, CORPUS / name / crash.name))
        print(f"  {place.relative_to(ROOT)}; traceback in {(folder / 'log').relative_to(ROOT)}", flush=True)
    if keep:
        subprocess.run([sys.executable, "-m", "tests.fuzz.keep", name, str(folder / "corpus")], cwd=ROOT, check=True)
    return status == 0


if __name__ == "__main__":
    raise SystemExit(main())
