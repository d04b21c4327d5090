# make, make run, make test, make bench, make lint, make install: see CONTRIBUTING.md. V=1 shows the commands.
VERSION := $(shell cat VERSION)
BUILD   ?= build
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
PYTHON  := .venv/bin/python
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes
CPPFLAGS += -D_GNU_SOURCE -DGT_VERSION='"$(VERSION)"' -Iinclude -Ilib -Icli
override CFLAGS += -std=gnu17 $(WARN) -fPIC -fvisibility=hidden -MMD -MP -pthread
# For top, in the program alone: linked statically where that can be, so that it runs where there is none.
NCURSES := $(filter /%,$(shell $(CC) -print-file-name=libncursesw.a) $(shell $(CC) -print-file-name=libtinfo.a))
NCURSES := $(if $(word 2,$(NCURSES)),$(NCURSES),$(if $(filter /%,$(shell $(CC) -print-file-name=libncursesw.so)),-lncursesw))
LDLIBS  := -lsqlite3 -ljansson -lutf8proc -lz -lm -ldl -pthread
# The program alone again: each library less that the loader has to find makes its start a little shorter.
PROGRAM_LIBS := $(foreach lib,sqlite3 jansson utf8proc z,$(or $(filter /%,$(shell $(CC) -print-file-name=lib$(lib).a)),-l$(lib))) -lm -ldl -pthread
# What only tests is not optimized, for compiling that costs more than running it saves; make lint does it for the warnings.
TEST_CFLAGS ?= -O0
TEST_CPPFLAGS := -Itest -DTEST_SOURCE_DIR='"$(CURDIR)/test"' -DTEST_BUILD_DIR='"$(abspath $(BUILD))/test"'
# Not optimized, for the same reason; fuzzing is where it runs long enough.
SANITIZE := -O0 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZ_SECONDS ?= 600
# The quickest linker that the compiler knows here, for the many programs of the tests.
LINKER    = $(eval LINKER := $(shell for linker in "lld -Wl,--threads=1" gold; do $(CC) -fuse-ld=$$linker -Wl,--version >/dev/null 2>&1 && echo "-fuse-ld=$$linker" && break; done))$(LINKER)
Q       := $(if $(V),,@)
SAY     := $(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,echo)
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += --jobs=$(shell nproc) --output-sync
endif

