# Two commands for newcomers: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Files that say what to install: the environment is remade when they change.
BASE := $(VENV)/.base
DEV := $(VENV)/.dev

# How long `make soak` looks for disagreements.
MINUTES ?= 10

.PHONY: demo test test-all lint bench soak clean

demo: $(BASE)
	@$(BIN)/cpwl demo

test: $(DEV) lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

# All tests, the slow ones too, and random examples that are new each time.
test-all: $(DEV) lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup --hypothesis-profile=random

lint: $(DEV)
	$(BIN)/ruff check src tests examples docs
	$(BIN)/ruff format --check src tests examples docs
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEV)
	$(BIN)/cpwl bench

soak: $(DEV)
	PYTHONPATH=tests $(BIN)/python -m soak --minutes $(MINUTES)

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BASE): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plot]"
	@touch $@

$(DEV): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test-torch]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,plot]"
	@touch $(BASE) $@
