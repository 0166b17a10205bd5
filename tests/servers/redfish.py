"""A management controller over HTTPS that serves a tree of resources: recorded ones, in the form of DMTF's mockups."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.samples import SAMPLES
from tests.servers.certificates import Certificates

Tree = dict[str, Any]
USER, PASSWORD = "monitor", "secret"
ROOT = "/redfish/v1"


def recorded(name: str) -> Any:
    return json.loads((SAMPLES / "power_thermal" / f"redfish_{name}.json").read_text())


def at(path: str) -> dict[str, str]:
    return {"@odata.id": path}


def collection(path: str, *members: str, page: int = 100) -> Tree:
    """A collection in pages."""
    pages = [members[begin : begin + page] for begin in range(0, len(members), page)] or [()]
    tree: Tree = {}
    for number, part in enumerate(pages):
        here = path if number == 0 else f"{path}?$skip={number * page}"
        tree[here] = {"Members": [at(f"{path}/{member}") for member in part], "Members@odata.count": len(members)}
        if number + 1 < len(pages):
            tree[here]["Members@odata.nextLink"] = f"{path}?$skip={(number + 1) * page}"
    return tree


def root(**more: Any) -> Tree:
    return {f"{ROOT}/": {"Chassis": at(f"{ROOT}/Chassis"), "Systems": at(f"{ROOT}/Systems"), **more}}


def old_shape() -> Tree:
    """A Dell server, recorded, in a chassis of its own beside an enclosure."""
    chassis = f"{ROOT}/Chassis/System.Embedded.1"
    system = recorded("dell_systems")
    return {
        **root(),
        **collection(f"{ROOT}/Chassis", "Enclosure", "System.Embedded.1", page=1),
        f"{ROOT}/Chassis/Enclosure": {"Id": "Enclosure", "Status": {"Health": "OK"}},
        chassis: {
            "Id": "System.Embedded.1",
            "Links": {"ComputerSystems": [at(f"{ROOT}/Systems/System.Embedded.1")]},
            "Thermal": at(f"{chassis}/Thermal"),
            "Power": at(f"{chassis}/Power"),
            "Status": {"Health": "Warning", "State": "Enabled"},
        },
        f"{chassis}/Thermal": recorded("dell_thermal"),
        f"{chassis}/Power": recorded("dell_power"),
        **collection(f"{ROOT}/Systems", "System.Embedded.1"),
        f"{ROOT}/Systems/System.Embedded.1": system,
    }


def new_shape(**features: Any) -> Tree:
    """A server with an HPE controller's recorded subsystems, and the old resources beside them, as controllers have."""
    chassis = f"{ROOT}/Chassis/1"
    thermal, power = f"{chassis}/ThermalSubsystem", f"{chassis}/PowerSubsystem"
    supply = {**recorded("hp_power_subsys_psu_1"), "Metrics": at(f"{power}/PowerSupplies/Bay1/Metrics")}
    return {
        **root(**features),
        **collection(f"{ROOT}/Chassis", "1"),
        chassis: {
            "Id": "1",
            "Links": {"ComputerSystems": [at(f"{ROOT}/Systems/1")]},
            "Thermal": at(f"{chassis}/Thermal"),
            "ThermalSubsystem": at(thermal),
            "PowerSubsystem": at(power),
            "EnvironmentMetrics": at(f"{chassis}/EnvironmentMetrics"),
            "Sensors": at(f"{chassis}/Sensors"),
        },
        f"{chassis}/Thermal": recorded("hp_thermal"),
        thermal: {"ThermalMetrics": at(f"{thermal}/ThermalMetrics"), "Fans": at(f"{thermal}/Fans")},
        f"{thermal}/ThermalMetrics": recorded("hp_thermal_metrics"),
        **collection(f"{thermal}/Fans", "Bay1"),
        f"{thermal}/Fans/Bay1": {
            "Id": "Bay1",
            "Name": "Fan Bay 1",
            "Status": {"State": "Enabled", "Health": "Critical"},
            "SpeedPercent": {"Reading": 45, "SpeedRPM": 2200, "DataSourceUri": f"{chassis}/Sensors/FanBay1"},
        },
        power: {"PowerSupplies": at(f"{power}/PowerSupplies")},
        **collection(f"{power}/PowerSupplies", "Bay1"),
        f"{power}/PowerSupplies/Bay1": supply,
        f"{power}/PowerSupplies/Bay1/Metrics": recorded("hp_power_subsys_metrics"),
        f"{chassis}/EnvironmentMetrics": {
            "PowerWatts": {"Reading": 374, "DataSourceUri": f"{chassis}/Sensors/TotalPower"},
            "TemperatureCelsius": {"Reading": None, "DataSourceUri": f"{chassis}/Sensors/Exhaust"},
        },
        **collection(f"{chassis}/Sensors", "Coolant", "FanBay1", "TotalPower", page=2),
        f"{chassis}/Sensors/FanBay1": _sensor("FanBay1", "Percent", 45),
        f"{chassis}/Sensors/TotalPower": _sensor("TotalPower", "Power", 374),
        f"{chassis}/Sensors/Coolant": _sensor("Coolant", "Temperature", 31.5),
    }


def _sensor(name: str, kind: str, reading: float) -> dict[str, Any]:
    status = {"State": "Enabled", "Health": "OK"}
    return {"Id": name, "Name": name, "ReadingType": kind, "Reading": reading, "Status": status}