objects  = $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(1)))
programs = $(patsubst %.c,$(BUILD)/%,$(wildcard $(1)))
LIB_OBJ  := $(call objects,lib/*/*.c lib/*/*/*.c)
ifdef LIB_ONLY # these of them, by their names alone
LIB_OBJ  := $(sort $(foreach name,$(LIB_ONLY),$(filter %/$(name),$(LIB_OBJ))))
endif
CLI_OBJ  := $(call objects,cli/*.c cli/*/*.c)
UNIT     := $(call programs,test/unit/test_*.c)
FUZZ     := $(call programs,test/fuzz/fuzz_*.c)
TRUTH    := $(call programs,test/truth/*.c test/launch/*.c test/gpu/*.c)
BENCHES  := $(call programs,bench/bench_*.c)
SOAKS    := $(call programs,test/soak/*.c)
EXAMPLES := $(call programs,examples/*.c)
SUPPORT  := $(call objects,test/support/*.c)
FAKES    := $(patsubst test/fake/%.c,$(BUILD)/test/fake/lib%.so,$(wildcard test/fake/*.c))
FUZZ_MAIN := $(if $(findstring fuzzer,$(CFLAGS)),-fsanitize=fuzzer,$(BUILD)/test/fuzz/main.o)

# Loaded into programs that nobody changed: of the library only what it calls, and nothing but the C library.
INJECT   := $(BUILD)/lib/gpu-tracker/libgputracker-blocks.so
HOOK     := $(BUILD)/lib/gpu-tracker/gpu_tracker_hook.abi3.so
HOOK_SOURCES := python/hook/hook.c python/entries.c lib/base/map.c lib/base/grow.c
INJECT_OBJ := $(patsubst %.c,$(BUILD)/inject/%.o,$(wildcard inject/*.c) $(file <inject/sources))

# What can be built without; it may be installed later, and is older than what was built then.
WISHED := $(wildcard /usr/include/microhttpd.h)

# A stack of 64 KiB is enough for the program; the sanitizers need more.
FRAME   := $(if $(findstring sanitize,$(CFLAGS)),,-Wframe-larger-than=32768)
$(LIB_OBJ) $(CLI_OBJ): override CFLAGS += $(FRAME)

# Everything is built again when the compiler, the flags, these or the list of files change.
SIGNATURE := $(CC) $(NCURSES) $(WISHED) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(LIB_OBJ) $(CLI_OBJ)
ifneq ($(strip $(SIGNATURE)),$(strip $(file <$(BUILD)/signature)))
$(shell mkdir -p $(BUILD))$(file >$(BUILD)/signature,$(SIGNATURE))
endif

all: $(BUILD)/libgputracker.a $(BUILD)/libgputracker.so $(if $(CLI_OBJ),$(BUILD)/gpu-tracker) $(INJECT) $(HOOK)
objects: $(LIB_OBJ) $(CLI_OBJ)
unit: $(UNIT) $(FAKES)
test-programs: unit $(TRUTH) $(EXAMPLES)
fuzz-programs: $(FUZZ)
bench-programs: $(BENCHES)

$(BUILD)/headers: $(BUILD)/signature tools/headers
	@tools/check-headers $(CC) $(CPPFLAGS)
	@touch $@

$(LIB_OBJ) $(CLI_OBJ): | $(BUILD)/headers

$(BUILD)/%.o: %.c $(BUILD)/signature
	@mkdir -p $(@D) && $(SAY) "CC $@"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(BUILD)/lib/report/page/page_data.o: lib/report/page/page.css lib/report/page/page.js
$(BUILD)/lib/analyse/export/flame.o: lib/analyse/export/flame.html
$(BUILD)/cli/cmd_completion.o: $(wildcard cli/completion.*)
$(BUILD)/cli/cmd_help.o: cli/manual.roff
$(BUILD)/cli/serve/http_pages.o: cli/serve/jobs.html
$(BUILD)/lib/sample/cost.o: share/gpu-tracker/carbon-intensity.csv

$(BUILD)/libgputracker.a: $(LIB_OBJ)
	@rm -f $@ && $(SAY) "AR $@"
	$(Q)$(AR) rcs $@ $^

$(BUILD)/libgputracker.so: $(LIB_OBJ) lib/libgputracker.map
	@ln -sf $(@F) $@.0 && $(SAY) "LD $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F).0 -Wl,--version-script=lib/libgputracker.map -Wl,--as-needed -o $@ $(LIB_OBJ) $(LDLIBS)

$(BUILD)/inject/%.o: %.c $(BUILD)/signature
	@mkdir -p $(@D) && $(SAY) "CC $@"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -ffunction-sections -fdata-sections -c -o $@ $<

$(INJECT): $(INJECT_OBJ) inject/exports.map Makefile
	@mkdir -p $(@D) && $(SAY) "LD $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F),--gc-sections,-Bsymbolic,-z,nodelete,-z,defs,--as-needed,-s -Wl,--version-script=inject/exports.map -o $@ $(INJECT_OBJ) -ldl -pthread

# For Python, where its header is; without, Python loads the library above by ctypes.
$(HOOK): $(HOOK_SOURCES) $(wildcard python/*.h inject/*.h lib/base/*.h lib/base/*/*.h) $(INJECT)
	@$(SAY) "LD $@"
	$(Q)include=$$(tools/python-include) || { rm -f $@; exit 0; }; \
	    $(CC) $(CPPFLAGS) -Iinject -isystem "$$include" $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) -shared -Wl,-s,-rpath,'$$ORIGIN' -o $@ $(HOOK_SOURCES) -L$(@D) -l:$(notdir $(INJECT))

$(BUILD)/cli/cmd_top.o: CPPFLAGS += $(if $(NCURSES),-DGT_HAVE_NCURSES)
$(BUILD)/gpu-tracker: $(CLI_OBJ) $(BUILD)/libgputracker.a
	@$(SAY) "LD $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(NCURSES) $(PROGRAM_LIBS)

$(BUILD)/test/%.o: CPPFLAGS += $(TEST_CPPFLAGS)
$(UNIT:=.o) $(SUPPORT): override CFLAGS += $(TEST_CFLAGS)

