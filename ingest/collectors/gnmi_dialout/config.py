"""Configuration of dial-out receivers: one entry of ``gnmi_dialout_receivers`` is one address that we listen on."""

from pydantic import Field

from ingest.collectors.dialled_config import DialledConfig
from ingest.collectors.gnmi.config import Source
from ingest.collectors.receiver_config import ADDRESS


class Config(DialledConfig):
    """One receiver."""

    job_name: str = Field("dialout", min_length=1, description="First part of the targets' names.")
    listen: str = Field("0.0.0.0:8081", pattern=ADDRESS, description="host:port or [IPv6]:port; port 0: a free one.")
    source: Source = Field(Source.SONIC, description="Whose paths are used: sonic, openconfig, arista, junos or cisco.")
