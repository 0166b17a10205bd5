"""SONiC's dial-out: switches call Publish and stream SubscribeResponses, which are read as those of gNMI jobs."""

from ingest.collectors.base import CollectorContext
from ingest.collectors.dialled import DialledReceiver, Service
from ingest.collectors.gnmi.decode.decoder import Decoder, warm_up
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.collectors.gnmi_dialout.config import Config
from ingest.collectors.unmapped_settings import kept_max

METHOD = "/gnmi.sonic.gNMIDialOut/Publish"


def dialout_receiver(config: Config, context: CollectorContext, links: LinkTable) -> DialledReceiver:
    """One address that SONiC switches dial."""
    naming = Naming((config.source, "openconfig"), kept_max(config))

    def decoder(target: str, device: str) -> Decoder:
        return Decoder(target, device, naming, config.limits.series_max)

    return DialledReceiver(config, Service(METHOD, lambda: _of_sender, decoder, warm_up), context, links)


def _of_sender(message: bytes) -> tuple[str, bytes]:
    """A SubscribeResponse does not say whose it is."""
    return "", message
