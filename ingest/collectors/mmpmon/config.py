"""Configuration of a host whose Storage Scale is asked by mmpmon."""

from pydantic import Field

from ingest.collectors.command_config import CommandConfig


class Config(CommandConfig):
    """``mmpmon -p -s -i`` with a file of requests (``fs_io_s``), or a file with what it prints."""

    name: str = Field("mmpmon", min_length=1, description="First part of the target's name.")
    device: str = Field(min_length=1, description="The host on which it runs.")
    hosts: dict[str, str] = Field(
        {}, description="Devices by their names in Storage Scale, where it answers for several nodes (nlist)."
    )

    @property
    def job_name(self) -> str:
        return self.name
