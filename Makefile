# Everything a newcomer needs. `make run` works in a fresh clone with nothing but Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
LOCK := requirements/dev.txt
SLOW := drill or browser or conformance or fuzz or slow
WORKERS ?= 2
COMPILE = $(PY) -m uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-config --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --quiet $(UPGRADE)

.PHONY: help run test test-slow check check-style check-types check-layers check-django format bench lock env conformance-tools clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' Makefile

run: env ## start everything on this machine and say what to open (PORT=8000, SANDBOX_PORT=8001)
	@exec $(PY) -m breakpass.embedded run

test: env ## run the quick tests on their own PostgreSQL and Redis
	$(PY) -m pytest -q -n $(WORKERS) --dist loadfile -m "not ($(SLOW))" $(ARGS)

test-slow: env conformance-tools ## run the drills, the browser, the conformance suite and the fuzzing
	$(PY) -m pytest -q --timeout 600 -m "$(SLOW)" $(ARGS)

check: check-style check-types check-layers check-django ## format, lint, types, layers, migrations, production settings

check-style: env
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .

check-types: env
	$(PY) -m mypy

check-layers: env
	$(VENV)/bin/lint-imports

check-django: env
	$(PY) -m breakpass.embedded with $(PY) manage.py makemigrations --check --dry-run
	set -a; . docs/production.env.example; set +a; $(PY) manage.py check --deploy --fail-level WARNING

format: env ## format the code and mend what can be mended
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

bench: env ## measure requests per second and latency, side by side
	$(PY) -m breakpass.embedded with --durable $(PY) -m benchmarks $(ARGS)

lock: env ## pin all dependencies again with their hashes (UPGRADE=--upgrade for newer ones)
	$(COMPILE) -o requirements/base.txt
	$(COMPILE) --group dev -c requirements/base.txt -o $(LOCK)

conformance-tools: env ## install the MCP conformance suite (Node.js comes from a wheel)
	@cmp -s tests/conformance/package-lock.json tests/conformance/node_modules/.installed.json || { \
		$(PY) -m tests.conformance.node npm ci --no-audit --no-fund --ignore-scripts --loglevel error && \
		cp tests/conformance/package-lock.json tests/conformance/node_modules/.installed.json; }

# The environment is made again when the lock file's content, not its date, has changed.
env:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "BreakPass needs Python 3.11 or newer; name one with PYTHON=python3.12 make $(MAKECMDGOALS)." >&2; exit 1; }
	@cmp -s $(LOCK) $(VENV)/installed.txt && $(PY) -c '' 2>/dev/null || { \
		echo "Making the environment in $(VENV) (once; about a minute)…"; \
		{ test -x $(PY) && $(PY) -m pip --version >/dev/null 2>&1; } || $(PYTHON) -m venv --clear $(VENV) || { \
			echo "Python's venv module is missing (on Debian: apt install python3-venv)." >&2; exit 1; }; \
		$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK) && \
		$(PY) -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "breakpass.pth").write_text("$(CURDIR)\n")' && \
		cp $(LOCK) $(VENV)/installed.txt; }

clean: ## remove the environment and the tools' caches; the data in var/ stays
	rm -rf $(VENV) tests/conformance/node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
