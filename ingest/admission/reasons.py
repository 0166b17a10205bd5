"""Why a collection is left out."""

from enum import StrEnum


class SkipReason(StrEnum):
    """Of a whole collection of one target: nothing was requested, and nothing is known of it."""

    RUNNING = "running"  # the last collection of the target still runs
    UNHEALTHY = "unhealthy"  # too many other targets that do not answer are being asked
    CPU = "cpu"  # work waits for this process for too long
    MEMORY = "memory"  # this process, or its container, has nearly used up its memory
    DEVICE = "device"  # other targets of its device are being asked, as many as may be at once
    DESCRIPTORS = "descriptors"  # the process has no file descriptor left for a connection


class OutOfDescriptors(Exception):
    """A collection could not begin for want of a file descriptor: that is no failure of its target."""


class DeviceBusy(Exception):
    """A collection found no turn at its device in time: nothing was requested, and that is no failure of its target."""
