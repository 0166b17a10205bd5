"""Who is killed when. Pure: the same seed gives the same kills."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

PAUSE_S = (0.3, 5.0)  # between a start and the next kill
STARTING_S = (0.0, 2.0)  # the same while the program still starts: Python and its modules take that long
_AGAIN, _TWO = 0.2, 0.2  # shares of the kills that hit a start, and that hit two at once


@dataclass(frozen=True, slots=True)
class Strike:
    """After ``pause_s`` all ``victims`` are killed at once."""

    pause_s: float
    victims: tuple[str, ...]


def plan(names: Sequence[str], kills: int, seed: int) -> list[Strike]:
    """Strikes with ``kills`` victims in all; each of ``names`` is hit before one is hit twice."""
    dice = random.Random(seed)
    first = dice.sample(list(names), len(names))
    strikes: list[Strike] = []
    left = kills
    while left:
        if first:
            strike = Strike(dice.uniform(*PAUSE_S), (first.pop(),))
        elif strikes and dice.random() < _AGAIN:
            strike = Strike(dice.uniform(*STARTING_S), strikes[-1].victims[:1])
        elif left >= 2 and dice.random() < _TWO:
            strike = Strike(dice.uniform(*PAUSE_S), tuple(dice.sample(list(names), 2)))
        else:
            strike = Strike(dice.uniform(*PAUSE_S), (dice.choice(names),))
        strikes.append(strike)
        left -= len(strike.victims)
    return strikes
