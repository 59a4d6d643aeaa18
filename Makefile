# Everything a reader, a teacher or CI does with the book. `make` alone explains the targets.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --quiet --require-hashes
COMPILE := uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --upgrade \
	--generate-hashes --no-annotate --custom-compile-command 'make lock' pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help book read lab test accept speed lock clean

help:
	@echo 'make book     verify every notebook, then build the site into _build/html'
	@echo 'make read     the same, then serve it on this machine and open a browser'
	@echo 'make lab      open the chapters in JupyterLab'
	@echo 'make test     everything that CI checks'
	@echo 'make accept   after an intended change: run the notebooks and store their new outputs'
	@echo 'make speed    time the verified build against a stock one'
	@echo 'make lock     renew the hashed requirements (needs uv)'
	@echo 'make clean    remove what the build made, and .venv'

.venv/book: requirements/book.txt pyproject.toml
	@test -n '$(PYTHON)' || { echo 'Python 3.11, 3.12 or 3.13 is needed and was not found; if it is installed, say: make PYTHON=/path/to/python3.12'; exit 1; }
	@echo 'Making .venv and installing the locked requirements: a minute or two, the first time only'
	@$(PYTHON) -m venv .venv || { rm -rf .venv; echo 'Python could not make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv'; exit 1; }
	@$(INSTALL) -r requirements/book.txt
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.venv/%: requirements/%.txt .venv/book
	@$(INSTALL) -r $<
	@touch $@

book: .venv/book
	@$(BIN)/jupyter-book build . --quiet
	@echo 'The book is verified and built. Open $(CURDIR)/_build/html/index.html'

read: book
	@$(BIN)/python -m gate.read _build/html

lab: .venv/lab
	@$(BIN)/jupyter lab --notebook-dir=chapters

test: .venv/test book
	@$(BIN)/python -m pytest tests --numprocesses=2 --dist=worksteal

accept: .venv/book
	@$(BIN)/python -m gate.accept .

speed: .venv/book
	@$(BIN)/python -m gate.speed

lock:
	$(COMPILE) --group book --output-file requirements/book.txt
	$(COMPILE) --group test --constraints requirements/book.txt --output-file requirements/test.txt
	$(COMPILE) --extra notebooks --constraints requirements/book.txt --output-file requirements/lab.txt

clean:
	@rm -rf .venv _build .pytest_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
