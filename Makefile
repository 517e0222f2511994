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

# How long `make soak` looks for disagreements.
MINUTES ?= 10

.PHONY: demo test test-all test-lowest test-pythons lint bench docs soak clean

demo: $(BASE)
	@$(BIN)/cpwl demo

test: $(DEV) lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

# All tests, the slow ones too, and random examples that are new each time.
test-all: $(DEV) lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup --hypothesis-profile=random

# A smoke run with the lowest versions of all libraries that pyproject.toml allows, in an environment of its own.
SMOKE := tests/test_import.py tests/test_files.py tests/formats/test_json.py tests/formats/test_onnx.py \
	tests/cli/test_cli.py tests/exact tests/geometry/test_generators.py tests/construct/test_hinge.py

test-lowest: $(LOWEST)/.made
	$(LOWEST)/bin/python -m pytest -n 2 -m "not slow" -W ignore::DeprecationWarning $(SMOKE)

# The same with each Python that is on this machine, on the wheel and not on this folder.
test-pythons:
	PYTHON=$(PYTHON) tests/smoke/pythons.sh $(PYTHONS) $(SMOKE)

lint: $(DEV)
	$(BIN)/ruff check src tests examples docs
	$(BIN)/ruff format --check src tests examples docs
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEV)
	$(BIN)/cpwl bench

# The documentation as a site in build/site: strict, links checked, readable without network access.
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

soak: $(DEV)
	PYTHONPATH=tests $(BIN)/python -m soak --minutes $(MINUTES)

clean:
	rm -rf $(VENV) $(LOWEST) $(PYTHONS) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BASE): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plot]"
	@touch $@

$(DEV): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test-torch]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,plot,doors]"
	@touch $(BASE) $@

$(DOCS): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs,plot]"
	@touch $(BASE) $@

$(LOWEST)/.made: pyproject.toml
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(PYTHON) -c 'import tomllib; print(*(d.replace(">=", "==") for d in tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]), sep="\n")' > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(LOWEST)/lowest.txt \
		-e . onnxruntime matplotlib hypothesis pytest pytest-xdist
	@touch $@
