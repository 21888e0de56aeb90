# One word per command; `make help` lists them.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
BARE := $(VENV)/.installed
STAMP := $(VENV)/.developed
# Bytecode is kept: without it every process that a test starts compiles the package anew.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(PY) -m pytest -q -p no:cacheprovider

.DEFAULT_GOAL := help

# What a run needs: enough for the demos, and a third of the packages that the tests need. To compile all of torch to
# bytecode takes longer than everything else here: Python compiles what it imports, once.
$(BARE): pyproject.toml
	$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else f"Assay needs Python 3.11 to 3.13, this is {v[0]}.{v[1]}. Name another: make PYTHON=python3.11 ...")'
	@echo "making $(VENV) and installing Assay; torch is most of it"
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --no-compile --constraint constraints.txt --editable .
	touch $@

$(STAMP): $(BARE) pyproject.toml
	@echo "installing the development tools into $(VENV); this takes some minutes"
	$(PY) -m pip install --quiet --upgrade 'pip>=25.1'
	$(PY) -m pip install --quiet --constraint constraints.txt --group dev --editable '.[gym,control]'
	touch $@

install: $(STAMP)  ## create .venv and install everything into it

# The small ones first: where time runs out, they are there.
DEBIAN := bubblewrap metamath metamath-databases iverilog yosys coq

externals:  ## install the programs that some verifiers ask: bubblewrap metamath metamath-databases iverilog yosys coq (Debian, as root)
	@command -v apt-get >/dev/null || { echo "make externals needs apt-get, which is not here. Install by hand what you need of: $(DEBIAN)"; exit 1; }
	@test "$$(id -u)" = 0 || { echo "make externals installs with apt-get, which needs root: sudo make externals"; exit 1; }
	apt-get update -qq
	@failed=""; for one in $(DEBIAN); do \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$one </dev/null || failed="$$failed $$one"; \
	done; test -z "$$failed" || { echo "apt-get could not install:$$failed"; exit 1; }
	@echo "installed: $(DEBIAN). 'assay doctor --externals' examines them."

demo: $(BARE)  ## train a small model that visibly learns; ends with a table and a report
	PYTHONDONTWRITEBYTECODE= $(PY) -m assay demo

demo-real: $(BARE)  ## download a real language model, 93 MB, and train it (some minutes); ends with table and report
	PYTHONDONTWRITEBYTECODE= $(PY) -m assay get smollm2
	PYTHONDONTWRITEBYTECODE= $(PY) -m assay demo --real

# One more than the cores of a small machine: a fifth of the time tests wait for something. WORKERS=9 make test on 8 cores.
WORKERS ?= 3

test: check  ## lint, format, spelling and types, then all tests (a quarter of an hour on two cores; types of a new clone 3 minutes more)
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not deep and not scale"

test-fast: $(STAMP)  ## the tests to run on every save (under a minute)
	$(PYTEST) -n 2 --dist worksteal -m "not deep and not slow and not scale" --hypothesis-profile=fast

PART := 1/1

test-deep: $(STAMP)  ## everything: all recipes, soaks, long simulations; a missing external fails (PART=2/4: the second of four parts)
	ASSAY_EXTERNALS=all $(PYTEST) -n $(WORKERS) --dist worksteal -m "not deep and not scale" --all-recipes --part $(PART)
	ASSAY_EXTERNALS=all $(PYTEST) -m deep --all-recipes --part $(PART)

$(VENV)-vllm/bin/python:
	PYTHON=$(PYTHON) bash bench/setup.sh vllm

# Libraries of agents that train at the door. None of them can live with another, nor with us.
AGENTS := openai verifiers inspect_ai
$(AGENTS:%=$(VENV)-%/bin/python): $(VENV)-%/bin/python:
	PYTHON=$(PYTHON) bash bench/setup.sh $*

$(VENV)-mcp/bin/python:
	$(PYTHON) -m venv $(VENV)-mcp
	$(VENV)-mcp/bin/python -m pip install --quiet mcp-server-time==2026.10.19

environments: $(STAMP)  ## install the libraries whose environments are played, each into an environment of its own (`assay list worlds`)
	$(PY) -m assay.worlds.foreign

APART := $(VENV)-vllm/bin/python $(VENV)-mcp/bin/python $(AGENTS:%=$(VENV)-%/bin/python)
test-scale: $(STAMP) $(APART)  ## real Ray clusters, a real vLLM server, an MCP server, agents and environments of other libraries, which it installs (half an hour), and then kills
	$(PY) -m pip install --quiet --constraint constraints.txt --editable '.[gym,control,scale]'
	$(PY) -m assay.worlds.foreign
	ASSAY_EXTERNALS=all $(PYTEST) -m scale -k "not piece"
	$(MAKE) kills PIECES="$(PIECES)"

PIECES := 1 2 3 4

kills: $(STAMP)  ## a hundred processes of runs are killed or stopped at random, in pieces of less than 80 minutes (PIECES=2: one of the four)
	$(PY) -m pip install --quiet --constraint constraints.txt --editable '.[gym,control,scale]'
	@for piece in $(PIECES); do $(PYTEST) -s -m scale -k piece-$$piece- tests/run/test_random_kills.py || exit 1; done

test-versions: $(STAMP)  ## all tests on Python 3.12 and 3.13, where they are installed
	$(PY) tests/versions.py

test-variants: $(STAMP)  ## engines, policies, methods and learning on every variant of the core and of torch's kernels, and without a compiler
	PYTHONDONTWRITEBYTECODE= $(PY) tests/variants.py

mutants: $(STAMP)  ## do the tests notice wrong formulas? 120 mutants of what decides what is trained or reported, two hours
	$(PY) tests/mutants.py

parity: $(STAMP)  ## gradients of TRL's trainers against ours on the same answers (needs .venv-trl: bash bench/setup.sh)
	OMP_NUM_THREADS=1 $(PY) -m bench.trl_gradient

check: $(STAMP)  ## lint, format, spelling; types of what changed since they passed, and of all that imports it
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m codespell_lib
	$(PY) tests/type_check.py

docs: $(STAMP)  ## print the tables of recipes and papers in docs/ anew from the records
	$(PY) -m assay.lab.pages docs/*.md

method: $(STAMP)  ## record and print what follows from a method, and say what it still lacks (NAME=soft-gate)
	$(PY) tests/made.py $(NAME)

bench: $(STAMP)  ## measure speed side by side with other systems
	$(PY) -m bench.run --all

gpu:  ## parity, speed and memory on a GPU, beside TRL, in at most eight minutes, with the torch that PYTHON has
	$(PYTHON) -m bench.gpu --minutes 6

wheel: $(STAMP)  ## a wheel with the compiled core in it, into dist/
	ASSAY_WHEEL_CORE=1 $(PY) -m hatchling build -t wheel -d dist

release: $(STAMP)  ## wheel and source distribution, each installed without a compiler and tried; ends with a table (docs/releases.md)
	PYTHONDONTWRITEBYTECODE= PYTHONPATH=. $(PY) tests/release.py

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/ ##/' | awk -F' ## ' '{printf "  make %-14s %s\n", $$1, $$2}'

.PHONY: install externals environments demo demo-real test test-fast test-deep test-scale kills test-versions test-variants mutants parity check docs bench gpu wheel release help
