"""Profiles: what a check may spend, and where its seed comes from.

Knows numbers only. `quick` and `ci` count operations, so that the same seed gives the same report on any machine;
`nightly` is a box of time that random rounds fill.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace

from kvconform.errors import UsageError


@dataclass(frozen=True)
class Profile:
    """What a check may spend. walk: operations of the fast walk. examples, steps: of the hypothesis machine. workloads:
    for the scheduler. repeats: runs done twice. shrink: operations for making findings small. guard: seconds after
    which a check is taken to hang.

    seconds: None for one round of all this; else rounds are begun, each with chances of its own, until so many seconds
    are over. shrink_seconds: after so many, what was found is reported as it is. keeps: whether what fails is kept in a
    database and tried first next time.
    """

    name: str
    walk: int
    examples: int
    steps: int
    workloads: int
    repeats: int
    shrink: int
    guard: float = 300.0
    seconds: float | None = None
    shrink_seconds: float | None = None
    keeps: bool = False


LEAST_SHRINKING, SLACK = 60.0, 600.0


def boxed(profile: Profile, seconds: float) -> Profile:
    """The profile, with a box of so many seconds for its rounds, a fifth of it (a minute at least) for shrinking."""
    shrinking = max(LEAST_SHRINKING, seconds / 5)
    return replace(profile, seconds=seconds, shrink_seconds=shrinking, guard=seconds + shrinking + SLACK)


PROFILES = {
    "quick": Profile("quick", 20_000, 30, 25, 12, 4, 40_000),
    "ci": Profile("ci", 200_000, 300, 40, 60, 20, 200_000, guard=3_600),
    "nightly": boxed(Profile("nightly", 100_000, 200, 60, 40, 10, 1_000_000, keeps=True), 1_800),
}


def choose_profile(name: str, time: str | None = None) -> Profile:
    """The profile of this name, with this box of time. Raises UsageError for an unknown one, for a time that is none,
    and for one that the profile does not have.
    """
    if name not in PROFILES:
        raise UsageError(f"unknown profile {name!r}; known: {', '.join(PROFILES)}")
    profile = PROFILES[name]
    if time is None:
        return profile
    if profile.seconds is None:
        boxes = ", ".join(name for name, profile in PROFILES.items() if profile.seconds is not None)
        raise UsageError(f"profile {name} counts operations and has no --time; those that have: {boxes}")
    return boxed(profile, seconds_of(time))


UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600}
LONGEST = 7 * 24 * 3_600


def seconds_of(time: str) -> float:
    """Seconds of 90, 90s, 30m or 8h. Raises UsageError for anything else, and for more than a week."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smh]?)", time.strip(), re.ASCII)
    seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not 0 < seconds <= LONGEST:
        raise UsageError(f"{time!r} is no time; write 90s, 30m or 8h, a week at most")
    return seconds


MOST_SEEDS = 2**31


def choose_seed(profile: Profile, seed: int | None) -> int:
    """The seed asked for; else 0 where one round is to be repeated, and a random one where rounds fill a time."""
    if seed is not None:
        return seed
    return 0 if profile.seconds is None else random.SystemRandom().randrange(MOST_SEEDS)
