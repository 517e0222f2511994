# Two commands for newcomers: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Files that say what to install: the environment is remade when they change.
BASE := $(VENV)/.base
DEV := $(VENV)/.dev
DOCS := $(VENV)/.docs
LOWEST := .venv-lowest
PYTHONS := .venv-pythons

# Compiled modules are kept, whatever the environment says: commands and workers that tests start load in half the time.
export PYTHONDONTWRITEBYTECODE :=

# How long `make soak` looks for disagreements.
MINUTES ?= 10

# The requirements of a dependency group of pyproject.toml, one a line: `pip install --group` needs pip 25.1.
GROUP := 'import sys, tomllib; groups = tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]; \
	flat = lambda name: [r for e in groups[name] for r in (flat(e["include-group"]) if isinstance(e, dict) else [e])]; \
	print(*flat(sys.argv[1]), sep="\n")'
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-all test-lowest test-pythons lint bench docs soak release clean

demo: $(BASE)
	@$(BIN)/cpwl demo

test: $(DEV) lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

# All tests, the slow ones too, and random examples that are new each time.
test-all: $(DEV) lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup --hypothesis-profile=random

# A smoke run with the lowest versions of all libraries that pyproject.toml allows, in an environment of its own.
SMOKE := tests/test_import.py tests/test_files.py tests/io/test_json.py tests/io/test_onnx.py \
	tests/cli/test_cli.py tests/exact tests/geometry/test_generators.py tests/construct/test_hinge.py

test-lowest: $(LOWEST)/.made
	$(LOWEST)/bin/python -m pytest -n 2 -m "not slow" -W ignore::DeprecationWarning $(SMOKE)

# The same with each Python that is on this machine, on the wheel and not on this folder.
test-pythons:
	PYTHON=$(PYTHON) tests/smoke/pythons.sh $(PYTHONS) $(SMOKE)

lint: $(DEV)
	$(BIN)/ruff check src tests examples docs benchmarks
	$(BIN)/ruff format --check src tests examples docs benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEV)
	$(BIN)/python benchmarks/bench.py

# The documentation as a site in build/site: strict, links checked, readable without network access.
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

soak: $(DEV)
	PYTHONPATH=tests:benchmarks $(BIN)/python -m soak --minutes $(MINUTES)

clean:
	rm -rf $(VENV) $(LOWEST) $(PYTHONS) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Wheel, sdist and the checker in one file, in dist/, each tried in an environment that has nothing else.
release: $(DEV)
	PYTHON=$(BIN)/python tests/smoke/release.sh dist

$(BASE): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

$(DEV): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -c $(GROUP) torch > $(VENV)/torch.txt
	$(BIN)/python -c $(GROUP) dev > $(VENV)/dev.txt
	$(PIP) -r $(VENV)/torch.txt
	$(PIP) -r $(VENV)/dev.txt -e .
	@touch $(BASE) $@

$(DOCS): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -c $(GROUP) docs > $(VENV)/docs.txt
	$(PIP) -r $(VENV)/docs.txt -e .
	@touch $(BASE) $@

$(LOWEST)/.made: pyproject.toml
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(PYTHON) -c 'import tomllib; print(*(d.replace(">=", "==") for d in tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]), sep="\n")' > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(LOWEST)/lowest.txt \
		-e . onnxruntime matplotlib hypothesis pytest pytest-xdist
	@touch $@
