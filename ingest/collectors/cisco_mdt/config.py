"""Configuration of MDT receivers: one entry of ``cisco_mdt_receivers`` is one address that we listen on."""

from enum import StrEnum

from pydantic import Field

from ingest.collectors.dialled_config import DialledConfig
from ingest.collectors.receiver_config import ADDRESS


class DeviceFrom(StrEnum):
    NODE_ID = "node_id"  # the host name in each message
    SENDER = "sender"  # the certificate or the address


class Config(DialledConfig):
    """One receiver."""

    job_name: str = Field("mdt", min_length=1, description="First part of the targets' names.")
    listen: str = Field("0.0.0.0:57500", pattern=ADDRESS, description="host:port or [IPv6]:port; port 0: a free one.")
    device_from: DeviceFrom = Field(
        DeviceFrom.SENDER,
        description="sender: the name in its certificate, else its address. node_id: the host name in each message, "
        "with which any sender can speak for any device.",
    )
