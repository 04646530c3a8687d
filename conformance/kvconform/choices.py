"""Laws and capabilities as a user names them. Apart, so that commands that check nothing need not load the tiers."""

from __future__ import annotations

from collections.abc import Iterable

from kvconform.errors import UsageError
from kvspec.laws import CATALOGUE, Law
from kvspec.vocabulary import Capability


def choose_laws(ids: Iterable[str]) -> list[Law]:
    """The laws of these ids, or all. Raises UsageError for an unknown one."""
    wanted = list(ids)
    unknown = [law for law in wanted if law not in CATALOGUE]
    if unknown:
        raise UsageError(f"unknown law {unknown[0]!r}; see: kvconform laws")
    return [CATALOGUE[law] for law in dict.fromkeys(wanted)] or list(CATALOGUE.values())


def choose_capabilities(names: Iterable[str]) -> frozenset[Capability]:
    """The capabilities of these names. Raises UsageError for an unknown one."""
    known = {capability.value: capability for capability in Capability}
    for name in names:
        if name not in known:
            raise UsageError(f"unknown capability {name!r}; known: {', '.join(sorted(known))}")
    return frozenset(known[name] for name in names)


def needs(law: Law, capabilities: frozenset[Capability]) -> str:
    """What the law needs and the manager does not have, in words."""
    missing = [c.value for c in law.needs if c not in capabilities]
    if law.needs_any and capabilities.isdisjoint(law.needs_any):
        missing.append(" or ".join(c.value for c in law.needs_any))
    return ", ".join(missing)
