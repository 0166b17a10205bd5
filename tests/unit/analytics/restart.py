"""A restart of the engine alone."""

from pathlib import Path
from tempfile import TemporaryDirectory

from analytics.engine import Engine
from analytics.snapshot import snapshot
from analytics.snapshot.snapshot import Loaded, Mark

MARK = Mark({("fabricscope.samples.v1", 0): 17}, 123)


def restarted(engine: Engine, new: Engine) -> Engine:
    """``new``, gone on from a snapshot of the other."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "analytics.snapshot")
        snapshot.save(path, engine, MARK)
        assert snapshot.load(path, new) == Loaded(MARK, {}, ())
    return new


def saved(engine: Engine) -> bytes:
    """Its snapshot."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "analytics.snapshot")
        snapshot.save(path, engine, MARK)
        return path.read_bytes()
