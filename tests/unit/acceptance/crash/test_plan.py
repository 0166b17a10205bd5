"""The same seed kills the same, in the number asked for, and everybody at least once."""

from tests.acceptance.crash.plan import plan

NAMES = ("ingest", "analytics", "kafka")


def test_the_same_seed_gives_the_same_kills():
    assert plan(NAMES, 30, 4) == plan(NAMES, 30, 4) != plan(NAMES, 30, 5)


def test_everybody_is_killed_and_some_twice_at_once_or_in_their_start():
    strikes = plan(NAMES, 100, 1)
    victims = [victim for strike in strikes for victim in strike.victims]
    assert len(victims) == 100
    assert set(victims[: len(NAMES)]) == set(NAMES)
    assert any(len(strike.victims) == 2 for strike in strikes)
    assert any(strike.pause_s < 0.3 for strike in strikes)
