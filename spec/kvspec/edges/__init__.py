"""The edge classes of the four admission guards, and for each a shortest life of an engine that leads there.

`atoms` says what decides a guard and `goals` which classes that makes; `model` how the counts of a block manager move
and `meaning` what the atoms mean there; `family` which lives are enumerated, `search` and `pools` how, `cover` which of
them become vectors, `writing` how those are written; `proofs` shows which classes no state can meet. `vectors` is what
the kit loads, without the solver; `coverage` counts.
"""
