/* Why the chip is held back, from the kernel's file "gpu_metrics", a structure whose first words are its size and revision
 * (kgd_pp_interface.h of Linux; the bits: SMU_THROTTLER_* in amdgpu_smu.h). The structures of the libraries differ by release. */
#include <stdio.h>
#include <string.h>

#include "collect/gpu/amd.h"

enum { POWER = 1, HEAT = 2, HARDWARE = 4, OTHER = 8 }; /* of gpu_throttle */
enum { MOST_BYTES = 4096 };

/* Revision 1.3 has a word of bits. Since 1.6 there are counters of the time for which each cause held the chip back. */
static const struct revision {
    uint16_t size;
    uint8_t format, content;
    size_t bits;      /* offset; 0: it has counters */
    size_t residency; /* offset of the first counter */
} revisions[] = {{120, 1, 3, 112, 0}, {1664, 1, 6, 0, 36}, {2208, 1, 7, 0, 44}};

/* In the order of the file: the processor is hot (told from outside), power, the socket, its regulators, its memory. */
static const unsigned causes[AMD_RESIDENCIES] = {HARDWARE, POWER, HEAT, HEAT, HEAT};

static const struct revision *revision_of(const unsigned char *file, size_t length)
{
    for (size_t i = 0; i < sizeof revisions / sizeof *revisions; i++) {
        uint16_t size;
        memcpy(&size, file, sizeof size);
        if (length == size && revisions[i].size == size && revisions[i].format == file[2] &&
            revisions[i].content == file[3])
            return &revisions[i];
    }
    return NULL;
}

/* Cards for games have the bit of the hottest spot (36) set at any load, at their highest clock. */
static double from_bits(uint64_t bits)
{
    static const uint64_t power = 0xffffffffu, heat = 0xfffull << 32, hardware = 0xfull << 44, hot_spot = 1ull << 36;
    if (bits == UINT64_MAX)
        return NAN;
    return (bits & power ? POWER : 0) + (bits & heat & ~hot_spot ? HEAT : 0) + (bits & hardware ? HARDWARE : 0) +
           (bits & (~(power | heat | hardware) | hot_spot) ? OTHER : 0);
}

/* Those that rose since they were read before. */
static double from_residencies(struct amd_card *card, const unsigned char *first)
{
    unsigned reasons = 0;
    bool is_known = false;
    for (int i = 0; i < AMD_RESIDENCIES; i++) {
        uint32_t now = gt_row_u32(first, (size_t)i * sizeof now), before = card->residency[i];
        card->residency[i] = now;
        if (now == UINT32_MAX || before == UINT32_MAX)
            continue;
        is_known = true;
        reasons |= now != before ? causes[i] : 0;
    }
    return is_known ? reasons : NAN;
}

double gt_amd_throttle(const struct amd *amd, struct amd_card *card, const char *pci)
{
    char path[80];
    unsigned char file[MOST_BYTES];
    snprintf(path, sizeof path, "sys/bus/pci/devices/%.15s/gpu_metrics", pci);
    ssize_t length = *pci ? gt_root_read(amd->pids.root, path, (char *)file, sizeof file) : -1;
    const struct revision *revision = length >= 4 ? revision_of(file, (size_t)length) : NULL;
    if (!revision)
        return NAN;
    return revision->bits ? from_bits(gt_row_u64(file, revision->bits))
                          : from_residencies(card, file + revision->residency);
}
