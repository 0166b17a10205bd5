"""Lines of kernel logs in each form, and what the driver says in them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.collectors.kernel_log.records import (
    GpuName,
    Line,
    Sxid,
    Unreadable,
    Xid,
    dmesg,
    driver_listing,
    driver_record,
    fabric_manager,
    journal_json,
    kmsg,
    syslog,
)
from tests.h100 import FOLDER
from tests.samples import SAMPLES

BOOT_NS = 1_700_000_000_000_000_000
TEXT = "NVRM: Xid (PCI:0000:9b:00): 79, pid=1, name=python3, GPU has fallen off the bus."
SWITCH = "nvidia-nvswitch3: SXid (PCI:0000:05:00.0)"
MANAGER = "detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 33"
UUID = "GPU-509665ad-b600-ac93-3616-d754b23d636d"


def test_a_real_log_of_a_host_names_the_gpu_and_its_xid() -> None:
    text = (SAMPLES / "gpu_events" / "dmesg_xid_119.log").read_text()
    lines = [line for line in map(dmesg, text.splitlines()) if line is not None]
    found = [record for line in lines if (record := driver_record(line.text)) is not None]
    assert found == [GpuName("0000:9b:00", UUID), *[Xid("0000:9b:00", 119)] * 5]


def test_xids_that_a_program_provoked_on_a_real_h100() -> None:
    text = (FOLDER / "xid-kernel-log.txt").read_text()
    lines = [line for line in map(dmesg, text.splitlines()) if line is not None]
    assert [driver_record(line.text) for line in lines] == [Xid("0000:1b:00", code) for code in [13] * 7 + [43, 31]]


def test_xids_that_a_program_provoked_on_a_real_h200_in_kmsg() -> None:
    parse = kmsg(BOOT_NS)
    text = (FOLDER.parent / "h200" / "xid-kernel-log.txt").read_text()
    lines = [line for line in map(parse, text.splitlines()) if line is not None]
    first, *found = [driver_record(line.text) for line in lines]
    assert first == GpuName("0000:1b:00", "GPU-00000000-0000-4000-8000-000000000003")
    assert found == [Xid("0000:1b:00", code) for code in [13] * 25 + [43, 31]]
    assert lines[0].at_ns == BOOT_NS + 156_533_040_000


def test_a_real_log_of_the_fabric_manager_has_one_error_of_an_nvswitch() -> None:
    text = (SAMPLES / "gpu_events" / "fabricmanager.log").read_text().splitlines()
    lines = [line for line in map(fabric_manager, text) if line is not None]
    assert {line.at_ns for line in lines} == {0}
    assert len(lines) == sum(" [INFO] " in line or " [ERROR] " in line for line in text)
    found = [record for line in lines if (record := driver_record(line.text)) is not None]
    assert found == [Sxid("nvswitch3", 12028, False, "61")]


def test_a_real_kmsg_is_read_to_its_last_record() -> None:
    parse = kmsg(BOOT_NS)
    lines = [parse(line) for line in (SAMPLES / "gpu_events" / "kmsg_raw.log").read_text().splitlines()]
    assert [line.number for line in lines if line is not None] == list(range(3964, 4011))
    assert lines[0] == Line("nvidia-nvswitch2: open (major=510)", "", BOOT_NS + 206_764_307_000, 3964)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"4,10,2000000,-;{TEXT}", Line(TEXT, "", BOOT_NS + 2_000_000_000, 10)),
        (f"4,10,2000000,-,caller=T12;{TEXT}", Line(TEXT, "", BOOT_NS + 2_000_000_000, 10)),
        (f"12,11,2000000,-;{TEXT}", Line("", "", BOOT_NS + 2_000_000_000, 11)),  # a program wrote it
        (" SUBSYSTEM=pci", None),
        (TEXT, None),
        (f"4,,2000000,-;{TEXT}", None),
        (f"4,{'9' * 30},2000000,-;{TEXT}", None),
    ],
)
def test_records_of_kmsg(line: str, expected: Line | None) -> None:
    assert kmsg(BOOT_NS)(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"Feb 23 16:24:18 node1 kernel: {TEXT}", Line(TEXT, "node1")),
        (f"Feb  3 16:24:18 node1 kernel: [12345.678901] {TEXT}", Line(TEXT, "node1")),
        (f"<4>2023-11-14T22:13:20+00:00 node1 kernel: {TEXT}", Line(TEXT, "node1", BOOT_NS)),
        (f"2023-11-14T22:13:20.000000+00:00 node1 kernel: {TEXT}", Line(TEXT, "node1", BOOT_NS)),
        (f"Feb 23 16:24:18 node1 logger[7]: kernel: {TEXT}", None),
        (f"Feb 23 16:24:18 node1 kernel[7]: {TEXT}", None),
        (TEXT, None),
    ],
)
def test_lines_of_syslog(line: str, expected: Line | None) -> None:
    assert syslog(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            f'{{"_TRANSPORT":"kernel","_HOSTNAME":"node1","MESSAGE":"{TEXT}",'
            f'"__REALTIME_TIMESTAMP":"{BOOT_NS // 1000}"}}',
            Line(TEXT, "node1", BOOT_NS),
        ),
        (f'{{"_TRANSPORT":"syslog","_HOSTNAME":"node1","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"{TEXT}"}}', None),
        ('{"_TRANSPORT":"kernel","MESSAGE":[1,2]}', None),
        ("[]", None),
        ("{", None),
    ],
)
def test_entries_of_the_journal(line: str, expected: Line | None) -> None:
    assert journal_json(line) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NVRM: Xid (0000:03:00): 79, GPU has fallen", Xid("0000:03:00", 79)),
        ("NVRM: Xid (PCI:0000:03:00.0): 79", Xid("0000:03:00", 79)),
        ("NVRM: Xid (PCI:0000:41:00 GPU-I:01): 31, pid=9", Xid("0000:41:00", 31, "1")),
        ("NVRM: Xid (PCI:0000:41:00 GPU-I:05 GPU-CI:02): 13, pid=9, name=a", Xid("0000:41:00", 13, "5")),
        ("NVRM: Xid (PCI:0000:41:00): many", Unreadable()),
        ("NVRM: Xid (PCI:0000:41:00): 999999, a", Unreadable()),
        ("NVRM: GPU at PCI:0000:9b:00: GPU-????????-????-????-????-????????????", None),
        (f"python: {TEXT}", None),
        (
            f"{SWITCH}: 12028, Non-fatal, Link 60 egress non-posted PRIV error (First)",
            Sxid("nvswitch3", 12028, False, "60"),
        ),
        (f"{SWITCH}: 24007, Fatal, Link 04 sourcetrack timeout error (First)", Sxid("nvswitch3", 24007, True, "4")),
        (f"{SWITCH}: 10003, Non-fatal, host error", Sxid("nvswitch3", 10003, False)),
        (f"{SWITCH}: 12028, Severity 0 Engine instance 60 Sub-engine instance 00", None),
        (f"{SWITCH}: 12028, Data {{0x00000000, 0x00000000}}", None),
        (f"{SWITCH}: 12028", Unreadable()),
        (f"{SWITCH}: 12028, Harmless, Link 60", Unreadable()),
        ("nvidia-nvswitch3: SXid (PCI:here): 12028, Fatal", Unreadable()),
        ("nvidia-nvswitch2: open (major=510)", None),
        (MANAGER, Sxid("nvswitch3", 20034, True, "33")),
        (MANAGER.replace(" port 33", ""), Sxid("nvswitch3", 20034, True)),
        (MANAGER.replace("error 20034", "error many"), Unreadable()),
        (MANAGER.replace(" physical id 3", ""), Unreadable()),
        ("detected NVSwitch 3", None),
        (f"python: {SWITCH}: 24007, Fatal, Link 04", None),
    ],
)
def test_what_the_driver_says(text: str, expected: object) -> None:
    assert driver_record(text) == expected


def test_the_list_of_the_driver() -> None:
    text = f"Model: \t\t NVIDIA H100\nGPU UUID: \t {UUID}\nBus Type: \t PCIe\nBus Location: \t 0000:9b:00.0\n"
    unknown = text.replace(UUID, "GPU-????????-????-????-????-????????????")
    assert driver_listing([text, unknown, "", "Bus Location"]) == {"0000:9b:00": UUID}


@given(st.text(max_size=200) | st.from_regex(re.compile(r"NVRM: Xid \(.{0,40}\): \d{0,8}.{0,20}")))
def test_any_line_is_read_or_left(text: str) -> None:
    for parse in (kmsg(BOOT_NS), syslog, dmesg, journal_json):
        line = parse(text)
        if line is not None:
            driver_record(line.text)
