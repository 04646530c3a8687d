"""`python -m kvconform`."""

from kvconform.cli import main

main()
