/* A driver from R450 on: process rows of 24 bytes. */
#define FAKE_LISTS 2
#include "nvml.c"
