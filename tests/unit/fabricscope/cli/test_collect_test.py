"""``fabricscope collect --test``: one target, of the settings or of no settings, as a table and as JSON."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from fabricscope.cli import app

PAGE = b"""DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1"} 1234.5
DCGM_FI_DEV_POWER_USAGE{UUID="GPU-2"} NaN
node_vendor_secret{a="\x1b[2J"} 1
node_vendor_secret{a="2"} 1
go_goroutines 8
"""


@pytest.fixture
async def address() -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(PAGE), PAGE))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, app, ["collect", *arguments])


def settings(folder: Path, document: str) -> str:
    file = folder / "fabricscope.yaml"
    file.write_text(document)
    return str(file)


async def found(*arguments: str) -> dict[str, Any]:
    answer = await run(*arguments, "--output", "json")
    document: dict[str, Any] = json.loads(answer.stdout)
    return document | {"exit_code": answer.exit_code}


async def test_a_target_of_the_settings_shows_what_is_read_of_it(address: str, tmp_path: Path) -> None:
    job = f"{{job_name: gpu, source: dcgm, static_configs: [{{targets: ['{address}'], labels: {{device: n1}}}}]}}"
    document = await found("--once", "--test", "gpu", "--config", settings(tmp_path, f"scrape_configs: [{job}]\n"))
    assert (document["exit_code"], document["target"], document["device"], document["up"]) == (
        0,
        f"gpu/{address}",
        "n1",
        True,
    )
    assert document["series"] == {"mapped": 2, "unmapped": 2, "left_out": 1}
    assert document["dropped"] == {"no_value": 1}
    of_power = [row for row in document["mapped"] if row["metric"] == "gpu_power_watts"]
    assert of_power == [
        {
            "name": 'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1"}',
            "metric": "gpu_power_watts",
            "labels": {"device": "n1", "gpu": "GPU-1"},
            "value": 1234.5,
            "unit": "watts",
        },
        {
            "name": 'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-2"}',
            "metric": "gpu_power_watts",
            "labels": {"device": "n1", "gpu": "GPU-2"},
            "value": None,
            "unit": "watts",
        },
    ]
    assert {row["reason"] for row in document["unmapped"]} == {"nothing maps this name"}
    assert [row["name"] for row in document["left_out"]] == ["go_goroutines{}"]


async def test_an_address_that_no_settings_name_needs_its_system(address: str) -> None:
    answer = await run("--test", f"http://{address}/metrics", "--system", "dcgm")
    assert answer.exit_code == 0
    shown = " ".join(answer.stdout.split())
    assert f"test/{address} (127.0.0.1) answers: yes" in shown
    assert "gpu_power_watts │ device=127.0.0.1,gpu=GPU-1 │ 1234.5" in shown
    assert "no sample" in shown
    assert "node_vendor_secret │ 2 │ nothing maps this name" in shown
    assert "2 of 5 series are read (40%), 1 are left out on purpose, nothing maps 2" in shown
    assert "dropped: no_value 1" in shown
    assert "\x1b[2J" not in answer.stdout


async def test_who_does_not_answer_is_an_exit_status() -> None:
    answer = await run("--test", "127.0.0.1:1", "--system", "dcgm")
    assert answer.exit_code == 1
    assert "test/127.0.0.1:1 (127.0.0.1) answers: no: refused" in answer.stdout
    assert (await found("--test", "127.0.0.1:1", "--system", "dcgm"))["problem"] == "refused"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--test", "n1:9400", "--system", "dcg"), "dcg is no system of the catalogue, did you mean dcgm?"),
        (("--test", "n1:9400", "--system", "sonic"), "sonic has no page to scrape (gnmi)"),
        (("--test", "ftp://n1", "--system", "dcgm"), "--test: expected host:port or a URL"),
        (("--test", "http://me:secret@n1", "--system", "dcgm"), "expected host:port without user name and password"),
        (("--test", "n1:9400"), "no target is called n1:9400"),
    ],
)
async def test_what_cannot_be_asked_has_one_clear_line(arguments: tuple[str, ...], message: str) -> None:
    answer = await run(*arguments)
    assert message in str(answer.exception)
    assert "secret" not in str(answer.exception)


@pytest.mark.parametrize("arguments", [("--system", "dcgm"), ("--test", "a", "--target", "b")])
async def test_options_that_do_not_go_together(arguments: tuple[str, ...]) -> None:
    assert (await run(*arguments)).exit_code == 2
