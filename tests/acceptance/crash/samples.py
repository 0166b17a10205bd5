"""What a sample of a numbered page is: its value says which page of which target it was on."""

from typing import NamedTuple

SERIES = 8
METRIC = "node_network_receive_bytes_total"
_NUMBERS = 2**32


class Sample(NamedTuple):
    """Series ``series`` of page ``number`` of target ``target``; numbers begin with 1."""

    target: int
    series: int
    number: int

    @property
    def page(self) -> tuple[int, int]:
        return self.target, self.number


UNREADABLE = Sample(-1, -1, -1)  # a value that no page has under these labels


def device_of(target: int) -> str:
    return f"numbered{target}"


def interface_of(series: int) -> str:
    return f"eth{series}"


def value_of(sample: Sample) -> int:
    """Below 2^53, so that a float holds it exactly."""
    return (sample.target * SERIES + sample.series) * _NUMBERS + sample.number


def sample_of(device: str, interface: str, value: float) -> Sample:
    """UNREADABLE when the labels and the value do not agree."""
    if not value.is_integer() or value < 0:
        return UNREADABLE
    series, number = divmod(int(value), _NUMBERS)
    found = Sample(*divmod(series, SERIES), number)
    return found if (device, interface) == (device_of(found.target), interface_of(found.series)) else UNREADABLE
