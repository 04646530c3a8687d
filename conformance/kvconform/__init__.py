"""kvconform: the conformance kit."""
