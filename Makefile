# Every target sets up what it needs on first use. `make help` lists them.
PYTHON ?= python3
PY := .venv/bin/python
DEPTH ?= ci
OUT := build/conformance
# Many processes start from this checkout; let the first one keep the bytecode for the others.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: screenshots help setup beside bytecode conformance equality native test-long captures matrix repeat test test-unit trust mutation lint brokers brokers-stop bench bench-pipeline fuzz docs clients timeouts crash personalities naming packages images clients-suites restarts traits clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

setup:  ## the virtual environment in .venv
	@$(PYTHON) .ci/setup.py

conformance: setup  ## examine a broker: make conformance [URL=amqp://...] [DEPTH=smoke|ci|deep]
	@$(PY) -m tools.main_job --out $(OUT) --depth $(DEPTH) $(if $(URL),"$(URL)")

# half of their time our tests wait for brokers, so there are twice as many workers as cores
WORKERS ?= $(shell expr $$(nproc) \* 2)
# of tests that are many of a kind, some are played, drawn anew each time: SAMPLE=N brings those again that N drew, SAMPLE= all
SAMPLE ?= $(shell date +%s)

# lint computes while Debian packages are fetched; and workers that find bytecode of all tests need not each make it
# (not before setup is done: setuptools would look for packages in the broker's system, /proc and all)
test:  ## everything CI runs, with a real RabbitMQ (AMQP_RABBITMQ_URL, or Debian's)
	@$(MAKE) --no-print-directory --jobs 3 lint bytecode beside
	AMQP_RABBITMQ_URL=$${AMQP_RABBITMQ_URL:-$$($(PY) .ci/brokers.py url rmq310)} $(PY) -m pytest tests -q -n $(WORKERS) --dist loadfile -m "not long" --sample $(SAMPLE) --durations 25 --durations-min 8
	AMQP_RABBITMQ_URL=$${AMQP_RABBITMQ_URL:-$$($(PY) .ci/brokers.py url rmq310)} $(PY) -m tools.trust --sample 16 --draw $(or $(SAMPLE),0) --seeds 1 --legal 0

trust: setup  ## how many wrong brokers are found, and how often a right one is accused: docs/trust.md; carries on where interrupted; MUTANTS='GLOB': these alone, and their rows
ifdef MUTANTS
	@$(PY) -m tools.pages.trust --mutants '$(MUTANTS)'
else
	@[ -n "$$AMQP_RABBITMQ_URL" ] || $(PY) .ci/brokers.py start rmq310
	@AMQP_RABBITMQ_URL=$${AMQP_RABBITMQ_URL:-$$($(PY) .ci/brokers.py url rmq310)} $(PY) -m tools.trust; code=$$?; \
	$(PY) -m tools.pages.trust; exit $$code
endif

personalities: setup  ## are strangers judged rightly? brokers that deviate in many ways at once, RUNS=2000 drawn ones too; SEED=1 DEPTH=smoke
	@$(PY) -m tools.personalities --runs $(or $(RUNS),0) --seed $(or $(SEED),0) --depth $(if $(filter file,$(origin DEPTH)),smoke,$(DEPTH)); code=$$?; \
	$(PY) -m tools.pages.trust --strangers; exit $$code

traits: setup  ## is each of their deviations judged rightly, alone? TRAIT='settle.*' SECONDS=150; carries on
	@$(PY) -m tools.personalities.traits $(if $(TRAIT),'$(TRAIT)') --seconds $(or $(SECONDS),150)

naming: setup  ## is the fault of each mutant named rightly, and does its script show it? SAMPLE=n; carries on
	@$(PY) -m tools.naming $(if $(SAMPLE),--sample $(SAMPLE)); code=$$?; \
	$(PY) -m tools.pages.trust --naming; exit $$code

mutation: setup  ## wrong brokers made by a machine, that err only sometimes: how many are found? SAMPLE=400 SEED=n DEPTH=ci|deep; carries on
	@$(PY) -m tools.mutation --sample $(or $(SAMPLE),400) --seed $(or $(SEED),0) --depth $(DEPTH); code=$$?; \
	$(PY) -m tools.pages.trust --machine-made; exit $$code

test-unit: setup  ## our tests without a real broker and without Spark
	$(PY) -m pytest tests -q -n $(WORKERS) --dist loadfile -m "not rabbitmq and not spark and not long" --sample $(SAMPLE)

