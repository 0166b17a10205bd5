"""A process whose files may not grow for a while, with its bus away: is anything lost? Argument: folder.

Prints how many batches it had, how many it published in the end, and whether they were in order.
"""

import asyncio
import resource
import signal
import sys
from pathlib import Path

from ingest.config import PublishConfig
from ingest.ledger import Ledger
from ingest.publish import Publisher
from tests.unit.ingest.flaky_bus import FlakyBus, batch, feed
from tests.waiting import until


async def main(folder: str) -> None:
    bus, ledger = FlakyBus(), Ledger(0)
    bus.unavailable = True
    spool = {"folder": Path(folder), "after_s": 0.01, "free_bytes_min": 0}
    publisher = Publisher(PublishConfig.model_validate({"spool": spool}), bus, ledger)
    await publisher.start()
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    fed = 0
    while publisher.problem() is None:
        feed(publisher, ledger, [batch(fed, rows=5000)])
        fed += 1
        await asyncio.sleep(0.01)
    feed(publisher, ledger, [batch(fed, rows=5000)])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await until(lambda: publisher.problem() is None)
    bus.unavailable = False
    await until(lambda: publisher.queued == 0)
    assert ledger.report("i", 0, publisher.queued, {}).balance == 0
    assert ledger.unaccounted == 0
    await publisher.stop()
    sequences = bus.sequences()
    print(fed + 1, len(sequences), sequences == list(range(fed + 1)))


signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
asyncio.run(main(sys.argv[1]))
