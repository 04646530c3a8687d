"""The model: what a KV cache with sharing and swap is, and everything that can happen to it.

- `columns`: memory that is read and put;
- `pool`: who owns which block of one device, with the invariant of that;
- `cache`: a pool and what its blocks hold, with the invariant of that;
- `index`: a cache whose whole blocks can be found by their content, with the invariant of that;
- `steps`: the micro-steps, as a table;
- `operations`: each operation as a composition of micro-steps.

Written once over `kvspec.algebra`: solver terms and plain numbers run the same text.
"""
