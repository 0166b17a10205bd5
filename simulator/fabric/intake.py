"""What hosts take from their NICs, and what every step begins with."""

from typing import NamedTuple

from common.jit import compiled
from simulator.fabric import parameters as par
from simulator.fabric.state import Floats

PCIE = par.PCIE_BYTES_PER_S


class Intake(NamedTuple):
    """What PCIe takes from each NIC, [N]: nothing for the part ``stalled`` (a fault) of the step, and at most ``most``
    bytes per second, which is less for the part ``hiccups``. recently: average of both parts over about a second.
    """

    stalled: Floats
    hiccups: Floats
    most: Floats
    recently: Floats


@compiled
def begin(dt: float, first: int, intake: Intake, capacity: Floats, rest: Floats, sent: Floats) -> None:
    """What every step begins with, also one without flows. The receive buffer of NIC n is the queue ``first + n``.

    capacity: [Q]. rest, sent: [Q] priority 0, bytes per second and bytes.
    """
    for n in range(intake.stalled.size):
        capacity[first + n] = min(PCIE * (1.0 - intake.stalled[n]), intake.most[n])
        stalled = max(intake.stalled[n], intake.hiccups[n])
        intake.recently[n] += (stalled - intake.recently[n]) * dt
    for q in range(rest.size):
        sent[q] += rest[q] * dt
