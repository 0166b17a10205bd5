"""Configuration of a source of one Kubernetes cluster's jobs and nodes."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from common.tls import TlsConfig
from ingest.collectors.document_address import check_address
from ingest.collectors.exposition.config import Authorization


class Config(BaseModel):
    """The page of kube-state-metrics, such as http://kube-state-metrics.kube-system:8080/metrics"""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field("kubernetes", min_length=1, description="The target's name, and the source of the facts.")
    url: Annotated[str, AfterValidator(check_address)] = Field(
        pattern=r"^https?://[^\s@]+$", description="Of kube-state-metrics."
    )
    tls_config: TlsConfig = TlsConfig()
    authorization: Authorization | None = Field(None, description="A token, as kube-rbac-proxy wants it.")
    gpu_resources: tuple[str, ...] = Field(
        ("nvidia_com_gpu", "amd_com_gpu"), min_length=1, description="Resources that are whole GPUs."
    )
    interval_s: float = Field(30.0, gt=0, description="How often it is asked.")
    timeout_s: float = Field(10.0, gt=0, description="Deadline of one answer, all of it.")
    body_bytes_max: int = Field(64 << 20, gt=0, description="Of the page as sent.")
    decoded_bytes_max: int = Field(256 << 20, gt=0, description="Of the page unpacked.")

    @property
    def job_name(self) -> str:
        return self.name
