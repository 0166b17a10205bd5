"""One analytics stage as a process, for the tests that stop it: ``python -m … BUS_SETTINGS ANALYTICS_SETTINGS``.

Its exit status is 3 when a newer process has replaced it.
"""

import asyncio
import contextlib
import signal
import sys

from analytics.config import AnalyticsConfig
from analytics.service import AnalyticsService
from bus.config import BusConfig
from bus.open import open_bus
from common.errors import Superseded


async def main(bus_config: BusConfig, config: AnalyticsConfig) -> int:
    """Until SIGTERM, or until it is replaced."""
    bus = open_bus(bus_config)
    await bus.start()
    service = AnalyticsService(config, bus)
    await service.start()
    ends = asyncio.create_task(service.wait())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ends.cancel)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await ends
    except Superseded as error:
        print(service.problem(), error, sep="\n", flush=True)
        return 3
    finally:
        await service.stop()
        await bus.stop()
    return 0


if __name__ == "__main__":
    settings = BusConfig.model_validate_json(sys.argv[1]), AnalyticsConfig.model_validate_json(sys.argv[2])
    sys.exit(asyncio.run(main(*settings)))
