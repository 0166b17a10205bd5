"""XIDs that a program of ours provoked on a real H100."""

import re

from telemetry.xid_codes import classify
from tests.h100 import FOLDER


def test_errors_of_a_program_are_not_taken_for_those_of_the_gpu() -> None:
    log = (FOLDER / "xid-kernel-log.txt").read_text()
    codes = {int(code) for code in re.findall(r"NVRM: Xid \(PCI:[0-9a-f:]+\): (\d+),", log)}
    assert codes == {13, 31, 43}
    assert {classify(code) for code in codes} == {"application"}
