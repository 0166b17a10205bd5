"""SNMPv3 (USM) against a real agent: what a user may read, and what a wrong password gives."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from ingest.ledger import Ledger
from telemetry.samples import DownReason
from tests.conformance.collectors.snmp_agent import NOW_NS, Wire, collector, interfaces, of_port
from tests.servers.snmpd import Snmpd

AUTH, PRIV = "correct horse", "battery staple"
Start = Callable[..., Snmpd]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts an agent that knows a user, with these protocols."""
    with ExitStack() as stack:

        def started(auth: str, priv: str) -> Snmpd:
            made = Snmpd(tmp_path, users=(f'reader {auth} "{AUTH}" {priv} "{PRIV}"',))
            stack.callback(made.stop)
            made.start()
            made.serve(interfaces(1))
            (tmp_path / "auth").write_text(AUTH + "\n")
            (tmp_path / "priv").write_text(PRIV + "\n")
            return made

        yield started


def user(folder: Path, auth: str, priv: str) -> dict[str, object]:
    files = {"auth_password_file": folder / "auth", "priv_password_file": folder / "priv"}
    return {"username": "reader", "auth_protocol": auth, "priv_protocol": priv, **files}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (("SHA", "AES"), ("sha", "aes")),
        (("SHA-224", "AES"), ("sha224", "aes")),
        (("SHA-256", "AES"), ("sha256", "aes")),
        (("SHA-384", "AES-192"), ("sha384", "aes192")),
        (("SHA-512", "AES-256"), ("sha512", "aes256c")),
        (("SHA", "AES-256"), ("sha", "aes256")),
        (("MD5", "AES-192"), ("md5", "aes192")),
        (("MD5", "DES"), ("md5", "des")),
    ],
    ids=["sha", "sha224", "sha256", "sha384", "sha512", "long key of sha", "long key of md5", "md5"],
)
async def test_what_an_encrypted_user_reads(
    start: Start, tmp_path: Path, ledger: Ledger, theirs: tuple[str, str], ours: tuple[str, str]
) -> None:
    agent = start(*theirs)
    wire = Wire(agent.port, lambda answer: [answer])
    made = collector(tmp_path, await wire.open(), ledger, user=user(tmp_path, *ours))
    batches = [await made.collect(NOW_NS + second) for second in range(2)]
    await made.stop()
    wire.close()
    assert [batch.collection.down for batch in batches] == [None, None]
    assert of_port(batches[1], "Ethernet0")["fabric_port_receive_bytes_total"] == 1001
    assert not any(b"\x2b\x06\x01\x02\x01\x1f" in request for request in wire.requests)  # no OID in the clear
    assert ledger.samples_in == sum(map(len, batches))


async def test_an_agent_that_restarted_is_read_again(start: Start, tmp_path: Path, ledger: Ledger) -> None:
    agent = start("SHA", "AES")
    made = collector(tmp_path, agent.address, ledger, user=user(tmp_path, "sha", "aes"), request_timeout_s=2)
    assert (await made.collect(NOW_NS)).collection.up
    agent.stop()
    agent.start()  # its boots and time are others: the collector has to learn them again
    assert (await made.collect(NOW_NS)).collection.up
    await made.stop()


@pytest.mark.parametrize("wrong", ["auth", "username"])
async def test_a_user_that_the_agent_refuses_is_down_and_no_log_has_the_password(
    start: Start, tmp_path: Path, ledger: Ledger, wrong: str
) -> None:
    agent = start("SHA", "AES")
    settings = user(tmp_path, "sha", "aes")
    if wrong == "username":
        settings["username"] = "nobody"
    else:
        (tmp_path / "auth").write_text("a wrong password")
    made = collector(tmp_path, agent.address, ledger, user=settings, request_timeout_s=2)
    with capture_logs() as logs:
        refused = await made.collect(NOW_NS)
    assert (refused.collection.down, len(refused)) == (DownReason.AUTH, 0)
    assert not any(secret in str(logs) for secret in (AUTH, PRIV, "a wrong password"))
    if wrong == "auth":  # rotated
        (tmp_path / "auth").write_text(AUTH)
        assert (await made.collect(NOW_NS)).collection.up
    await made.stop()


async def test_a_password_that_is_too_short_is_down(start: Start, tmp_path: Path, ledger: Ledger) -> None:
    agent = start("SHA", "AES")
    (tmp_path / "auth").write_text("short")
    made = collector(tmp_path, agent.address, ledger, user=user(tmp_path, "sha", "aes"), request_timeout_s=2)
    assert (await made.collect(NOW_NS)).collection.down is DownReason.AUTH
    await made.stop()
