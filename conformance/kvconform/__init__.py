"""kvconform: a conformance kit for the KV-cache block managers of LLM inference engines.

Start reading at `adapter` (what a third party implements), then `run` (one run under observation), `judge` (the laws on
each transition) and `check` (all tiers).
"""

from __future__ import annotations

from kvconform.adapter import Adapter, Capabilities, Domain, ErrorKind, Group, Order, Restriction, Seq
from kvconform.reproducing import LawBroken, Replay, replay_operations
from kvspec.vocabulary import Config, Device, Status, Verdict

__version__ = "0.1.0"

__all__ = [
    "Adapter",
    "Capabilities",
    "Config",
    "Device",
    "Domain",
    "ErrorKind",
    "Group",
    "LawBroken",
    "Order",
    "Replay",
    "Restriction",
    "Seq",
    "Status",
    "Verdict",
    "__version__",
    "replay_operations",
]
