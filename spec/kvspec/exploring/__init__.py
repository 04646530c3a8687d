"""The parts of the explicit-state exploration, `kvspec.explore`.

- `scopes`: the small configurations, and the bounds on arguments;
- `choices`: which operations are legal in a state;
- `sight`: a state as it can be seen, and its canonical key;
- `states`, `transitions`, `requests`: what must hold of a state, of an operation, of what a guard said;
- `search`: breadth first, from state to state;
- `judging`: laws, and the tally of what was checked;
- `coverage`: what must have been exercised.
"""
