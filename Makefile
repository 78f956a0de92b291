# "make help" lists what there is. Everything that CI does is "make check".

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Pinned, and built from source by the go command: its build cache makes every
# run after the first one quick.
GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# Real servers for tests beside a command. Nested, the outer one's are used.
SERVERS := bin/servers

# Only folders that exist: a layer may be missing while it is being built.
packages = $(foreach dir,$(1),$(if $(wildcard $(dir)),./$(dir)/...))

# No servers, no processes: for the red-green loop.
UNIT     := $(call packages,domain application adapters/memory adapters/rest adapters/cli bootstrap/config)
# The same promises on the real things, and the walls of the house.
CONTRACT := $(call packages,adapters/postgres adapters/redis adapters/observe migrations test/arch test/env test/contract test/model)
# Whole processes over HTTP.
E2E      := $(call packages,bootstrap test/e2e)
# Whole processes while servers break.
FAULTS   := $(call packages,test/fault)

# package:target, each let loose for FUZZ_TIME.
FUZZ      := adapters/rest:FuzzDecode bootstrap/config:FuzzParse
FUZZ_TIME := 10s

# -count=1: a test against servers is never "cached". -race costs the unit loop
# its quickness, so that has it in "make test" only.
GOTEST    := go test -count=1
RACE      := -race
UNIT_RACE :=

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## serve with everything in memory, on 127.0.0.1:8080
	go run . serve

.PHONY: build
build: ## build bin/voucherd
	go build -o bin/voucherd .

.PHONY: fmt
fmt: ## format all Go files
	$(GOLANGCI) fmt

.PHONY: lint
lint: ## check format, import rules and habits; .golangci.yml says which and why
	$(GOLANGCI) run

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: unit
unit: ## instant tests: domain, use cases, HTTP, commands, settings; no server
	$(GOTEST) $(UNIT_RACE) -timeout 3m $(UNIT)

.PHONY: contract
contract: check-servers ## adapters against a real PostgreSQL and Redis, architecture, random histories
	$(SERVERS) -- $(GOTEST) $(RACE) -timeout 6m $(CONTRACT)

# One package at a time from here on: processes under load disturb each other.
.PHONY: e2e
e2e: check-servers ## real processes, one database, over HTTP
	VOUCHERD_TEST_RACE=1 $(SERVERS) -- $(GOTEST) $(RACE) -p 1 -timeout 6m $(E2E)

.PHONY: faults
faults: check-servers ## real processes while servers freeze, crash and fill up
	VOUCHERD_TEST_RACE=1 $(SERVERS) -- $(GOTEST) $(RACE) -p 1 -timeout 8m $(FAULTS)

.PHONY: fuzz
fuzz: ## let random input loose on what reads requests and settings, for a few seconds
	@set -e; for target in $(FUZZ); do \
		echo "fuzzing $$target"; \
		go test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $(FUZZ_TIME) "./$${target%:*}"; \
	done

.PHONY: test
test: lint vet check-servers ## everything: lint, vet, then all tests with -race, quick ones first
	$(SERVERS) -- $(MAKE) --no-print-directory -j1 unit contract e2e faults fuzz UNIT_RACE=$(RACE)

.PHONY: check
check: test ## what CI runs

.PHONY: clean
clean: ## remove what was built
	rm -rf bin

.PHONY: $(SERVERS)
$(SERVERS):
	@go build -buildvcs=false -o $@ ./test/env/cmd/servers

# Tests need the server programs of PostgreSQL and Redis, or
# VOUCHERD_TEST_DATABASE_URL and VOUCHERD_TEST_REDIS_ADDRS (tests that break a
# server need the programs all the same). On a Debian-like system root gets them
# installed; anybody else is told what to do.
.PHONY: check-servers
check-servers: $(SERVERS)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		$(SERVERS) -check postgres 2>/dev/null || ( $(INSTALL_POSTGRES) ); \
		$(SERVERS) -check redis 2>/dev/null || ( $(INSTALL_REDIS) ); \
	fi; \
	$(SERVERS) -check

# The package would start a server of its own on port 5432: told not to for the
# time of the installation.
define INSTALL_POSTGRES
export DEBIAN_FRONTEND=noninteractive; exec </dev/null; \
	apt-get update -qq; \
	apt-get install -qq -y --no-install-recommends postgresql-common && \
	conf=/etc/postgresql-common/createcluster.conf && \
	cp -p $$conf $$conf.voucherd && echo 'create_main_cluster = false' >>$$conf && \
	apt-get install -qq -y --no-install-recommends postgresql; \
	mv -f $$conf.voucherd $$conf
endef

# The package may start a server of its own on port 6379; a policy says no.
define INSTALL_REDIS
export DEBIAN_FRONTEND=noninteractive; exec </dev/null; \
	apt-get update -qq; \
	policy=/usr/sbin/policy-rc.d; \
	[ -e $$policy ] || { printf '#!/bin/sh\nexit 101\n' >$$policy && chmod +x $$policy && ours=1; }; \
	apt-get install -qq -y --no-install-recommends redis-server; \
	[ -z "$$ours" ] || rm -f $$policy
endef
