# Everything runs in .venv, which is made on first use and again whenever pyproject.toml changes.
# On a fresh machine: Python 3.10 or later, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
WORKERS ?= 2

.PHONY: help verify test lint types contracts check docs site screenshot examples vectors vectors-check engines bench bench-edges clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 16

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

verify: $(READY) ## prove the specification with both solvers, and check the reference manager against it
	$(BIN)/kvconform prove --solver both
	$(BIN)/kvconform check reference

test: $(READY) ## all tests; fetches the few published engines that they need
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

lint: $(READY) ## style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## types, strict
	$(BIN)/mypy

contracts: $(READY) ## who may import whom
	$(BIN)/lint-imports

check: test lint types contracts ## what CI runs

docs: $(READY) ## write the pages of docs/ that come from data
	$(BIN)/python docs/generate.py

site: $(READY) ## the documentation as a site, in build/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

examples: $(READY) ## find a smallest example of breaking each law again (minutes)
	$(BIN)/python docs/find_examples.py

screenshot: $(READY) ## draw the picture of the HTML report in docs/images (needs a Chromium)
	$(BIN)/python docs/screenshot.py

vectors: $(READY) ## generate the edge cases again (minutes)
	$(BIN)/kvconform vectors generate

bench-edges: $(READY) ## which edge classes random tests reach without the vectors (minutes)
	$(BIN)/python benchmarks/edges.py

vectors-check: $(READY) ## whether the shipped edge cases are what is generated (minutes)
	$(BIN)/kvconform vectors generate --check

engines: $(READY) ## fetch the published engines that the README names, and check them
	$(BIN)/kvconform engines fetch vllm==0.2.7 vllm==0.6.2 vllm==0.6.3 vllm==0.10.2
	-$(BIN)/kvconform check vllm-v0-v1@0.2.7 --without window --out .kvconform/vllm-0.2.7
	-$(BIN)/kvconform check vllm-v0-v2@0.6.2 --without lookahead --out .kvconform/vllm-0.6.2
	-$(BIN)/kvconform check vllm-v0-v2@0.6.3 --out .kvconform/vllm-0.6.3
	-$(BIN)/kvconform check vllm-v0-v2@0.10.2 --out .kvconform/vllm-0.10.2

bench: $(READY) ## measure; see benchmarks/
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/proofs.py

clean: ## remove what was made here
	rm -rf $(VENV) .kvconform .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
