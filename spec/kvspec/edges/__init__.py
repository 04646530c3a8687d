"""The edges of the four admission guards, and for each a shortest life of an engine that leads there.

`goals` says which edges there are, `model` how the counts of a block manager move, `search` finds the vectors and
`proofs` shows which goals no state can meet; `vectors` is what the kit loads, without the solver.
"""
