/* A driver with only what cannot be left out. */
#define FAKE_LISTS 0
#include "nvml.c"