$(UNIT): %: %.o $(SUPPORT) $(BUILD)/libgputracker.a
	@$(SAY) "LD $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(LINKER) -Wl,--as-needed -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcmocka $(LDLIBS)

$(BUILD)/test/unit/test_range: $(filter $(BUILD)/inject/inject/%,$(INJECT_OBJ))

$(FUZZ): %: %.o $(filter %.o,$(FUZZ_MAIN)) $(BUILD)/libgputracker.a
	@$(SAY) "LD $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $(filter %.o %.a,$^) $(filter -%,$(FUZZ_MAIN)) $(LDLIBS)

$(BENCHES): %: %.o $(BUILD)/libgputracker.a
	@$(SAY) "LD $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $(filter %.o %.a,$^) $(LDLIBS)

$(SOAKS): %: %.o $(BUILD)/test/support/fake_proc.o $(BUILD)/libgputracker.a
	@$(SAY) "LD $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $(filter %.o %.a,$^) -lcmocka $(LDLIBS)
$(SOAKS:=.o): CPPFLAGS += -I.

$(BUILD)/test/fake/lib%.so: test/fake/%.c
	@mkdir -p $(@D) && $(SAY) "LD $@"
	$(Q)$(CC) $(CPPFLAGS) $(TEST_CPPFLAGS) $(CFLAGS) -fvisibility=default -shared -o $@ $<

# Not sanitized: what they measure must be the kernel's figures for plain programs.
$(TRUTH): $(BUILD)/%: %.c
	@mkdir -p $(@D) && $(SAY) "LD $@"
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu17 $(WARN) -O2 -g -MMD -MP -pthread -o $@ $< -ldl

$(EXAMPLES): $(BUILD)/%: %.c $(BUILD)/libgputracker.so
	@mkdir -p $(@D) && $(SAY) "LD $@"
	$(Q)$(CC) -D_GNU_SOURCE -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $< -L$(BUILD) -lgputracker -lm -Wl,-rpath,'$$ORIGIN/..'

build-dependencies:
	@tools/install-dependencies build
portable-dependencies:
	@tools/install-dependencies portable
test-dependencies:
	@tools/install-dependencies build test
lint-dependencies:
	@tools/install-dependencies build test lint

run: build-dependencies
	@$(MAKE) -s all
	@tools/run-example

