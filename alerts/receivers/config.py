"""Settings that all receivers over HTTP share."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator


class HttpConfig(BaseModel):
    """How a receiver is reached over HTTP. Secrets stand in files, which are read again for each request."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    url: str = Field(default="", description="http:// or https:// address.", pattern=r"^(https?://.*)?$", repr=False)
    url_file: Path | None = Field(default=None, description="File that holds the address, when it is a secret.")
    timeout_s: float = Field(default=10.0, gt=0, le=120, description="Deadline of one request, all of it.")
    bearer_token_file: Path | None = Field(default=None, description="File with a token for Authorization: Bearer.")
    ca_file: Path | None = Field(default=None, description="Certificates to trust instead of the system's.")

    @model_validator(mode="after")
    def _one_address(self) -> "HttpConfig":
        if bool(self.url) == (self.url_file is not None):
            raise ValueError("give either url or url_file")
        return self
