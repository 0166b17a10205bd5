"""What the error codes of NVML mean for a collection: ``nvmlReturn_t`` of nvml.h."""

from typing import Any

import pynvml

from ingest.collectors.command import NoAnswer
from telemetry.samples import DownReason

UNSUPPORTED = frozenset(
    (
        pynvml.NVML_ERROR_NOT_SUPPORTED,
        pynvml.NVML_ERROR_INVALID_ARGUMENT,  # a field that came with a later driver
        pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,  # a function that did
        pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
        pynvml.NVML_ERROR_NOT_FOUND,
        pynvml.NVML_ERROR_DEPRECATED,
    )
)
"""This GPU or this driver has no such value."""

UNUSABLE = frozenset(
    (
        pynvml.NVML_ERROR_UNINITIALIZED,
        pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
        pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
        pynvml.NVML_ERROR_TIMEOUT,
        pynvml.NVML_ERROR_IRQ_ISSUE,
        pynvml.NVML_ERROR_GPU_IS_LOST,
        pynvml.NVML_ERROR_RESET_REQUIRED,
        pynvml.NVML_ERROR_IN_USE,
        pynvml.NVML_ERROR_GPU_NOT_FOUND,
        pynvml.NVML_ERROR_OPERATING_SYSTEM,
    )
)
"""Nothing that this GPU states can be had. Any other code concerns the one value that was asked for."""

_REASONS = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: DownReason.REFUSED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: DownReason.REFUSED,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: DownReason.REFUSED,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: DownReason.REFUSED,
    pynvml.NVML_ERROR_NO_PERMISSION: DownReason.AUTH,
    pynvml.NVML_ERROR_TIMEOUT: DownReason.TIMEOUT,
}
_HINTS = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "libnvidia-ml.so.1, which comes with NVIDIA's driver, is not installed",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "the kernel has no NVIDIA driver loaded",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "the driver was updated: restart this process, or load the new driver",
    pynvml.NVML_ERROR_NO_PERMISSION: "expected read and write access to /dev/nvidiactl and /dev/nvidia*",
    pynvml.NVML_ERROR_GPU_IS_LOST: "it has fallen off the PCIe bus",
    pynvml.NVML_ERROR_RESET_REQUIRED: "it needs a reset",
    pynvml.NVML_ERROR_IN_USE: "something resets or reconfigures it",
}


def text_of(error: Any) -> str:
    """Of an NVMLError: NVIDIA's words, and what they mean here."""
    hint = _HINTS.get(error.value)
    return f"{error} ({hint})" if hint else str(error)


def no_answer(what: str, error: Any) -> NoAnswer:
    """Why a collection has no samples. closed: the driver answered, but with an error."""
    return NoAnswer(_REASONS.get(error.value, DownReason.CLOSED), f"{what}: {text_of(error)}")
