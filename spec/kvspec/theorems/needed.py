"""Nothing is redundant: every hypothesis that has a name is needed by some proof, or it is said why it is there.

For each part of each invariant, of what is assumed of a group and a pool, and of the rules of micro-steps, a proof is
named that fails without it: the hypothesis is dropped, and the solver finds a small example in which all the others
hold and the claim does not. For each term of each guard, `GUARD_TERMS` names the wrong variant that leaves it out.
"""

from __future__ import annotations

from typing import Any

from kvspec.algebra import Algebra
from kvspec.theorems import (
    arithmetic,
    atomicity,
    chunks,
    copying,
    data,
    guards,
    null_block,
    operations,
    ownership,
    prefix,
    refinement,
    ring,
    window,
)
from kvspec.theorems.obligation import PROOFS, Area, Build, Claim, Kind, Obligation

AREA = Area("needed")

_PROVED: dict[str, Obligation] = {
    obligation.id: obligation
    for area in (
        *(arithmetic, chunks, copying, guards, ownership, data, operations, prefix),
        *(window, null_block, ring, atomicity, refinement),
    )
    for obligation in area.OBLIGATIONS
    if obligation.kind in PROOFS
}

WITNESSES: dict[str, str] = {
    # who owns what
    "owner-has-rank": "ownership.take.own-number",
    "rank-has-owner": "ownership.refcount.counted",
    "free-iff-unowned": "ownership.entry.live",
    "free-in-range": "ownership.end.nothing-leaks",
    "no-owner": "ownership.start.owner-has-rank",
    "all-in-order": "ownership.start.free-iff-unowned",
    "all-free": "ownership.start.free-in-range",
    "possible": "ownership.take.conserves",
    "premise": "guards.allocate.sound",
    # what is read
    "read-back": "data.reader.reads-back",
    "exclusive-writer": "data.write.spoils-nobody",
    "same-content": "data.follow.brings-content",
    # what is found
    "published-exact": "prefix.revive.exact",
    "published-whole": "prefix.revive.computed",
    "published-fresh": "prefix.revive.fresh",
    "read-written": "prefix.publish.keeps.published-whole",
    "owners-whole": "prefix.write.never-published",
    "own-content": "prefix.publish.keeps.published-exact",
    "computed-by-all": "prefix.publish.keeps.owners-whole",
    "nothing-left": "prefix.renew.finds-nothing",
    "nothing-published": "prefix.start.published-exact",
    "no-more-than-known": "prefix.found.counted",
    "leaves-one-so-far": "prefix.found.leaves-one",
    "known-not-negative": "prefix.found.starts",
    "has-a-token": "prefix.found.starts",
    "takes-over-more": "prefix.found.one-more",
    "takes-over-no-more": "prefix.found.all",
    "goes-first": "prefix.order.least-recent",
    "prefix-no-earlier": "prefix.order.strands-nothing",
    "now-is-latest": "prefix.order.use",
    "uses-the-prefix-too": "prefix.order.use",
    "is-cached": "prefix.evict.drop-on-gpu",
    # what a window reads
    "within-block": "window.give-up.reads-back",
    "window-positive": "window.first-live.is-read",
    "computed-not-negative": "window.first-live.is-read",
    "still-to-compute": "window.dead-entries.are-unread",
    "live-held": "window.give-up.nothing-live",
    "nothing-covered": "window.start.live-held",
    "all-dead": "window.give-up.reads-back",
    "computed-grows": "window.compute.keeps.live-held",
    "position-is-live": "window.give-up.reads-back",
    "hits-taken-over": "window.hits.read-back",
    "in-a-block": "window.hits.read-back",
    "live-and-known": "window.hits.read-back",
    "gives-up-not-negative": "window.append.more-is-free",
    "is-new": "ring.slots.apart",
    "is-read": "ring.slots.apart",
    # the null block
    "set-aside": "null.pin.one-class",
    "not-the-pin": "null.release.stays-apart",
    "not-cached": "null.publish.never-cached",
    # what is counted
    "moves-not-negative": "guards.swap-in.sound",
    "copies-not-negative": "guards.append.sound",
    "rest-not-negative": "guards.swap-in.sound",
    "taken-from-free": "guards.allocate.sound",
    "taken-of-need": "guards.allocate.sound",
    "tight-so-far": "guards.table.tight",
    "wants-no-more": "guards.table.covers",
    "owners-left": "copying.turns.last-in-place",
    # what is assumed of a pool and a group
    "slots-not-negative": "guards.allocate.starts",
    "watermark-not-negative": "guards.swap-in.sound",
    "held-not-negative": "guards.swap-in.one-verdict",
    "free-within-total": "guards.append.one-verdict",
    "moved-not-negative": "guards.swap-out.starts",
    "hits-not-negative": "guards.allocate-with-hits.starts",
    "hits-are-of-the-prompt": "guards.allocate-with-hits.starts",
    "hits-are-blocks": "guards.allocate-with-hits.one-verdict",
    "ring-not-negative": "guards.allocate-in-ring.starts",
    "first-use-not-negative": "guards.append-with-null.starts",
    "free-within-unreserved": "guards.append-with-null.one-verdict",
    "chunk-positive": "chunks.end.goes-on",
    "has-unseen": "chunks.end.goes-on",
    "tokens-come": "chunks.drafts.last-is-new",
    "drafts-not-negative": "chunks.drafts.last-is-new",
    "drafts-in-range": "chunks.drafts.read-back",
    "others-not-negative": "guards.swap-in.starts",
    "table-covers-seen": "arithmetic.touched.bounds-growth",
    "shared-writes-not-negative": "guards.need.not-negative",
    # what a judge sees
    "unnamed": "refinement.unnamed-is-free",
    "unnamed-by-others": "refinement.emptied.last",
    "untouched": "refinement.touched.enough",
    "checked": "refinement.touched.enough",
}
"""For each named hypothesis, a proof that fails without it."""