beside: setup
	@.ci/apt.sh tshark=tshark tcpdump=tcpdump chromium=chromium
	@[ -n "$$AMQP_RABBITMQ_URL" ] || $(PYTHON) .ci/brokers.py start rmq310

bytecode: setup
	@mkdir -p build
	@$(PY) -m pytest tests --collect-only -qq >build/collected.txt || { cat build/collected.txt; exit 1; }

lint: setup  ## ruff, its format, and mypy --strict
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check --quiet .
	@$(PY) -m mypy

brokers: setup  ## start real RabbitMQ from Debian (NAMES="rmq38 rmq310 rmq40 rmq43"; default rmq310)
	@$(PY) .ci/brokers.py start $(or $(NAMES),rmq310)

brokers-stop: setup  ## stop them
	@$(PY) .ci/brokers.py stop

bench: setup  ## ratios side by side with our peers, into build/bench.json
	@[ -n "$$AMQP_RABBITMQ_URL" ] || $(PY) .ci/brokers.py start rmq310
	@$(PY) -m benchmarks.codec_bench
	@AMQP_RABBITMQ_URL=$${AMQP_RABBITMQ_URL:-$$($(PY) .ci/brokers.py url rmq310)} $(PY) -m benchmarks.broker_load
	@$(PY) -m benchmarks.broker_size
	@$(PY) -m benchmarks.broker_growth
	@$(PY) -m benchmarks.suite_steps

bench-pipeline: native  ## what the stages of the pipeline cost, beside DuckDB and Polars; EVENTS=100000000 for one large run
	@$(PY) -m uv pip install --quiet --python $(PY) --constraints constraints.txt --editable ".[bench]"
	@$(PY) -m benchmarks.pipeline_bench $(if $(EVENTS),--events $(EVENTS))
	@[ -n "$(EVENTS)" ] || $(PY) -m benchmarks.pipeline_bench --plain --only check stream growth

equality: setup  ## thousands of traces judged live, by the plain fold and on Spark: TRACES=5000
	@EQUALITY_TRACES=$(or $(TRACES),5000) $(PY) -m pytest tests/reports/pipeline/test_equality.py -q

native: setup  ## compile the fold of `trace check` and `trace watch` for this machine, and prove that it judges the same
	@.ci/apt.sh gcc=gcc
	@[ -e "$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] || .ci/apt.sh Python.h=python3-dev
	@$(PY) -m uv pip install --quiet --python $(PY) "setuptools>=65"
	@PYTHONPATH=. $(PY) .ci/native.py

test-long: setup  ## clusters, jobs that are killed or interrupted, and repeats; CI runs it for a ROOM that has changed
	CLUSTER_LONG=1 $(PY) -m pytest $(or $(ROOM),tests) -q -m long -n $(WORKERS)
	[ -n "$(filter-out tests/reports,$(ROOM))" ] || EQUALITY_TRACES=150 $(PY) -m pytest tests/reports/pipeline/test_equality.py -q

captures: setup  ## real programs captured by tcpdump, on a RabbitMQ (AMQP_RABBITMQ_URL) and on wrong brokers: SCALE=10
	@.ci/apt.sh tcpdump=tcpdump
	@[ -n "$$AMQP_RABBITMQ_URL" ] || $(PY) .ci/brokers.py start rmq310
	AMQP_RABBITMQ_URL=$${AMQP_RABBITMQ_URL:-$$($(PY) .ci/brokers.py url rmq310)} CAPTURE_SCALE=$(or $(SCALE),10) \
	$(PY) -m pytest tests/reports/capture/test_programs.py tests/reports/capture/test_retries.py -q

matrix: setup  ## the suite on every real version and on the reference broker in each dialect, one page
	@$(PY) .ci/brokers.py start rmq38 rmq310 rmq40 rmq43 rmq43-short
	@$(PY) -m tools.matrix --depth $(DEPTH) $$($(PY) .ci/brokers.py nodes)

repeat: setup  ## are verdicts repeatable? the suite RUNS=10 times on every real version, half of them crowded
	@$(PY) .ci/brokers.py start
	@$(PY) -m tools.repeat --runs $(or $(RUNS),10) --depth $(DEPTH) $$($(PY) .ci/brokers.py pairs); code=$$?; \
	$(PY) -m tools.repeat --page docs/steadiness.md; exit $$code

screenshots: setup  ## pictures of the report (of make matrix, else of make conformance) into build/screenshots; PAGES="A B" CASE=RULE: into docs/look
	@.ci/apt.sh chromium=chromium
	@$(PY) -m tools.screenshots $(if $(PAGES),--docs $(PAGES)) $(if $(CASE),--case $(CASE))
	@[ -z "$(PAGES)" ] || $(PY) -m tools.terminal_picture --out docs/look/explain.webp --from "How a broker" -- explain RQ-001

fuzz: setup  ## a million broken inputs for the reference broker, and a siege of it: build/fuzz.json; INPUTS=100000 for fewer
	@$(PY) -m benchmarks.fuzz $(if $(INPUTS),--inputs $(INPUTS))

timeouts: setup  ## docs/timeouts.md: which level of consumer timeouts counts, measured on the reference broker and on 4.3
	@$(PY) .ci/brokers.py start rmq43 rmq43-short
	@$(PY) -m tools.pages.timeouts $$($(PY) .ci/brokers.py nodes rmq43 rmq43-short)

crash: setup  ## kill -9 the reference broker under load, KILLS=200 times, and see what it kept: build/crash.json; SEED=1
	@$(PY) -m benchmarks.crash $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED))

