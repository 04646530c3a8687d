"""Laws of prefix caching: blocks shared by content, across sequences and after their owners are gone.

A *hit* is a whole block, from the start of a prompt on, whose KV a sequence takes over instead of computing it. A block
is *published* once it may be hit, *cached* while it may be and nobody owns it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.base import Law
from kvspec.vocabulary import Capability, Level


@dataclass(frozen=True)
class Hit:
    """The tokens that an admission took over. slots: how many. strange: those whose slots hold other KV than that of
    exactly this prefix. unwritten: those whose KV was never written, and will not be by a sequence that runs in the
    same step. stale: how much of it was computed before the index was reset, and not since.
    """

    slots: Any
    strange: Any = 0
    unwritten: Any = 0
    stale: Any = 0


@dataclass(frozen=True)
class Prompt:
    """An admission with the longest run of whole blocks that must be in the index. tokens: of the prompt. cached:
    tokens that were taken over. known: tokens of that run.
    """

    tokens: Any
    cached: Any
    known: Any


@dataclass(frozen=True)
class Reuse:
    """A published block that was handed out for something else. owners: live sequences that owned it. older: cached
    blocks left alone although they were released, and last used, at an earlier time. stranded: cached blocks left
    behind whose prefix went with it.
    """

    owners: Any = 0
    older: Any = 0
    stranded: Any = 0


def holds_just_this(a: Algebra, hit: Hit) -> Any:
    """No strange slot."""
    return hit.strange == 0


def was_computed(a: Algebra, hit: Hit) -> Any:
    """No unwritten slot."""
    return hit.unwritten == 0


def is_fresh(a: Algebra, hit: Hit) -> Any:
    """No stale slot."""
    return hit.stale == 0


def hits_something(a: Algebra, hit: Hit) -> Any:
    """There is a hit."""
    return hit.slots >= 1


def leaves_one(a: Algebra, prompt: Prompt) -> Any:
    """A token is left to compute."""
    return prompt.cached < prompt.tokens


def is_known_whole(a: Algebra, prompt: Prompt) -> Any:
    """The whole prompt could have been taken over."""
    return prompt.known >= prompt.tokens


def finds_all(a: Algebra, prompt: Prompt) -> Any:
    """The whole run was taken over."""
    return prompt.cached >= prompt.known


def is_known(a: Algebra, prompt: Prompt) -> Any:
    """There is something to be found, and a token is left. Of a prompt that is known whole managers give up more or
    less, to leave one.
    """
    return a.all_of(prompt.known >= 1, prompt.tokens > prompt.known)


def owned_by_nobody(a: Algebra, reuse: Reuse) -> Any:
    """It had no owner."""
    return reuse.owners == 0


def is_the_oldest(a: Algebra, reuse: Reuse) -> Any:
    """Nothing older was left."""
    return reuse.older == 0


def strands_nothing(a: Algebra, reuse: Reuse) -> Any:
    """Nothing is left behind."""
    return reuse.stranded == 0


CACHING = (Capability.PREFIX_CACHING,)
VLLM_DESIGN = "vLLM's automatic prefix caching design"

LAWS = (
    Law(
        "prefix.hit-exact",
        Level.MUST,
        "A hit returns only blocks that hold the KV of exactly this prefix, extra keys included, whatever collides.",
        Hit,
        holds_just_this,
        applies=hits_something,
        breaking=Hit(slots=1, strange=1),
        needs=CACHING,
        source="Anything else is silent wrong output; fault classes C22 and C25: a stale or an ambiguous key.",
    ),
    Law(
        "prefix.hit-computed",
        Level.MUST,
        "No sequence takes over KV that was never written, and that no sequence of the same step is about to write.",
        Hit,
        was_computed,
        applies=hits_something,
        breaking=Hit(slots=1, unwritten=1),
        needs=CACHING,
        source="Fault class C23: published before the data exist, and the writer is gone.",
    ),
    Law(
        "prefix.evict-unreferenced",
        Level.MUST,
        "A published block that somebody owns is never handed out for something else.",
        Reuse,
        owned_by_nobody,
        breaking=Reuse(owners=1),
        needs=CACHING,
        source=f"{VLLM_DESIGN}: only blocks without reference are evicted; fault class C27.",
    ),
    Law(
        "prefix.leave-one",
        Level.MUST,
        "A prompt that is in the index whole leaves at least one token to compute.",
        Prompt,
        leaves_one,
        applies=is_known_whole,
        breaking=Prompt(tokens=4, cached=4, known=4),
        needs=(Capability.PREFIX_CACHING, Capability.LEAVES_ONE),
        source=f"{VLLM_DESIGN}: the last token must be computed to have logits; fault class C26.",
    ),
    Law(
        "prefix.hit-maximal",
        Level.SHOULD,
        "The longest run of whole blocks that is in the index is found.",
        Prompt,
        finds_all,
        applies=is_known,
        breaking=Prompt(tokens=5, cached=2, known=4),
        needs=CACHING,
        source="What the cache is for; fault class C22: a stored block that cannot be reached.",
    ),
    Law(
        "prefix.lru",
        Level.SHOULD,
        "Eviction takes the least recently used cached block first, as far as the clock tells that orders uses.",
        Reuse,
        is_the_oldest,
        breaking=Reuse(older=1),
        needs=CACHING,
        source=f"{VLLM_DESIGN}, and RadixAttention (Zheng et al. 2024), section 3; fault class C28.",
    ),
    Law(
        "prefix.descendants-first",
        Level.SHOULD,
        "Eviction never strands a cached block whose prefix is gone.",
        Reuse,
        strands_nothing,
        breaking=Reuse(stranded=1),
        needs=CACHING,
        source="RadixAttention (Zheng et al. 2024), section 3: leaves first; fault classes C22 and C29.",
    ),
    Law(
        "prefix.reset",
        Level.MUST,
        "After the index was reset, nothing computed before is a hit.",
        Hit,
        is_fresh,
        applies=hits_something,
        breaking=Hit(slots=1, stale=1),
        needs=(Capability.PREFIX_CACHING, Capability.RESET_INDEX),
        source="The weights may have changed in between, as in training; fault class C34: incomplete reset.",
    ),
)
