"""Finds a smallest example of breaking each law again, and keeps it with the kit: `make examples` (minutes).

With laws as arguments only theirs.
"""

import sys

from kvconform.examples import FOLDER, keep
from kvspec.laws import CATALOGUE

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for law_id in sys.argv[1:] or CATALOGUE:
        found = keep(CATALOGUE[law_id], FOLDER)
        told = f"{len(found.operations)} operations" if found else "NONE FOUND"
        print(f"{law_id:32}{told}", flush=True)
