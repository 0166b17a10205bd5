"""From the XML of ``nvidia-smi -q -x`` to named samples. Pure.

A name is the path below ``<gpu>``, ``temperature/gpu_temp``, with ``mig/`` before what is of a MIG device. Values are
texts with a unit, which are brought to base units here: drivers change units and move elements. Its labels: ``gpu``
(the UUID), ``index`` (place in the document), ``pci_bus_id``, ``model``, ``serial``, ``driver``, ``instance``.

The document has a DOCTYPE that names a file, which is not read; one that defines entities is refused.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from common.errors import BadInput
from ingest.collectors.canonical_samples import SourceSample

_DEPTH_MAX, _ELEMENTS_MAX, _TEXT_CHARS_MAX = 12, 200_000, 256
_ROOT, _GPU, _MIG = "nvidia_smi_log", "gpu", "mig_devices/mig_device"
_SCALES = {
    "": 1.0, "W": 1.0, "C": 1.0, "bank(s)": 1.0, "mW": 1e-3,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "KB/s": 1e3, "MB/s": 1e6,
    "MHz": 1e6, "%": 0.01, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "mV": 1e-3,
}  # fmt: skip
_WORDS = {"active": 1.0, "not active": 0.0, "yes": 1.0, "no": 0.0, "enabled": 1.0, "disabled": 0.0}
_NO_VALUE = frozenset({"", "n/a", "[n/a]", "not supported", "[not supported]", "unknown error", "[unknown error]"})
_LABELS = {"uuid": "gpu", "product_name": "model", "serial": "serial", "pci/pci_bus_id": "pci_bus_id"}
_LEFT_OUT = frozenset({"supported_clocks", "processes", "accounted_processes"})  # long, and what programs people run


@dataclass(slots=True)
class _Part:
    """A GPU or a MIG device of it. texts: of its leaves, by path."""

    texts: dict[str, str] = field(default_factory=dict)
    instances: "list[_Part]" = field(default_factory=list)


def parse_gpus(body: bytes) -> list[SourceSample]:
    """BadInput for what is no such document, and for one that is too deep, too long or defines entities."""
    document = _Document()
    parser = expat.ParserCreate()
    parser.StartElementHandler = document.start
    parser.EndElementHandler = document.end
    parser.CharacterDataHandler = document.text
    parser.EntityDeclHandler = _refuse_entities
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError, LookupError) as error:  # an encoding that is none is one of the latter
        raise BadInput(f"nvidia-smi: {str(error)[:200]}", "bad_format") from error
    if not document.is_log:
        raise BadInput(f"nvidia-smi: expected <{_ROOT}>", "bad_format")
    found: list[SourceSample] = []
    seen: set[str] = set()
    for index, gpu in enumerate(document.gpus):
        uuid = gpu.texts.get("uuid", "")
        if uuid and uuid not in seen:
            seen.add(uuid)
            found += _samples_of(gpu, index, document.texts.get("driver_version", ""))
    return found


def _samples_of(gpu: _Part, index: int, driver: str) -> list[SourceSample]:
    labels = {label: gpu.texts[path] for path, label in _LABELS.items() if _is_stated(gpu.texts.get(path, ""))}
    labels |= {"index": str(index)} | ({"driver": driver} if driver else {})
    found = [SourceSample("gpu", labels, 1.0), *_numbers("", gpu.texts, labels)]
    for part in gpu.instances:
        found += _numbers("mig/", part.texts, labels | {"instance": part.texts.get("gpu_instance_id", "")})
    return found


def _numbers(prefix: str, texts: Mapping[str, str], labels: Mapping[str, str]) -> list[SourceSample]:
    values = ((path, _value(text)) for path, text in texts.items())
    return [SourceSample(prefix + path, labels, value) for path, value in values if value is not None]


def _value(text: str) -> float | None:
    """In base units; NaN where the driver has none, None for a text that is no number.

    >>> _value("68 C"), _value("35071 MiB"), _value("Not Active"), _value("16x"), _value("P0"), _value("Hopper")
    (68.0, 36774608896.0, 0.0, 16.0, 0.0, None)
    """
    if not _is_stated(text):
        return math.nan
    if (word := _WORDS.get(text.lower())) is not None:
        return word
    number, _, unit = text.partition(" ")
    if not unit and number.endswith("x"):
        number = number[:-1]
    elif not unit and number[:1] == "P" and number[1:].isdecimal():  # performance state
        number = number[1:]
    scale = _SCALES.get(unit)
    if scale is None or not number.isascii() or "_" in number or len(number) > 32:
        return None
    try:
        value = float(number) * scale
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _is_stated(text: str) -> bool:
    return text.lower() not in _NO_VALUE


class _Document:
    """Gathers the texts of the leaves. is_log: whether its root is the one expected."""

    def __init__(self) -> None:
        self.is_log = False
        self.texts: dict[str, str] = {}
        self.gpus: list[_Part] = []
        self._path: list[str] = []
        self._text = ""
        self._is_leaf = False
        self._elements = 0

    def start(self, name: str, _attributes: object) -> None:
        self._elements += 1
        if self._elements > _ELEMENTS_MAX or len(self._path) >= _DEPTH_MAX:
            raise ValueError(f"more than {_ELEMENTS_MAX} elements or {_DEPTH_MAX} levels")
        if not self._path:
            self.is_log = name == _ROOT
        self._path.append(name)
        self._text, self._is_leaf = "", True
        inside = self._inside()
        if self._path == [_ROOT, _GPU]:
            self.gpus.append(_Part())
        elif inside == _MIG and self.gpus:
            self.gpus[-1].instances.append(_Part())

    def text(self, text: str) -> None:
        if len(self._text) <= _TEXT_CHARS_MAX:
            self._text += text

    def end(self, _name: str) -> None:
        if self._is_leaf and len(self._text) <= _TEXT_CHARS_MAX:
            self._add(self._text.strip())
        self._path.pop()
        self._is_leaf = False

    def _add(self, text: str) -> None:
        inside = self._inside()
        if self._path[1:2] != [_GPU]:
            self.texts[inside] = text
        elif inside.startswith(_MIG + "/") and self.gpus[-1].instances:
            self.gpus[-1].instances[-1].texts[inside.removeprefix(_MIG + "/")] = text
        elif self._path[2] not in _LEFT_OUT:
            self.gpus[-1].texts[inside] = text

    def _inside(self) -> str:
        """Path below the GPU, or below the root."""
        return "/".join(self._path[2:] if self._path[1:2] == [_GPU] else self._path[1:])


def _refuse_entities(*_: object) -> None:
    raise ValueError("a document that defines entities")
