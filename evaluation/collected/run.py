"""Runs every plan twice and judges both, with progress on stderr. Takes real time: see ``SPEED``."""

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from evaluation.collected.families import planned
from evaluation.collected.page import JudgedTwice
from evaluation.collected.run_live import run_twice
from evaluation.families.judge import judge
from evaluation.families.truth.assemble import reaches

SPEED = 4.0
"""Simulated seconds a second. A switch is read every simulated second, and streams are sampled every 0.1 s at most."""


def run(progress: Console) -> Iterator[JudgedTwice]:
    """Both outcomes of every cluster, as soon as there are. Logs and bus of a cluster that fails are kept."""
    plans = planned()
    # A first start compiles for half a minute, which would be minutes of the first cluster
    subprocess.run([sys.executable, "-m", "analytics.warm_up"], check=True)
    for number, plan in enumerate(plans, 1):
        folder = Path(tempfile.mkdtemp(prefix="fabricscope-collected-"))
        twice = asyncio.run(run_twice(plan, folder / "live", SPEED))
        causes = reaches(twice.direct)
        judged = JudgedTwice(judge(twice.collected, causes), judge(twice.direct, causes), twice.reports, twice.lag_s)
        shutil.rmtree(folder)
        ways = [f"{each.pages} pages, {len(each.false)} of them false" for each in (judged.collected, judged.direct)]
        progress.print(
            f"{number} of {len(plans)}: {plan.family.name}: {len(judged.direct.faults)} faults; "
            f"collected: {ways[0]}; direct: {ways[1]}",
            highlight=False,
        )
        yield judged
