/* A driver from R510 on: process rows of 24 or, early in R535, 32 bytes under one name. */
#define FAKE_LISTS 3
#include "nvml.c"