UNNEEDED: dict[str, str] = {
    "each-place-one-block": "follows from the other parts by counting, each block standing in one of as many places, "
    "which a proof for any number of blocks cannot do: it is an instance of the pigeonhole principle",
    "copies-counted": "what the induction is about: the number of copies itself; nothing else rests on it",
    "block-size-positive": "what a quotient means presupposes it: without it, the definition of the quotient, a "
    "hypothesis too, has no solution",
}
"""The named hypotheses that no proof fails without, each with the reason why it is there."""

GUARD_TERMS: dict[str, dict[str, str]] = {
    "allocate-with-hits": {
        "tokens": "rounded-down",
        "lookahead": "lookahead-ignored",
        "held hits": "held-hits-ignored",
        "cached hits": "hits-free-too",
        "free": "total-for-free",
        "watermark": "watermark-ignored",
        "attainable": "never-forgets-held-hits",
    },
    "allocate": {
        "tokens": "rounded-down",
        "lookahead": "lookahead-ignored",
        "free": "total-for-free",
        "watermark": "watermark-ignored",
        "attainable": "never-by-free",
    },
    "allocate-in-ring": {
        "tokens": "rounded-down",
        "lookahead": "lookahead-ignored",
        "ring": "not-capped",
        "free": "total-for-free",
        "watermark": "watermark-ignored",
        "attainable": "never-by-the-prompt",
    },
    "append-with-null": {
        "first use": "first-use-ignored",
        "set aside already": "never-forgets-reserved",
    },
    "append": {
        "unseen tokens": "unseen-ignored",
        "lookahead": "lookahead-ignored",
        "entries already there": "tail-counted-again",
        "copy-on-write": "copies-ignored",
        "every sequence": "first-sequence-only",
        "blocks that the group holds": "never-forgets-held",
    },
    "swap-out": {
        "moved": "shared-never-counted",
        "empty lookahead blocks": "tail-forgotten",
        "free on the CPU": "by-the-other-pool",
    },
    "swap-in": {
        "moved": "moved-ignored",
        "unseen tokens": "unseen-ignored",
        "lookahead": "lookahead-ignored",
        "entries already there": "tail-counted-again",
        "copy-on-write": "copies-ignored",
        "every sequence": "first-sequence-only",
        "free on the GPU": "by-the-other-pool",
        "watermark": "watermark-ignored",
        "attainable": "never-without-append",
    },
}
"""For each term of each guard, the wrong variant that leaves it out: `guards.GUARD.wrong.NAME`, or `bent` of a guard
that is not played as a manager. What an append beside a null block shares with every append is not listed again.
"""


def without(obligation: Obligation, name: str) -> Build:
    """The claim of the obligation with one hypothesis dropped."""

    def build(a: Algebra, **numbers: Any) -> Claim:
        return obligation.build(a, **numbers).without(name)

    return build


for _name, _witness in WITNESSES.items():
    _proof = _PROVED[_witness]
    AREA.add(
        _name,
        Kind.REFUTATION,
        f"Without {_name}, it would not follow (in {_witness}): {_proof.statement[0].lower()}{_proof.statement[1:]}",
        without(_proof, _name),
        unknowns=_proof.unknowns,
        law=_proof.law,
        right=_proof.build,
    )

OBLIGATIONS = AREA.obligations