# The Python package, into .venv, of the objects that are there already.
PYTHON_SOURCES := $(wildcard lib/*/*.[chdj]* lib/*/*/*.[chdj]* cli/*.[chd]* cli/*/*.[ch]* cli/*.roff cli/*/*.html cli/completion.* inject/* include/*.h include/*/*.h python/*.[ch] python/hook/*.c share/gpu-tracker/python/*.py python/*.py python/gpu_tracker/*.py* python/gpu_tracker/*/*.py python/gpu_tracker/*/*/*.py \
    python/gpu_tracker/*/*/*/*.py)
python: build-dependencies
	@$(MAKE) -s test-dependencies objects $(INJECT) $(HOOK)
	@$(MAKE) -s .venv/installed

.venv/installed: $(PYTHON_SOURCES) setup.py pyproject.toml VERSION
	@$(SAY) "PIP libgputracker"
	$(Q)$(PYTHON) -m pip uninstall -qqy --disable-pip-version-check gpu-tracker # the former name
	$(Q)GPU_TRACKER_OBJECTS=$(BUILD) $(PYTHON) -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps .
	@touch $@

# The reference of the Python package, from its docstrings.
python-api: python
	@$(PYTHON) tools/write-python-api >$(BUILD)/python-api.md.new && mv $(BUILD)/python-api.md.new $(BUILD)/python-api.md

# Whether outputs are those of before: see test/replay/replay.py.
replay replay-short replay-cost: all
	@$(PYTHON) test/replay/replay.py $(if $(filter replay,$@),check,$(@:replay-%=%))
replay-accept: all
	@$(PYTHON) test/replay/replay.py accept $(or $(NAMES),$(error NAMES='PATTERN...' says which hashes are kept))

# All tests; the last line is "N passed, N failed, N skipped". The sanitized programs are built while others wait.
test: ready-for-tests
	@+$(PYTHON) tools/run-tests all

# The same with every repetition of the slow ones.
test-long: ready-for-tests
	@+$(PYTHON) tools/run-tests all --long

# Then the tests that it skipped for a missing package, with all packages but those of test-frameworks.
test-all: test
	@$(MAKE) -s test-rest

test-rest: ready-for-tests
	@tools/install-dependencies clickhouse kokkos prometheus slurm others
	@$(MAKE) -s build/original/installed build/chdb/installed build/examples/bin/installed
	$(Q)build/examples/bin/python -m pip install -q --disable-pip-version-check --no-deps --force-reinstall .
	@$(PYTHON) tools/run-tests rest

# While Python packages are fetched, it compiles.
ready-for-tests: build-dependencies
	@$(MAKE) -s test-dependencies all
	@$(MAKE) -s .venv/installed test-programs

sanitized:
	@$(MAKE) -s BUILD=build/sanitize CFLAGS="$(SANITIZE)" objects unit
	@$(MAKE) -s build/sanitize/python/built

# The extension module and the program that the package starts, under the sanitizers.
python-sanitize: python
	@$(MAKE) -s build/sanitize/python/built test-programs
	@$(PYTHON) tools/run-tests python-sanitize

build/sanitize/python/built: $(PYTHON_SOURCES) setup.py
	@$(SAY) "PYTHON build/sanitize/python"
	@$(MAKE) -s BUILD=build/sanitize CFLAGS="$(SANITIZE)" objects
	$(Q)GPU_TRACKER_OBJECTS=build/sanitize CC="gcc $(filter -fsanitize% -fno-sanitize%,$(SANITIZE))" CFLAGS="$(filter-out -fsanitize% -fno-sanitize%,$(SANITIZE))" \
	    $(PYTHON) setup.py -q build --build-base $(@D) --build-lib $(@D)/lib --build-scripts $(@D)/lib/bin
	@touch $@

# Which part of the lines the tests reach, by folder.
coverage: ready-for-tests
	@$(MAKE) -s BUILD=build/coverage CFLAGS="-O0 -g --coverage" LDFLAGS=--coverage FRAME= all unit test-programs
	$(Q)GPU_TRACKER_OBJECTS=build/coverage CC="gcc --coverage" CFLAGS=-O0 $(PYTHON) setup.py -q build --build-base build/coverage/python \
	    --build-lib build/coverage/python/lib --build-scripts build/coverage/python/lib/bin
	@$(PYTHON) tools/coverage build/coverage

# The training frameworks themselves, which are too large to come with every test.
FRAMEWORKS := build/frameworks/bin/python
test-frameworks: python
	@$(MAKE) -s build/frameworks/installed
	$(Q)$(FRAMEWORKS) -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps .
	@$(FRAMEWORKS) -m pytest -q -rs -p no:cacheprovider test/python/test_frameworks.py test/python/test_framework_blocks.py

# Blocks of a program with a real Kokkos, which Debian's Trilinos has.
test-kokkos: test-dependencies
	@tools/install-dependencies kokkos
	@$(MAKE) -s all
	@$(PYTHON) -m pytest -q -rs -p no:cacheprovider test/kokkos

# What examples/ has for other tools, with those: Snakemake, pytest-benchmark.
test-examples: python
	@$(MAKE) -s build/examples/bin/installed
	$(Q)build/examples/bin/python -m pip install -q --disable-pip-version-check --no-deps --force-reinstall .
	@$(PYTHON) -m pytest -q -rs -p no:cacheprovider test/cli/test_examples.py

build/examples/bin/installed: tools/requirements-examples.txt
	@$(SAY) "PIP $(<F)"
	$(Q).venv/bin/python -m venv build/examples
	$(Q)build/examples/bin/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@

build/frameworks/installed: tools/requirements-frameworks.txt
	@$(SAY) "PIP $(<F)"
	$(Q).venv/bin/python -m venv build/frameworks
	$(Q)$(FRAMEWORKS) -m pip install -q --disable-pip-version-check -r $<
	@touch $@

# What takes long: a simulated day, and 100 kills each of the tracker, the job, the relay and the server.
soak: python
	@$(MAKE) -s all $(SOAKS)
	@$(BUILD)/test/soak/day
	@$(PYTHON) test/soak/kills.py

# The original gpu_tracker, in an environment of its own: some tests and benchmarks run it beside ours where it is there.
original: build/original/installed
build/original/installed: tools/requirements-original.txt
	@$(SAY) "PIP $(<F)"
	$(Q).venv/bin/python -m venv build/original
	$(Q)build/original/bin/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@

# What the original promises, of the original: whether our checks of it say what is true.
test-original: original
	$(Q)build/original/bin/python -m pytest -q -rs --noconftest -p no:cacheprovider $(wildcard test/python/test_original_*.py)
	@$(PYTHON) -m pytest -q -rs -p no:cacheprovider test/python/test_original.py

# Scraped by a real Prometheus, which make test does only where one is installed: the package is large, and starts a service.
test-prometheus: test-dependencies
	@tools/install-dependencies prometheus
	@$(MAKE) -s all
	@$(PYTHON) -m pytest -q -p no:cacheprovider test/cli/test_prometheus.py

# With a real ClickHouse server, which make test does only where one is installed.
test-clickhouse: test-dependencies
	@tools/install-dependencies clickhouse
	@$(MAKE) -s all
	@$(PYTHON) -m pytest -q -rs -p no:cacheprovider test/cli/test_push.py

# Today's ClickHouse, as PyPI's chdb has it.
test-chdb: test-dependencies
	@$(MAKE) -s all build/chdb/installed
	@build/chdb/bin/python -m pytest -q -rs -p no:cacheprovider test/chdb

build/chdb/installed: tools/requirements-chdb.txt
	@$(SAY) "PIP $(<F)"
	$(Q).venv/bin/python -m venv build/chdb
	$(Q)build/chdb/bin/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@

# Kills of that server and of what pushes to it: KILLS=100 takes a quarter of an hour.
test-clickhouse-kills: test-dependencies
	@tools/install-dependencies clickhouse
	@$(MAKE) -s all
	@build/gpu-tracker run --no-history -q --overwrite --sleep-time 0.02 --tracking-file build/kills.sqlite -- sleep 2
	@$(PYTHON) test/clickhouse_kills.py build/kills.sqlite $(or $(KILLS),12)

# In a job of a real Slurm, which make test does only where root has one installed.
test-slurm: test-dependencies
	@tools/install-dependencies slurm
	@$(MAKE) -s all
	@$(PYTHON) -m pytest -q -rs -p no:cacheprovider test/cli/test_slurm.py

# On a machine with a GPU: programs of known memory, utilisation and power, and what is told of them. GPU_KIT: options of test/gpu/run.py.
test-gpu:
	@$(MAKE) -s all $(filter $(BUILD)/test/gpu/%,$(TRUTH))
	@python3 test/gpu/run.py --build $(BUILD) $(GPU_KIT)

# Random jobs of known use, each tracked in some way, and every figure held against the truth. SEEDS: 17, 1-200 (default: 1-30).
truth-random: test-dependencies
	@$(MAKE) -s all $(BUILD)/test/truth/random_job
	@$(MAKE) -s .venv/installed
	@$(PYTHON) test/truth/random_jobs.py $(or $(SEEDS),1-30)

# Only the unit tests, only the release build.
check: all unit
	@python3 tools/run-tests unit

# With clang a libFuzzer program for each target; without it programs that try the stored inputs only. Of the library they have what
# they call, or most of the time would go into compiling the rest. make test, which fuzzes for seconds, has them not optimized, either.
FUZZ_OPTIMIZE ?= -Og
FUZZ_CFLAGS    = $(SANITIZE:-O0=$(FUZZ_OPTIMIZE))
fuzz-build: build/fuzz/needed
	@if tools/has-libfuzzer; then $(MAKE) -s BUILD=build/fuzz CC=clang CFLAGS="$(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link" LIB_ONLY="$$(cat $<)" fuzz-programs; \
	else $(MAKE) -s BUILD=build/fuzz CFLAGS="$(FUZZ_CFLAGS)" LIB_ONLY="$$(cat $<)" fuzz-programs; fi

# The linker tells which objects of the library it took for all targets at once.
build/fuzz/needed: $(wildcard test/fuzz/*.c) $(BUILD)/libgputracker.a
	@mkdir -p $(@D) && $(SAY) "LD $@"
	$(Q)$(CC) $(CPPFLAGS) $(TEST_CPPFLAGS) -std=gnu17 -o $@.program $^ $(LDLIBS) -Wl,--allow-multiple-definition -Wl,-Map=$@.map
	$(Q)sed -n 's/.*libgputracker\.a(\(.*\.o\))$$/\1/p' $@.map | sort -u >$@ && rm $@.program $@.map

fuzz: test-dependencies
	@$(MAKE) -s fuzz-build
	@python3 tools/run-tests fuzz --fuzz-seconds $(FUZZ_SECONDS)

valgrind: test-dependencies
	@$(MAKE) -s all unit
	@python3 tools/run-tests unit --valgrind

bench: test-dependencies
	@$(MAKE) -s all test-programs bench-programs
	@for script in bench/bench_*.py; do $(PYTHON) $$script && echo || exit 1; done

# A trace of 10 GB, in TMPDIR.
bench-large: test-dependencies
	@$(MAKE) -s all bench-programs
	@$(PYTHON) bench/bench_trace.py 10

# Everyday programs under both packages at once, for docs/coming-from.md.
bench-side-by-side: test-dependencies
	@$(MAKE) -s all bench-programs
	@$(PYTHON) bench/side_by_side.py

lint: lint-dependencies
	@$(MAKE) -s python # whose stubs are compared with it
	@+tools/lint

format:
	clang-format -i $(wildcard include/*.h include/*/*.h lib/*/*.[ch] lib/*/*/*.[ch] cli/*.[ch] cli/*/*.[ch] inject/*.[ch] python/*.[ch] python/*/*.[ch] test/*/*.[ch] examples/*.c bench/*.c)

# The program for machines whose C library is 2.28 or later, with everything but that library inside. MACHINE=aarch64 is another's.
MACHINE  := $(shell uname -m)
PORTABLE  = $(CURDIR)/build/portable/$(MACHINE)-linux-gnu.2.28
static: portable-dependencies
	@tools/build-portable $(MACHINE)-linux-gnu.2.28
	@$(MAKE) -s BUILD=build/static-$(MACHINE) CC=$(PORTABLE)/bin/cc AR=$(PORTABLE)/bin/ar LDFLAGS="-s -pie" build/static-$(MACHINE)/gpu-tracker
	@tools/check-libc build/static-$(MACHINE)/gpu-tracker
	@echo build/static-$(MACHINE)/gpu-tracker

# The wheels for PyPI, into dist/, checked by auditwheel and abi3audit. Python 3.10 has its own, where there is one to make it.
wheels: portable-dependencies
	@for machine in x86_64 aarch64; do tools/build-wheel $$machine || exit 1; done
	@if python3.10 -c '' 2>/dev/null; then for machine in x86_64 aarch64; do tools/build-wheel $$machine python3.10 || exit 1; done; \
	else echo "make wheels: there is no python3.10 here, so none was made for it" >&2; fi

# The files of a release, of what is committed: dist/VERSION. DIST="source sdist" makes these parts alone. See CONTRIBUTING.md.
dist: portable-dependencies
	@+tools/make-dist $(DIST)

# Packages of what is committed, into dist/deb and dist/rpm.
deb: build-dependencies
	@tools/install-dependencies deb
	@tools/make-deb

rpm: build-dependencies
	@tools/install-dependencies rpm
	@tools/make-rpm

install: all
	@tools/install-files '$(BUILD)' '$(DESTDIR)' '$(PREFIX)' '$(LIBDIR)'

clean:
	rm -rf $(BUILD)

.SECONDARY:
-include $(patsubst %.o,%.d,$(LIB_OBJ) $(CLI_OBJ) $(SUPPORT) $(INJECT_OBJ)) $(addsuffix .d,$(UNIT) $(FUZZ) $(TRUTH) $(BENCHES) $(EXAMPLES)) $(FAKES:.so=.d)
.PHONY: all replay replay-short replay-cost replay-accept objects unit test-long coverage sanitized test-slurm test-clickhouse test-chdb test-clickhouse-kills test-programs fuzz-programs bench-programs build-dependencies portable-dependencies test-dependencies python-api lint-dependencies \
        run python ready-for-tests test soak python-sanitize original test-original test-gpu truth-random test-frameworks test-kokkos test-examples static wheels dist deb rpm check fuzz-build fuzz valgrind bench bench-large bench-side-by-side lint format install clean
