"""A fault of a running cluster: when it begins, acts, pauses and ends."""

from dataclasses import dataclass

from common.units import NS_PER_S
from simulator.faults.base import Fault
from simulator.faults.truth import Truth


@dataclass(slots=True)
class InjectedFault:
    """A fault and its times. ends_ns: 0 while no end is scheduled.

    on_ns, off_ns: it acts and pauses in turns, 0 when it always acts. silent: the telemetry of the devices that it is
    on is lost until it ends. truth: position in ``SimulatedCluster.truth`` once it has begun, else -1.
    """

    fault: Fault
    starts_ns: int
    ends_ns: int
    on_ns: int = 0
    off_ns: int = 0
    silent: bool = False
    truth: int = -1
    ended: bool = False
    _acts: bool = False
    _silenced: tuple[str, ...] = ()

    def begin(self) -> Truth:
        """Breaks the target; ConfigError when it does not exist."""
        self._act()
        fault = self.fault
        if self.silent:
            self._silenced = fault.devices
            fault.machine.silence(self._silenced, True)
        return Truth(
            fault=fault.name,
            expected=fault.kind,
            root=fault.root,
            start_ns=self.starts_ns,
            end_ns=self.ends_ns,
            planned=fault.planned,
            reach=fault.reach,
            accepted=fault.accepted,
            roots=fault.roots,
            silent=self.silent,
        )

    def step(self, now_ns: int) -> None:
        """Before each step of the machine from its begin to its end."""
        if self.ends_ns and now_ns >= self.ends_ns:
            self._end()
            return
        elapsed_ns = now_ns - self.starts_ns
        if self.on_ns:
            elapsed_ns %= self.on_ns + self.off_ns
            if elapsed_ns >= self.on_ns:
                self._rest()
                return
            if not self._acts:
                self._act()
        self.fault.step(elapsed_ns / NS_PER_S)

    def _act(self) -> None:
        self.fault.begin()
        self._acts = True

    def _rest(self) -> None:
        if self._acts:
            self.fault.end()
            self._acts = False

    def _end(self) -> None:
        self._rest()
        self.fault.machine.silence(self._silenced, False)
        self.ended = True
