"""One report, many views. `model` is the report, `terminal` shows it to a person."""
