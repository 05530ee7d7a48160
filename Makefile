# PROVE Studio: `make run` sets everything up and opens the site. `make` lists the rest.
#
# Variables, all optional:
#   PYTHON=python3.12   the interpreter of .venv (default: the first of python3.11, python3.12, python3 that fits)
#   TORCH=0             leave out the trainer's packages; its tests are then left out too
#   TORCH_INDEX=URL     where torch comes from; on Linux without a GPU name an index of CPU builds
#   MIN_FREE_GB=4       the free disk space that a set-up asks for
#   PART=pages          the part of test-long to run; `next` for the one whose turn it is
#   N=10 BUSY=3         how often test-repeat runs the tests, and how many times beside other work
#   ARGS="..."          passed on by run, pipeline, test, bench, proof, pretrained, noise, warmup and gpu

.DEFAULT_GOAL := help
.PHONY: help setup run pipeline test test-long test-repeat certify lint reference pictures bench bench-pages proof ablations pretrained noise evaluations gpu warmup clean

PY := .venv/bin/python
export PYTHON TORCH TORCH_INDEX MIN_FREE_GB
unexport PYTHONDONTWRITEBYTECODE # set in some images; without bytecode each process compiles torch anew, for seconds

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv hold what requirements.txt pins (no time at all when it already does)
	@sh .ci/setup

run: setup ## the site: pages, broker and workers, until Ctrl-C; the first start trains a small model before your eyes
	@$(PY) manage.py serve $(ARGS)

pipeline: setup ## without the site: servers, graph, data, GRPO, held-out evaluation
	@$(PY) manage.py pipeline $(ARGS)

test: setup ## the tests, in a browser too; finds or gets one
	@$(PY) .ci/browser.py
	$(PY) -m pytest -n 3 --dist loadscope -m "not long" $(ARGS)

test-long: setup ## what takes longer: all pages in all themes and widths, PostgreSQL, more kills; PART=next runs one part
	@$(PY) .ci/browser.py
	@$(PY) .ci/long.py $(PART)

test-repeat: setup ## run the tests N times, the last BUSY of them beside other work, and name those that fail at times
	@$(PY) .ci/repeat.py $(or $(N),10) --busy $(or $(BUSY),0) -- $(ARGS)

certify: setup ## write the behaviour certificates of the servers, their identity; ARGS="--check" changes nothing
	@$(PY) -m mcp_servers certify $(ARGS)

lint: setup ## ruff, formatting, types, import arrows
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports

reference: setup ## write docs/servers, and the diagram of conversations, from the code
	@$(PY) -m mcp_servers.reference
	@$(PY) -m training_worker.synthesis.diagram

pictures: setup ## take the pictures of docs/pages.md anew, of a site with its demo
	@$(PY) -m tests.browser.pictures

bench: setup ## how fast the servers, the reward and the picture of the graph are, beside a baseline
	@$(PY) -m training_worker.bench $(ARGS)

bench-pages: setup ## how fast pages are among 500 runs, one with 90,000 rollouts; DATABASE_URL may name another database
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && export PROVE_DATA="$$d" && $(PY) manage.py migrate -v0 && $(PY) manage.py time_runs $(ARGS)

proof: setup ## what training is worth to the warm policy: GRPO, rejection sampling and supervised training, three seeds
	@$(PY) -m training_worker.experiments.proof proof $(ARGS)

ablations: setup ## what each part of the reward and of the update is worth to the warm policy, three seeds
	@$(PY) -m training_worker.experiments.proof ablations $(ARGS)

pretrained: setup ## SmolLM2-135M-Instruct on a CPU: a short supervised phase, then GRPO beside more of it
	@test -d data/models/SmolLM2-135M-Instruct || $(PY) manage.py fetch_model SmolLM2-135M-Instruct
	@$(PY) -m training_worker.experiments.proof pretrained $(ARGS)

noise: setup ## the gradient noise scale of GRPO and of supervised training from the warm policy
	@$(PY) -m training_worker.experiments.noise $(ARGS)

evaluations: setup ## before and after `make pipeline`, on held-out worlds, behaviours and BFCL
	@$(PY) -m training_worker.experiments.evaluations $(ARGS)

gpu: setup ## what needs a GPU: a real model learns, and a step of the paper's size is timed
	@$(PY) -m training_worker.experiments.gpu $(ARGS)

warmup: setup ## make the warm policy again, into data/warmup/policy; about an hour
	$(PY) -m training_worker.experiments.warmup --out data/warmup/policy --minutes 46 $(ARGS)

clean: ## remove .venv and caches; what runs made stays in data/
	rm -rf .venv .venv.lock .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache .coverage htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
