# Two commands do everything on a machine that has only python3 and make:
#   make test        set up .venv, then lint, type-check and test
#   make reproduce   set up .venv, then run the paper's synthetic study and write its report
# and make docs builds the documentation, to be opened at site/index.html.

PYTHON ?= python3
DEVICE ?= cpu# of make benchmark: cpu or cuda
VENV   := .venv
BIN    := $(VENV)/bin
PYTEST := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/pytest# where cores are shared, threads that wait sleep

export PYTHONDONTWRITEBYTECODE :=# modules are compiled once, not by each of the many processes

# Tests in which processes are killed, hang or have a deadline; they mostly wait, so they run one by
# one beside all others, which compute on two cores. What is done first makes room for the types.
DEADLINES := $(addprefix tests/distributed/test_, examples.py failures.py launch.py restart.py)

.PHONY: test reproduce docs notebooks benchmark peers setup lint types deadlines units clean

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev,docs]"
	touch $@

setup: $(VENV)/ready

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

deadlines: setup
	$(PYTEST) $(DEADLINES) --reruns 2  # a deadline can pass on a busy machine

units: setup
	$(PYTEST) -n 2 --dist worksteal $(DEADLINES:%=--ignore %)

test: lint
	$(MAKE) --jobs 2 deadlines units types

reproduce: setup
	$(BIN)/gossamer run synthetic theory
	$(BIN)/gossamer report

docs: setup
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build --fail-on-warning --quiet --fresh-env --jobs 2 --doctree-dir build/doctrees docs site
	@echo "Documentation: $(CURDIR)/site/index.html"

notebooks: setup
	$(BIN)/python docs/scripts/notebooks.py

$(VENV)/jax: $(VENV)/ready
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[benchmark]"
	touch $@

benchmark: $(VENV)/jax
ifeq ($(DEVICE),cuda)
	$(BIN)/python benchmarks/sweep.py --device cuda
	$(BIN)/python benchmarks/module_problem.py --device cuda
	$(BIN)/python benchmarks/gpt_step.py
	$(BIN)/python benchmarks/gpt_sizes.py
else
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/module_problem.py
	$(BIN)/python benchmarks/busy.py --only sweep
endif
	$(BIN)/python benchmarks/speeds.py

peers: setup
	$(BIN)/python benchmarks/peers/run.py

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis build site jupyter_execute