restarts: setup  ## what do brokers keep? DUR by ROUNDS=20 rounds with restarts, on the reference broker with kills, and on NAMES="rmq310 rmq43"
	@$(PY) -m tools.restarts --rounds $(or $(ROUNDS),20)
	@for name in $(NAMES); do $(PY) .ci/brokers.py start $$name && $(PY) -m tools.restarts --rounds $(or $(ROUNDS),20) \
	--restart "$(PY) $(CURDIR)/.ci/brokers.py restart $$name" "$$name=$$($(PY) .ci/brokers.py url $$name)" || exit 1; done

docs: setup  ## the documentation as a site that needs no network, build/docs; pages made from data are made anew
	@$(PY) -m tools.pages.house
	@$(PY) -m tools.pages.rules
	@$(PY) -m tools.pages.lake
	@$(PY) -m tools.pages.compatibility $(wildcard build/matrix)
	@$(PY) -m tools.pages.rows
	@$(PY) -m tools.pages.patterns
	@$(PY) -m tools.pages.field_bugs
	@$(PY) -m tools.pages.site

packages: setup  ## wheel and sdist, checked, and tried in a fresh environment of each Python from 3.11 to 3.14
	@$(PY) -m tools.release

images: setup  ## the two images of the Dockerfile, built and run; the steps of action.yml, executed; the export, opened in Allure 3
	@$(PY) -m tools.release.images
	@$(PY) -m tools.release.action
	@$(PY) -m tools.release.allure

clients: setup  ## docs/clients.md: what client libraries show of each rule, on URL=amqp://... ADMIN=http://... (default: RabbitMQ 4.3 from Debian)
	@[ -n "$(URL)" ] || $(PY) .ci/brokers.py start rmq43
	@$(PY) -m conformance.cli clients "$(or $(URL),$$($(PY) .ci/brokers.py url rmq43))" --format markdown --out docs/clients.md \
	$(if $(URL),$(if $(ADMIN),--broker-admin "$(ADMIN)"),--broker-admin "$$($(PY) .ci/brokers.py nodes rmq43 | sed 's/.*,admin=\([^,]*\).*/\1/')")

clients-suites: setup  ## docs/client-suites.md: client libraries' own test suites, beside URL=amqp://... ADMIN=http://... (default: RabbitMQ 3.10 from Debian); PIKA=a checkout of pika (default: its repository)
	@[ -n "$(URL)" ] || $(PY) .ci/brokers.py start rmq310
	@$(PY) -m tools.suites --rabbitmq "$(or $(URL),$$($(PY) .ci/brokers.py url rmq310))" \
	$(if $(URL),$(if $(ADMIN),--admin "$(ADMIN)"),--admin "$$($(PY) .ci/brokers.py nodes rmq310 | sed 's/.*,admin=\([^,]*\).*/\1/')") \
	$(if $(PIKA),--source pika="$(PIKA)")

clean:  ## remove what was built (keeps .venv and the brokers)
	rm -rf build/lib build/bdist.* build/packages build/suites build/conformance build/bench.json build/bench-pipeline build/bench-pipeline*.json build/native build/fuzz.json .mypy_cache .ruff_cache .pytest_cache .hypothesis
