"""What NVML states of all GPUs, as named samples. Blocking: every call asks the driver, and one may never return."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pynvml

from ingest.collectors.canonical_samples import SourceSample
from ingest.collectors.nvml.activity import Activity
from ingest.collectors.nvml.calls import (
    ALL_LINKS,
    ALL_LINKS_FIELDS,
    CALLS,
    GPM_ACTIVITY,
    GPM_LINKS,
    GPM_PCIE,
    GPU_FIELDS,
    IN_PLACE_OF,
    LINK_FIELDS,
    LINK_STATE,
    MEMORY,
    PCIE_THROUGHPUT,
    Alternatives,
    Call,
)
from ingest.collectors.nvml.errors import UNSUPPORTED, UNUSABLE

Handle = Any
"""``nvmlDevice_t``: a GPU, or one of its MIG instances."""

_LINK_COUNT = "NVML_FI_DEV_NVLINK_LINK_COUNT"
_MEMBERS = {
    pynvml.NVML_VALUE_TYPE_DOUBLE: "dVal",
    pynvml.NVML_VALUE_TYPE_UNSIGNED_INT: "uiVal",
    pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG: "ulVal",
    pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: "ullVal",
    pynvml.NVML_VALUE_TYPE_SIGNED_LONG_LONG: "sllVal",
    pynvml.NVML_VALUE_TYPE_SIGNED_INT: "siVal",
    pynvml.NVML_VALUE_TYPE_UNSIGNED_SHORT: "usVal",
}
_LABELS: Mapping[str, Callable[[Handle], str]] = {
    "model": pynvml.nvmlDeviceGetName,
    "serial": pynvml.nvmlDeviceGetSerial,
    "pci_bus_id": lambda handle: str(pynvml.nvmlDeviceGetPciInfo(handle).busId),
}


@dataclass(slots=True)
class Reading:
    """samples: of the GPUs that answer. NaN: a value that its GPU has and that could not be read.

    unusable: the error of each other one, an NVMLError, by its index. handles: of those that answer, by UUID. dropped:
    XIDs for which there was no room.
    """

    samples: list[SourceSample] = field(default_factory=list)
    unusable: dict[int, Any] = field(default_factory=dict)
    handles: dict[str, Handle] = field(default_factory=dict)
    dropped: int = 0


def read_gpus(activity: Activity) -> Reading:
    """All GPUs of the machine that this process may see. NVMLError when there is no list of them."""
    found = Reading()
    driver = pynvml.nvmlSystemGetDriverVersion()
    for index in range(pynvml.nvmlDeviceGetCount()):
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            uuid = pynvml.nvmlDeviceGetUUID(handle)
            found.samples += _gpu(handle, {"gpu": uuid, "index": str(index), "driver": driver}, activity)
            found.handles[uuid] = handle
        except pynvml.NVMLError as error:
            found.unusable[index] = error
    activity.keep(found.handles.keys())
    return found


def bit_error_ratio(value: int) -> float:
    """Of a field ..._BER: bits 0 to 7 are the exponent, 8 to 11 the mantissa, as nvml.h has it.

    >>> bit_error_ratio(3 << 8 | 12)
    3e-12
    """
    return float(f"{value >> 8 & 0xF}e-{value & 0xFF}")


def _gpu(handle: Handle, identity: Mapping[str, str], activity: Activity) -> list[SourceSample]:
    """NVMLError when it cannot be used; half of its values would look like the loss of the others."""
    uuid = identity["gpu"]
    labels = {**identity}
    labels |= {label: text for label, ask in _LABELS.items() if (text := _text(ask, handle))}
    found = [SourceSample("gpu", labels, 1.0)]
    links = _count_of_links(handle)
    active = dict(activity.read(handle, uuid, (*GPM_ACTIVITY, *GPM_PCIE, *(GPM_LINKS if links else ()))))
    found += (SourceSample(name, labels, value) for name, value in active.items())
    for alternatives in CALLS if active.keys() >= set(GPM_PCIE) else (*CALLS, *PCIE_THROUGHPUT):
        found += (SourceSample(name, labels, value) for name, value in _numbers(handle, alternatives))
    found += (SourceSample(name, labels, value) for name, value in _fields(handle, GPU_FIELDS))
    if links:
        totals = _fields(handle, ALL_LINKS_FIELDS, ALL_LINKS)
        found += (SourceSample(name, labels, value) for name, value in totals)
    for link in range(links):
        of_link = labels | {"link": str(link)}
        found += (SourceSample(name, of_link, value) for name, value in _link(handle, link))
    for instance, instance_handle in _instances(handle):
        of_instance = labels | {"instance": instance}
        numbers = _numbers(instance_handle, MEMORY)
        found += (SourceSample(f"mig/{name}", of_instance, value) for name, value in numbers)
        of_its_own = activity.read(handle, uuid, GPM_ACTIVITY, instance)
        found += (SourceSample(name, of_instance, value) for name, value in of_its_own)
    return found


def _text(ask: Callable[[Handle], str], handle: Handle) -> str:
    try:
        return ask(handle)
    except pynvml.NVMLError as error:
        if error.value in UNUSABLE:
            raise
        return ""


def _numbers(handle: Handle, alternatives: Alternatives) -> list[tuple[str, float]]:
    """By name; none where neither GPU nor driver has the value."""
    for call in alternatives:
        try:
            answer = getattr(pynvml, call.function)(handle, *call.arguments)
        except pynvml.NVMLError as error:
            if error.value in UNUSABLE:
                raise
            if error.value not in UNSUPPORTED:
                return [(name, math.nan) for name in call.names]
        else:
            return list(zip(call.names, _parts(call, answer), strict=False))  # a list may have parts that are not read
    return []


def _parts(call: Call, answer: Any) -> list[float]:
    if not call.parts:
        return [float(answer)]
    values = answer if isinstance(answer, list) else [getattr(answer, part) for part in call.parts]
    return [float(value) for value in values]


def _fields(handle: Handle, names: Sequence[str], scope: int = 0) -> Iterator[tuple[str, float]]:
    """In one call: what one question of the driver answers is asked for once."""
    wanted = [(getattr(pynvml, name), scope) for name in names]
    try:
        answers = pynvml.nvmlDeviceGetFieldValues(handle, wanted)
    except pynvml.NVMLError as error:
        if error.value in UNUSABLE:
            raise
        if error.value not in UNSUPPORTED:
            yield from ((name, math.nan) for name in names)
        return
    for name, answer in zip(names, answers, strict=True):
        code = answer.nvmlReturn
        if code in UNUSABLE:
            raise pynvml.NVMLError(code)
        if code == pynvml.NVML_SUCCESS:
            yield name, _number(name, answer)
        elif code not in UNSUPPORTED:
            yield name, math.nan


def _number(name: str, answer: Any) -> float:
    member = _MEMBERS.get(answer.valueType)
    if member is None:
        return math.nan
    value = getattr(answer.value, member)
    return bit_error_ratio(int(value)) if name.endswith("_BER") else float(value)


def _count_of_links(handle: Handle) -> int:
    count = dict(_fields(handle, (_LINK_COUNT,))).get(_LINK_COUNT, 0.0)
    return 0 if math.isnan(count) else min(int(count), pynvml.NVML_NVLINK_MAX_LINKS)


def _link(handle: Handle, link: int) -> Iterator[tuple[str, float]]:
    fields = dict(_fields(handle, LINK_FIELDS, link))
    yield from ((name, value) for name, value in fields.items() if IN_PLACE_OF.get(name) not in fields)
    if LINK_FIELDS[0] not in fields:
        yield from _numbers(handle, (Call(LINK_STATE, LINK_STATE, (link,)),))


def _instances(handle: Handle) -> Iterator[tuple[str, Handle]]:
    """GPU instances of MIG, by id. Places in their list may be empty; compute instances of one share its memory."""
    seen = set[str]()
    for place in range(_count_of_places(handle)):
        try:
            instance = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place)
            name = str(pynvml.nvmlDeviceGetGpuInstanceId(instance))
        except pynvml.NVMLError as error:
            if error.value in UNUSABLE:
                raise
            continue
        if name not in seen:
            seen.add(name)
            yield name, instance


def _count_of_places(handle: Handle) -> int:
    try:
        return int(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle))
    except pynvml.NVMLError as error:
        if error.value in UNUSABLE:
            raise
        return 0
