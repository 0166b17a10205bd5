"""After the warm-up nothing is left to compile, whatever comes."""

import subprocess
import sys

LATER = """
from analytics.warm_up import warm_up
from tests.unit.compiled import compiled

warm_up()
before = compiled("analytics")
assert before
from tests.unit.analytics import busy_cluster, test_hostile_values
from tests.unit.analytics.small_cluster import run
for batches in (busy_cluster.batches(), test_hostile_values.hostile(1)):
    engine = busy_cluster.new_engine()
    engine.add_facts(busy_cluster.FACTS)
    run(engine, batches)
print(sorted(compiled("analytics") - before))
"""


def test_nothing_is_left_to_compile() -> None:
    command = [sys.executable, "-W", "ignore", "-c", LATER]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"
