"""One alerts stage as a process, for the tests that kill it: ``python -m … BUS_FILE CONFIG_FILE``."""

import asyncio
import sys
from pathlib import Path

from alerts.config import AlertingConfig
from alerts.service import AlertsService
from bus.config import EmbeddedConfig
from bus.embedded.bus import EmbeddedBus


async def main(bus_file: Path, config: AlertingConfig) -> None:
    """Until it is killed."""
    bus = EmbeddedBus(EmbeddedConfig(path=bus_file))
    await bus.start()
    service = AlertsService(config, bus)
    await service.start()
    print("started", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), AlertingConfig.model_validate_json(Path(sys.argv[2]).read_text())))
