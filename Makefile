# What to type: make layout, make test, make test-slow, make bench.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: layout test test-slow bench clean
.DEFAULT_GOAL := test

# The stamp is older than pyproject.toml exactly when the environment must be made or renewed.
.venv: .venv/stamp
.venv/stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

layout: .venv/stamp
	$(BIN)/tierplan solve workloads/two-directions.yaml --out out/two-directions

test: .venv/stamp
	$(BIN)/ruff check .
	$(BIN)/mypy optimizer
	$(BIN)/pytest -n 2 --dist loadfile

test-slow: .venv/stamp
	$(BIN)/pytest -m slow

bench: .venv/stamp
	$(BIN)/python -m benchmarks.simulator --docs

clean:
	rm -rf .venv out dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
