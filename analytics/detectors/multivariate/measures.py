"""The measures of each kind of device, each one metric or a ratio of two; see docs/multivariate.md."""

from dataclasses import dataclass
from enum import StrEnum

from telemetry.objects import ObjectKind
from telemetry.selectors import Selector, before_fec, reads, received, sent, writes


class Fold(StrEnum):
    """How the series of one device become one number."""

    SUM = "sum"
    MEAN = "mean"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Part:
    """The series of one metric that belong to a device, as one number. selector: chooses by labels."""

    metric: str
    fold: Fold = Fold.MEAN
    selector: Selector | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """name: as evidence shows it. under: what ``over`` is divided by.

    by_factor: compared as a factor (logarithm) and not as a difference.
    least: added before the logarithm, and to the divisor: below that values are noise.
    floor: least standard deviation that is assumed, as a difference or as a share of the value.
    """

    name: str
    unit: str
    over: Part
    floor: float
    under: Part | None = None
    by_factor: bool = False
    least: float = 0.0


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of device. objects: what its findings are about; the series may be of its parts, such as a host's GPUs.

    The first measure sets the pace: a device is judged when that has a new value, and exists where that has series.
    """

    name: str
    objects: ObjectKind
    measures: tuple[Measure, ...]

    @property
    def works_in_jobs(self) -> bool:
        """Whether devices of one job are peers of each other."""
        return self.objects in (ObjectKind.GPU, ObjectKind.DEVICE)


def _gauge(metric: str, unit: str, floor: float, fold: Fold = Fold.MEAN, selector: Selector | None = None) -> Measure:
    return Measure(metric, unit, Part(metric, fold, selector), floor)


def _factor(
    metric: str, unit: str, floor: float, least: float, fold: Fold = Fold.SUM, selector: Selector | None = None
) -> Measure:
    name = metric if selector is None else f"{metric} ({selector.__name__.replace('_', ' ')})"
    return Measure(name, unit, Part(metric, fold, selector), floor, by_factor=True, least=least)


def _ratio(name: str, unit: str, over: Part, under: Part, floor: float, least: float) -> Measure:
    return Measure(name, unit, over, floor, under, by_factor=True, least=least)


def definition(kind: Kind) -> str:
    """What the inputs of a kind are, in their order, as text."""

    def text(part: Part | None) -> str:
        selector = part.selector.__name__ if part and part.selector else ""
        return f"{part.fold}({part.metric} {selector})" if part else "1"

    measures = (f"{text(one.over)}/{text(one.under)} {one.by_factor} {one.least} {one.floor}" for one in kind.measures)
    return "; ".join(measures)


_POWER, _SM = Part("gpu_power_watts"), Part("gpu_sm_active_ratio")
_TENSOR, _TEMPERATURE = Part("gpu_tensor_active_ratio"), Part("gpu_temperature_celsius")
_PORT_SENT = Part("fabric_port_transmit_bytes_total", Fold.SUM)
_NIC_SENT = Part("ib_port_transmit_bytes_total", Fold.SUM)

GPU = Kind(
    "gpu",
    ObjectKind.GPU,
    (
        _factor("gpu_power_watts", "watts", 0.03, 1.0, Fold.MEAN),
        _gauge("gpu_temperature_celsius", "celsius", 1.0),
        _gauge("gpu_memory_temperature_celsius", "celsius", 1.0),
        _factor("gpu_sm_clock_hertz", "hertz", 0.01, 1.0, Fold.MEAN),
        _gauge("gpu_utilization_ratio", "ratio", 0.05),
        _gauge("gpu_sm_active_ratio", "ratio", 0.03),
        _gauge("gpu_tensor_active_ratio", "ratio", 0.03),
        _gauge("gpu_memory_bandwidth_active_ratio", "ratio", 0.03),
        _factor("gpu_nvlink_bytes_per_second", "bytes/s", 0.1, 1e9),
        _ratio("power per SM activity", "watts", _POWER, _SM, 0.05, 0.05),
        _ratio("temperature per power", "celsius/watt", _TEMPERATURE, _POWER, 0.03, 1.0),
        _ratio("tensor activity per SM activity", "ratio", _TENSOR, _SM, 0.05, 0.05),
    ),
)

HOST = Kind(
    "host",
    ObjectKind.DEVICE,
    (
        _factor("gpu_power_watts", "watts", 0.03, 1.0, Fold.MEAN),
        _gauge("gpu_temperature_celsius", "celsius", 1.0),
        _gauge("gpu_tensor_active_ratio", "ratio", 0.03),
        _factor("node_load_1m", "processes", 0.1, 1.0),
        _factor("node_memory_available_bytes", "bytes", 0.02, 1e9),
        _factor("ib_port_transmit_bytes_total", "bytes/s", 0.1, 1e8),
        _factor("ib_port_receive_bytes_total", "bytes/s", 0.1, 1e8),
        _factor("rdma_cnp_sent_total", "packets/s", 0.5, 100.0),
        _factor("rdma_out_of_sequence_total", "packets/s", 0.5, 10.0),
        _gauge("nic_pcie_stalled_ratio", "ratio", 0.02, Fold.MAX),
        _gauge("nic_pfc_pause_seconds_total", "seconds/s", 0.01, Fold.MAX, received),
        _ratio("busiest NIC per all NICs", "ratio", Part(_NIC_SENT.metric, Fold.MAX), _NIC_SENT, 0.05, 1e8),
        _ratio("NIC bytes per tensor activity", "bytes/s", _NIC_SENT, _TENSOR, 0.1, 0.02),
    ),
)

PORT = Kind(
    "port",
    ObjectKind.PORT,
    (
        _factor("fabric_port_transmit_bytes_total", "bytes/s", 0.1, 1e8),
        _factor("fabric_port_receive_bytes_total", "bytes/s", 0.1, 1e8),
        _factor("fabric_queue_ecn_marked_packets_total", "packets/s", 0.5, 100.0),
        _factor("fabric_port_pfc_pause_frames_total", "frames/s", 0.5, 100.0, Fold.SUM, received),
        _factor("fabric_port_pfc_pause_frames_total", "frames/s", 0.5, 100.0, Fold.SUM, sent),
        _factor("fabric_port_bit_error_ratio", "ratio", 0.3, 1e-12, Fold.MAX, before_fec),
        _factor("fabric_port_fec_corrected_codewords_total", "codewords/s", 0.3, 10.0),
        _gauge("fabric_port_optical_power_dbm", "dbm", 0.1, Fold.MEAN, received),
        _factor("fabric_port_laser_bias_amperes", "amperes", 0.02, 1e-4, Fold.MEAN),
        _gauge("fabric_transceiver_temperature_celsius", "celsius", 1.0),
        _factor("fabric_queue_occupancy_peak_bytes", "bytes", 0.3, 1e5, Fold.MAX),
        _ratio(
            "marks per byte sent",
            "packets/byte",
            Part("fabric_queue_ecn_marked_packets_total", Fold.SUM),
            _PORT_SENT,
            0.5,
            1e8,
        ),
    ),
)

_OPERATIONS = Part("storage_operations_total", Fold.SUM)


def _service_time(name: str, selector: Selector) -> Measure:
    seconds = Part("storage_operation_duration_seconds_sum", Fold.SUM, selector)
    count = Part("storage_operation_duration_seconds_count", Fold.SUM, selector)
    return _ratio(name, "seconds", seconds, count, 0.1, 1.0)


STORAGE_TARGET = Kind(
    "storage_target",
    ObjectKind.STORAGE_TARGET,
    (
        _factor("storage_read_bytes_total", "bytes/s", 0.2, 1e7),
        _factor("storage_written_bytes_total", "bytes/s", 0.2, 1e7),
        _factor("storage_operations_total", "operations/s", 0.2, 10.0, Fold.SUM, reads),
        _factor("storage_operations_total", "operations/s", 0.2, 10.0, Fold.SUM, writes),
        _service_time("time per read", reads),
        _service_time("time per write", writes),
    ),
)

KINDS = {kind.name: kind for kind in (GPU, HOST, PORT, STORAGE_TARGET)}