@dataclass
class Log:
    """Entries of a LogService, newest last, as its controller hands them out. rising: in that order. links: without
    their content."""

    path: str
    entries: list[dict[str, Any]] = field(default_factory=list)
    rising: bool = False
    page: int = 50
    links: bool = False

    def add(self, *entries: dict[str, Any]) -> None:
        for entry in entries:
            number = str(len(self.entries) + 1)
            self.entries.append({**at(f"{self.path}/Entries/{number}"), "Id": number, **entry})

    def collection(self, skip: int) -> Tree:
        listed = self.entries if self.rising else self.entries[::-1]
        shown = listed[skip : skip + self.page]
        found: Tree = {"Members@odata.count": len(listed), "Members": shown}
        if self.links:
            found["Members"] = [at(entry["@odata.id"]) for entry in shown]
        if skip + self.page < len(listed):
            found["Members@odata.nextLink"] = f"{self.path}/Entries?$skip={skip + self.page}"
        return found


def with_logs(tree: Tree, *logs: Log, **service: Any) -> Tree:
    """The tree with these logs of managers, systems or chassis; service: further properties of their LogServices."""
    found = dict(tree)
    found[f"{ROOT}/"] = {**tree[f"{ROOT}/"], "Managers": at(f"{ROOT}/Managers")}
    for log in logs:
        owner, _, name = log.path.partition("/LogServices/")
        listed = found.get(f"{owner}/LogServices", {"Members": []})
        owners = owner.rpartition("/")[0]
        if at(owner) not in found.get(owners, {"Members": []})["Members"]:
            found |= collection(owners, owner.rpartition("/")[2])
        found[owner] = {**found.get(owner, {}), "LogServices": at(f"{owner}/LogServices")}
        found[f"{owner}/LogServices"] = {"Members": [*listed["Members"], at(log.path)]}
        found[log.path] = {"Id": name, "Entries": at(f"{log.path}/Entries"), **service}
    return found


class Controller:
    """Serves ``tree`` and ``logs``. instead: answers before the next requests of a path. asked: paths, in order.
    stalls: a path that is never answered.

    sessions: tokens that are good. needs: ``basic`` or ``session``, from all but the root. hold: while it is not set,
    nothing is answered. together: so many requests are waited for before the first one is answered, from ``since`` on.
    """

    def __init__(self, tree: Tree, needs: str = "") -> None:
        self.tree, self.needs = tree, needs
        self.asked: list[str] = []
        self.instead: dict[str, list[web.StreamResponse]] = {}
        self.sessions: set[str] = set()
        self.logins = self.most_at_once = self._at_once = 0
        self.address = ""
        self.hold = asyncio.Event()
        self.hold.set()
        self.together, self.since = 0, ""
        self.logs: list[Log] = []
        self.stalls = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if self.together and request.path.startswith(self.since):
                if self._at_once == self.together:
                    self.together = 0
                    self.hold.set()
                else:
                    self.hold.clear()
            await self.hold.wait()
            return await self._answer(request)
        finally:
            self._at_once -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path_qs if "$skip" in request.query_string else request.path
        self.asked.append(f"{request.method} {request.path_qs}")
        if request.path == self.stalls:
            await asyncio.Event().wait()
        if script := self.instead.get(path):
            return script.pop(0)
        if path == f"{ROOT}/SessionService/Sessions" and request.method == "POST":
            return await self._log_in(request)
        if request.method == "DELETE":
            self.sessions.discard(request.headers.get("X-Auth-Token", ""))
            return web.Response(status=204)
        if path != f"{ROOT}/" and not self._is_known(request.headers):
            return web.Response(status=401)
        found = self.tree.get(path) or self._of_logs(request)
        if found is None:
            return web.Response(status=404)
        if "$expand" in request.query_string:
            found = {**found, "Members": [self._expanded(one["@odata.id"]) for one in found["Members"]]}
        return web.json_response(found)

    def _of_logs(self, request: web.Request) -> Tree | None:
        for log in self.logs:
            if request.path == f"{log.path}/Entries":
                return log.collection(int(request.query.get("$skip", "0")))
            if entry := next((entry for entry in log.entries if entry["@odata.id"] == request.path), None):
                return entry
        return None

    def _expanded(self, path: str) -> dict[str, Any]:
        return {**at(path), **self.tree[path]}

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        self.logins += 1
        if await request.json() != {"UserName": USER, "Password": PASSWORD}:
            return web.Response(status=401)
        token = f"token-{self.logins}"
        self.sessions.add(token)
        where = f"{ROOT}/SessionService/Sessions/{self.logins}"
        return web.json_response({}, status=201, headers={"X-Auth-Token": token, "Location": where})

    def _is_known(self, headers: Mapping[str, str]) -> bool:
        if self.needs == "basic":
            return headers.get("Authorization") == f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"
        return self.needs != "session" or headers.get("X-Auth-Token") in self.sessions


@asynccontextmanager
async def serve(controller: Controller, certificates: Certificates) -> AsyncIterator[None]:
    """Over TLS, with the certificate of ``server``."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", controller.answer)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.certificate("server"), certificates.key("server"))
    server = TestServer(app, scheme="https")
    await server.start_server(ssl=context)
    try:
        controller.address = f"{server.host}:{server.port}"
        yield
    finally:
        controller.hold.set()
        await server.close()
