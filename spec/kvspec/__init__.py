"""kvspec: what a correct block manager is. Pure: it knows no implementation, and only the prover knows a solver.

Start reading at `vocabulary` (the words), `arithmetic` and `guards` (the rules), `laws` (the requirements), then
`theorems` (what is proved about the rules) and `edges` (the vectors).
"""
