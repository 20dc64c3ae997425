# Two commands do everything on a machine that has only Python: `make demo` and `make test`.
# All paths are relative, because make splits names at spaces and the directory's own name may have some.
# Choose the interpreter with `make test PYTHON=python3.12`.

PYTHON ?= python3
python := .venv/bin/python
install := $(python) -m pip install --disable-pip-version-check --quiet -c constraints.txt
attention := randn(2, 4, 8):grad, randn(2, 4, 8):grad, randn(2, 4, 8):grad
TORCH ?= 2.15.0
smoke := tests/commands/test_doctor.py tests/probes tests/test_sample_scripts.py
quiet := -W "ignore:Failed to initialize NumPy:UserWarning"  # torch without numpy, which the demo does not need

# The same picture on every machine, on the paper that its reader prefers.
draw := $(python) -m gradscope graph --quiet --engine builtin --theme auto --force -o

.PHONY: bench help demo test test-frameworks test-peers test-torch smoke-torch install-torch clean-torch docs pictures clean

help:
	@echo "make demo    trace a small GPT's training and draw its graph"
	@echo "make test    lint, types and the whole test suite"
	@echo "make test-frameworks   Lightning, transformers, DDP and FSDP2 with and without gradscope, in .venv-frameworks"
	@echo "make test-peers   torch's own samples plainly and traced; PEERS=/path/to/pytorch/test: its tests as well"
	@echo "make test-torch TORCH=2.15.0   the whole suite on another torch, in .venv-torch; make clean-torch removes it"
	@echo "make docs    write the generated parts of docs/, and draw its pictures"
	@echo "make pictures   only the pictures"
	@echo "make bench   measure what recording and drawing cost"
	@echo "make clean   remove what these made"

demo: .venv/run.stamp
	@mkdir -p demo
	$(python) $(quiet) -m gradscope trace --force -o demo/gpt.gscope sample_scripts/gpt.py
	$(python) -m gradscope graph demo/gpt.gscope --force -o demo/gpt.svg
	@echo "The picture is here: $$PWD/demo/gpt.svg"

test: .venv/dev.stamp
	@sh tests/setup-system.sh
	$(python) -m ruff check .
	$(python) -m mypy
	$(python) -m pytest -n auto --maxprocesses 8 --dist worksteal  # neighbours share their fixtures

test-frameworks: .venv-frameworks/stamp
	.venv-frameworks/bin/python -m pytest tests/torture/frameworks

# Torch's own samples, and with PEERS=/path/to/pytorch/test its own tests, plainly and traced; half an hour at least.
test-peers: .venv/dev.stamp
	$(python) -m tests.peers.compare $(PEERS)

# The whole suite on another torch: make test-torch TORCH=2.15.0
test-torch:
	sh tests/on-torch.sh "$(PYTHON)" "$(TORCH)"

# What most depends on torch, on the newest that is known to work; five minutes at most.
smoke-torch:
	sh tests/on-torch.sh "$(PYTHON)" "$(TORCH)" $(smoke)

install-torch:
	sh tests/on-torch.sh "$(PYTHON)" "$(TORCH)" --install

clean-torch:
	rm -rf .venv-torch

bench: .venv/dev.stamp
	$(python) benchmarks/overhead.py
	$(python) benchmarks/recordings.py
	$(python) benchmarks/pictures.py
	$(python) benchmarks/pages.py
	$(python) benchmarks/reading.py
	$(python) benchmarks/comparing.py
	$(python) benchmarks/exporting.py
	$(python) benchmarks/many_ranks.py
	$(python) benchmarks/looks.py
	$(python) benchmarks/where.py

docs: pictures
	$(python) docs/generate.py

pictures: .venv/run.stamp
	@mkdir -p demo docs/pictures
	@for name in gpt hooks gan gradient_penalty transforms; do \
		(cd sample_scripts && ../$(python) $(quiet) -m gradscope trace --quiet --force -o "../demo/$$name.gscope" "$$name.py") \
			> "demo/$$name.out" || exit 1; \
	done
	@cd sample_scripts && ../$(python) $(quiet) -m gradscope trace --compiled-autograd --quiet --force \
		-o ../demo/compiled_autograd.gscope compiled_autograd.py > ../demo/compiled_autograd.out
	cd demo && ../$(python) -m gradscope compiled compiled_autograd.gscope --quiet --engine builtin --theme auto --force \
		-o ../docs/pictures/compiled.svg
	$(draw) docs/pictures/gpt.svg demo/gpt.gscope --depth 3
	$(draw) docs/pictures/gpt-open.svg demo/gpt.gscope
	$(draw) docs/pictures/hooks.svg demo/hooks.gscope --show hooks
	$(draw) docs/pictures/gan.svg demo/gan.gscope --show order --direction right --depth 2
	$(draw) docs/pictures/gradient_penalty.svg demo/gradient_penalty.gscope --no-params
	$(draw) docs/pictures/transforms.svg demo/transforms.gscope --backward 10 --no-params
	@$(python) $(quiet) -m gradscope trace --quiet --force --detail full -o demo/grads.gscope sample_scripts/gpt.py > demo/grads.out
	@$(python) -m gradscope grads demo/grads.gscope --quiet --force -o docs/pictures/grads.svg
	@$(python) $(quiet) -m gradscope trace --quiet --force -o demo/digits.gscope sample_scripts/digits.py > demo/digits.out
	@$(python) -m gradscope steps demo/digits.gscope --quiet --force -o docs/pictures/steps.svg
	@$(python) $(quiet) -m gradscope trace --quiet --force -o demo/levels.gscope sample_scripts/transforms.py > demo/levels.out
	@$(python) -m gradscope graph demo/levels.gscope --backward 1 --quiet --force -o docs/pictures/levels.svg
	@cd sample_scripts && ../$(python) $(quiet) -m gradscope joint compiled:attention --spec "$(attention)" --quiet --force -o ../docs/pictures/joint.svg
	@$(python) -m gradscope graph demo/grads.gscope --quiet --force -o demo/page.html
	@$(python) docs/screenshot.py demo/page.html '#node=125&step=45' docs/pictures/page.png

clean:
	rm -rf .venv .venv-frameworks .venv-torch demo build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

.venv/bin/python:
	"$(PYTHON)" -m venv .venv

.venv/run.stamp: pyproject.toml constraints.txt gradscope_autostart.pth | .venv/bin/python
	@echo "Installing gradscope into .venv (the first time takes a few minutes: torch is large)"
	$(install) -e .
	@touch $@

.venv/dev.stamp: pyproject.toml constraints.txt gradscope_autostart.pth | .venv/bin/python
	@echo "Installing gradscope and its development tools into .venv (the first time takes a few minutes: torch is large)"
	$(install) -e ".[dev]"
	@touch .venv/run.stamp $@

.venv-frameworks/stamp: pyproject.toml constraints.txt constraints-frameworks.txt
	@echo "Installing gradscope and the frameworks into .venv-frameworks (a few minutes)"
	"$(PYTHON)" -m venv .venv-frameworks
	.venv-frameworks/bin/python -m pip install --disable-pip-version-check --quiet \
		-c constraints.txt -c constraints-frameworks.txt -e ".[frameworks]"
	@touch $@
