"""Cisco's dial-out: switches call MdtDialout and stream Telemetry messages."""

from ingest.collectors.base import CollectorContext
from ingest.collectors.cisco_mdt.config import Config
from ingest.collectors.cisco_mdt.decode.decoder import Decoder, warm_up
from ingest.collectors.cisco_mdt.messages import Chunks
from ingest.collectors.dialled import DialledReceiver, Service
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.unmapped_settings import kept_max

METHOD = "/mdt_dialout.gRPCMdtDialout/MdtDialout"


def mdt_receiver(config: Config, context: CollectorContext, links: LinkTable) -> DialledReceiver:
    """One address that Cisco switches dial."""
    naming = Naming(("cisco", "openconfig"), kept_max(config))

    def unwrap() -> Chunks:
        return Chunks(config.device_from, config.limits.message_bytes_max)

    def decoder(target: str, device: str) -> Decoder:
        return Decoder(target, device, naming, config.limits.series_max)

    return DialledReceiver(config, Service(METHOD, unwrap, decoder, warm_up), context, links)
