"""Distinguishing vectors: for each wrong variant of the formal model, a shortest life of an engine that tells it.

What the solver refutes by an example of any state, this finds as operations from the empty state, so that any block
manager can be asked the same. Found by enumeration in plain Python, in small configurations, without a solver.

- `bent`: a manager that is wrong in one way; `variant`: which way that is;
- `guarding`, `counting`, `stepping`, `failing`: every wrong variant as such a manager;
- `lives`: what an engine may do next; `observed`: what of it can be seen;
- `search`: breadth first, right and wrong side by side; `writing`: as vectors;
- `every`: all of them.
"""

from kvspec.edges.catching.every import OutOfReach, Undecided, out_of_reach, vectors

__all__ = ["OutOfReach", "Undecided", "out_of_reach", "vectors"]
