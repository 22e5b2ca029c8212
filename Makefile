# Targets to type. Steps of more than a command or two are programs or tests
# under packaging/.
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

# The version is the changelog's newest release and the date is the sources' date:
# both are the same for everybody who builds the same commit.
VERSION := $(or $(VERSION),$(shell sed -n 's/^\#\# \[\([0-9][^]]*\)\].*/\1/p' CHANGELOG.md | head -1))
RELEASED := $(shell sed -n 's/^\#\# \[[0-9][^]]*\] - \([0-9-]*\)$$/\1/p' CHANGELOG.md | head -1)
SOURCE_DATE_EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || date -u -d '$(RELEASED)' +%s))
ARCH := $(or $(ARCH),$(shell go env GOARCH))
COMMIT := $(or $(COMMIT),$(shell git rev-parse --short=12 HEAD 2>/dev/null))
export VERSION SOURCE_DATE_EPOCH ARCH COMMIT
# go-nvml's headers mark functions that older drivers still need as deprecated.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations

# gpusched-nvml, which loads the driver's library, and the race detector need cgo and set CGO_ENABLED=1. All other
# programs, tests and tools are built with these flags, so that common packages are compiled once.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath

GOFLAGS_BUILD := -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)'
# Never link gpusched-nvml with -z now: a function that an older driver lacks
# would then end it at start, instead of being found missing when it is called.
GOFLAGS_NVML := -buildmode=pie -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -extldflags "-Wl,-z,lazy"'
# Compares runs; 'benchstat OLD NEW' compares two commits.
BENCHSTAT := go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
TOOL := go tool -modfile=packaging/tools/go.mod
# The go command that compiles the packing tools: a test that rebuilds everything else takes these from the cache.
PACKER_GO := go
RUN_MACHINE := go run ./packaging/test/machine

.DEFAULT_GOAL := build
.PHONY: help golden build programs nvml stage package deb rpm nfpm test test-all test-tools unit race fuzz fuzz-seeds simulate lint modules vulnerabilities package-check release machine box newest gpu vm bench bench-queue demo demo-tree demo-image images pictures install install-user clean deps

help: ## list these targets
	@sed -n 's/^\([a-z][a-z0-9-]*\):.* ## \(.*\)/\1\t\2/p' Makefile | while IFS="$$(printf '\t')" read -r name does; do printf '%-16s %s\n' "$$name" "$$does"; done

build: programs nvml ## all programs, into bin/

programs: # all but gpusched-nvml, which needs C
	go build $(GOFLAGS_BUILD) -o bin/ ./cmd/gpusched ./cmd/gpusched-slurm ./cmd/gpuschedd ./cmd/gpusched-job ./cmd/gpusched-accounts ./cmd/gpusched-notify ./cmd/gpusched-top ./cmd/gpusched-mcp ./cmd/gpusched-web ./cmd/gpusched-metrics

nvml: # shares no compiled package with the others, not even Go's own: built at the same time
	CGO_ENABLED=1 go build $(GOFLAGS_NVML) -o bin/ ./cmd/gpusched-nvml

stage: build
	$(PACKER_GO) run ./packaging/stage -bin bin -out .out/stage -version '$(VERSION)' -date '$(SOURCE_DATE_EPOCH)'

package: deb rpm ## deb and rpm, into dist/

deb rpm: stage nfpm
	mkdir -p dist
	rm -f $(if $(filter deb,$@),dist/gpusched_*,dist/gpusched-*)
	.out/nfpm package -f nfpm.yaml -p $@ -t dist/

nfpm: # compiled once for both; optimised, it would take half as long again to compile and run no faster
	$(PACKER_GO) build -gcflags='github.com/...=-N -l' -modfile=packaging/tools/go.mod -o .out/nfpm github.com/goreleaser/nfpm/v2/cmd/nfpm

test: ## what every change must pass, 20 minutes; needs root. Ends with "N passed, N failed"
	sh packaging/deps.sh test
	go run ./packaging/test/run test

test-all: ## the rest: staticcheck, attacks and kills, fuzz, Debian 13, emulated machines, the life of the packages; 30 minutes more
	sh packaging/deps.sh all
	go run ./packaging/test/run test-all

golden: ## rewrite every golden file from the output of the tests; read the diff before you commit it
	go test -count=1 $$(grep -rlE --include='*_test.go' 'flag.Bool\("update"|test/golden"' cgroup cmd contrib daemon gpu packaging units | xargs -n1 dirname | sort -u | sed 's|^|./|') -update

unit: ## the tests that need only Go and a C compiler
	CGO_ENABLED=1 go test ./...

test-tools: # compiled here once, because the stages of 'make test' start at the same time
	$(TOOL) gotestsum --version
	go test -c -vet=off -tags machine -o /dev/null ./packaging/test/suite/

race: ## the packages with goroutines, with the race detector
	go run ./packaging/test/run race

# FUZZTIME is the time for each test; FUZZ names the tests to run.
FUZZTIME := $(or $(FUZZTIME),1m)

fuzz: ## every fuzz test for FUZZTIME each, starting from what earlier runs found
	sh packaging/fuzz.sh $(FUZZTIME) $(FUZZ)

