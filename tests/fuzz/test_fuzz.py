"""What was kept, and a few mutations of it; ``make fuzz`` runs longer."""

import tracemalloc
from itertools import islice

import pytest

from tests.fuzz.mutate import mutations
from tests.fuzz.targets import CORPUS, load, names

_MEMORY_BYTES_MAX = 32 * 1024 * 1024  # the inputs have at most 4 kB
_CORPUS_BYTES_MAX = 500_000


@pytest.mark.parametrize("name", names())
def test_kept_inputs_and_mutations_of_them_break_nothing(name: str) -> None:
    target = load(name)
    for data in (*target.inputs, *islice(mutations(target.inputs, seed=1), target.executions)):
        try:
            target.run(data)
        except Exception as error:
            error.add_note(f"input: {data!r}")
            raise


@pytest.mark.parametrize("name", names())
def test_kept_inputs_cost_little_memory(name: str) -> None:
    target = load(name)
    target.run(target.inputs[0])  # compiles and caches
    for data in target.inputs:
        tracemalloc.start()
        try:
            target.run(data)
            assert tracemalloc.get_traced_memory()[1] < _MEMORY_BYTES_MAX, data
        finally:
            tracemalloc.stop()


def test_what_is_kept_is_small_and_belongs_to_a_target() -> None:
    kept = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in kept) < _CORPUS_BYTES_MAX
    assert {path.parent.name for path in kept} <= set(names())


def test_mutations_are_the_same_for_one_seed() -> None:
    one, other = (list(islice(mutations([b"abc", b"12"], seed=3), 50)) for _ in range(2))
    assert one == other
    assert len(set(one)) > 25
