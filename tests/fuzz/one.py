"""One target in a process of its own: ``python -m tests.fuzz.one TARGET SECONDS FOLDER SEED``; 0 draws a seed.

With atheris coverage guides the mutations, and inputs that reach something new are put into ``FOLDER/corpus``. Without
it they are blind. The first input that breaks the target is put into ``FOLDER`` as ``crash-…``.
"""

import contextlib
import faulthandler
import hashlib
import importlib.util
import itertools
import resource
import signal
import sys
import time
from pathlib import Path

from tests.fuzz.mutate import mutations
from tests.fuzz.targets import INPUT_BYTES_MAX, Target, load

PRODUCT = ("alerts", "bus", "common", "export", "fabricscope", "ingest", "recordings", "telemetry")
_HUNG_S = 120  # of wall time, so that of a machine that is busy too
_MEMORY_BYTES_MAX = 4 << 30
_ROOT = Path(__file__).parents[2]


def main(name: str, seconds: float, folder: Path, seed: int) -> None:
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    if importlib.util.find_spec("atheris"):
        _guided(name, seconds, folder, seed)
    else:
        _blind(name, seconds, folder, seed or time.time_ns())


def _guided(name: str, seconds: float, folder: Path, seed: int) -> None:
    import atheris

    # numba compiles these, and knows nothing of what counts coverage
    with atheris.instrument_imports(include=list(PRODUCT), exclude=_compiled_modules(), enable_loader_override=False):
        target = load(name)
    _compile_all(target)
    for data in target.inputs:
        (folder / "corpus" / hashlib.sha1(data).hexdigest()).write_bytes(data)
    options = [
        f"-max_total_time={seconds:.0f}",
        f"-seed={seed}",
        f"-max_len={INPUT_BYTES_MAX}",
        f"-timeout={_HUNG_S}",
        "-rss_limit_mb=4096",
        "-print_final_stats=1",
        "-verbosity=0",
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup([name, *options, str(folder / "corpus")], target.run)
    atheris.Fuzz()


def _compile_all(target: Target) -> None:
    """What is compiled on its first call is, before an input's time counts. What breaks here breaks again there."""
    for data in (b"", *target.inputs):
        with contextlib.suppress(Exception):
            target.run(data)


def _compiled_modules() -> list[str]:
    """Those with functions for numba."""
    files = [path for package in PRODUCT for path in (_ROOT / package).rglob("*.py")]
    names = [".".join(path.relative_to(_ROOT).with_suffix("").parts) for path in files if "jit" in path.read_text()]
    return [name.removesuffix(".__init__") for name in names]


def _blind(name: str, seconds: float, folder: Path, seed: int) -> None:
    target = load(name)
    _compile_all(target)
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES_MAX, _MEMORY_BYTES_MAX))
    faulthandler.register(signal.SIGALRM, chain=True)  # shows where it hangs, and ends
    begin = time.monotonic()
    for runs, data in enumerate(itertools.chain(target.inputs, mutations(target.inputs, seed))):
        if time.monotonic() - begin > seconds:
            print(f"stat::number_of_executed_units: {runs}")
            return
        signal.alarm(_HUNG_S)
        (folder / "running").write_bytes(data)
        try:
            target.run(data)
        except BaseException:
            (folder / "running").rename(folder / f"crash-{hashlib.sha1(data).hexdigest()}")
            raise


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