fuzz-seeds: ## the fuzz tests on their stored inputs only
	go test -run '^Fuzz' ./...

# FIRST is the first seed; a failing seed is shrunk and printed.
SEEDS := $(or $(SEEDS),10000)
FIRST := $(or $(FIRST),1)

simulate: ## the whole daemon in a world that fails, SEEDS times; see daemon/dst
	go test -count=1 -timeout 0 ./daemon/dst -run TestSeeds -v -args -seeds $(SEEDS) -first $(FIRST)

lint: ## gofmt, vet and staticcheck, with the tags of the tests
	sh packaging/lint.sh

modules: ## check that all modules match go.sum and that every module in go.mod is used (TestModulesAreUsed)
	go mod verify
	go mod verify -modfile=packaging/tools/go.mod
	go mod verify -modfile=packaging/tools/vuln/go.mod

vulnerabilities: ## known vulnerabilities in what the programs call; asks the Go project's database
	sh packaging/vulnerabilities.sh

package-check: package ## lintian, rpm, modes, manual pages, completions, reproducibility
	go test -count=1 -timeout 20m -tags packages ./packaging/check/

release: ## deb, rpm and their SHA256SUMS in dist/, from a clean checkout, built twice
	sh packaging/release.sh

machine: package ## the tests on machines with a real systemd; needs root
	go run ./packaging/test/run images build package test-tools box-1 box-2 box-3 box-4 box-slurm box-containers box-hostile box13 machines emulated

box: package ## a root shell in a throw-away container with systemd, gpusched and four simulated GPUs
	$(RUN_MACHINE) -deb 'dist/gpusched_$(VERSION)_$(ARCH).deb' -fake-gpus box

# SUITE is trixie (Debian 13), or sid for the newest systemd.
SUITE := $(or $(SUITE),sid)

newest: package ## tests that another systemd could break, in a box of Debian's SUITE; not part of test, as sid changes
	go test -tags machine -timeout 10m ./packaging/test/suite/ -machine box -suite $(SUITE) -quick

# CUDASUM names packaging/test/suite/testdata/cudasum.c built elsewhere, for a host without a C compiler.
gpu: package ## the tests that need a real NVIDIA GPU, in a box with this machine's GPUs; needs root
	go test -tags machine -count=1 -timeout 10m -v ./packaging/test/suite/ -machine box -gpus real $(if $(CUDASUM),-cuda '$(CUDASUM)')

vm: package ## the same as box in an emulated machine
	$(RUN_MACHINE) -deb 'dist/gpusched_$(VERSION)_$(ARCH).deb' -fake-gpus emulated

# BENCH is the number of rounds and the parts to measure, such as '20 start rate'; see contrib/bench/bench.sh.
bench: package ## compare gpusched with systemd-run and a tuned Slurm in a box; results are in .out/bench
	mkdir -p .out
	$(RUN_MACHINE) -deb 'dist/gpusched_$(VERSION)_$(ARCH).deb' -fake-gpus -slurm -copy contrib/bench/bench.sh:/usr/local/bin/bench.sh -copy packaging/test/slurm/slurm.sh:/usr/local/bin/slurm.sh box -- bench.sh $(BENCH) >.out/bench
	$(BENCHSTAT) -col /by .out/bench

bench-queue: ## the cost of passes, submissions and ends with 1 000 to 100 000 jobs in the queue
	mkdir -p .out
	go test -run '^$$' -bench . -benchmem -count 10 ./daemon/sched ./daemon/core ./daemon/store > .out/bench-queue
	$(BENCHSTAT) -col /jobs .out/bench-queue

# MACHINE is box, or emulated, which is slow but has memory limits on every host.
MACHINE := $(or $(MACHINE),box)

demo: ## two accounts use four simulated GPUs in a container; KEEP=1 gives you a shell there afterwards
	sh packaging/deps.sh demo
	$(MAKE) -j4 demo-tree demo-image
	$(RUN_MACHINE) -tree .out/demo.tar demo $(MACHINE)

demo-tree: stage # what 'make install' installs; a package would take twice as long, because its tool must be compiled
	rm -rf .out/demo
	DESTDIR=.out/demo sh packaging/install.sh
	tar -C .out/demo --owner=0 --group=0 -cf .out/demo.tar .

demo-image: # built at the same time
	$(RUN_MACHINE) image $(MACHINE)

images: # for the boxes of 'make test'
	$(RUN_MACHINE) image box
	$(RUN_MACHINE) -slurm image box
	$(RUN_MACHINE) -containers image box

pictures: ## draw the README's pictures into contrib/pictures; look at them
	go test -count=1 -run '^TestPicture$$' ./cmd/gpusched/client -update
	go test -count=1 -run '^TestPicture$$' ./cmd/gpusched-top/screen -update
	go test -count=1 -run '^TestPicture$$' ./cmd/gpusched-web -screens '$(CURDIR)/contrib/pictures'

install: stage ## install into $(DESTDIR), for systems without deb and rpm
	sh packaging/install.sh

install-user: build ## install your own scheduler in your home, without root
	sh packaging/install-user.sh

deps: ## install what all tests need from Debian; quick if nothing is missing
	sh packaging/deps.sh all

clean: ## remove everything that was built
	rm -rf bin dist .out
