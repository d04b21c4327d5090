/* A driver from before R450: process rows of 16 bytes, memory without the reserved part. */
#define FAKE_LISTS 1
#include "nvml.c"
