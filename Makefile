# What to type: make layout, make test, make test-slow, make bench (minutes), make bench-full (hours).
PYTHON ?= python3
BIN := .venv/bin

.PHONY: layout test test-slow bench bench-full clean
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

# At the end stands what moved since benchmarks/baseline.json.
bench bench-full: LINES = out/bench/$@.jsonl
bench bench-full: .venv/stamp
	rm -f $(LINES)
	$(BIN)/python -m benchmarks.simulator --docs --lines $(LINES)
	$(BIN)/python -m benchmarks.solving --docs --lines $(LINES) $(if $(filter %-full,$@),--full)
	$(BIN)/python -m benchmarks.moved $(LINES)

clean:
	rm -rf .venv out dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
