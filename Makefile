# make, make run, make test, make bench, make lint, make install, make format: see CONTRIBUTING.md.
VERSION := $(shell cat VERSION)
BUILD   ?= build
CC      ?= gcc
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes
CPPFLAGS += -D_GNU_SOURCE -DGT_VERSION='"$(VERSION)"' -Iinclude -Ilib -Icli
override CFLAGS += -std=gnu17 $(WARN) -fPIC -fvisibility=hidden -MMD -MP -pthread
LDLIBS  := -lsqlite3 -ljansson -lz -lm -ldl -pthread

LIB_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard lib/*/*.c))
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cli/*.c))

all: $(BUILD)/libgputracker.a $(BUILD)/libgputracker.so $(if $(CLI_OBJ),$(BUILD)/gpu-tracker)

$(BUILD)/%.o: %.c VERSION
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(BUILD)/libgputracker.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/libgputracker.so: $(LIB_OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libgputracker.so.0 -o $@ $^ $(LDLIBS)

$(BUILD)/gpu-tracker: $(CLI_OBJ) $(BUILD)/libgputracker.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

clean:
	rm -rf $(BUILD)

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d)
.PHONY: all clean
