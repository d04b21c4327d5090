/* Errors that the driver counts, as AMD SMI and ROCm SMI tell them of each block of the chip (amdsmi_get_gpu_ecc_count,
 * rsmi_dev_ecc_count_get: kernel documentation, "AMDGPU RAS Support"), and packets sent again over PCI Express. */
#include "collect/gpu/amd.h"

static const int64_t PERIOD_NS = 60 * GT_SECOND;

/* Blocks are bits, the same in both libraries. */
enum { PCIE = 0x20, XGMI = 0x80, LAST = 0x40000 };

static void add(double *sum, uint64_t count)
{
    *sum = (isnan(*sum) ? 0 : *sum) + (double)count;
}

/* What a card does not count the first time it is not asked for again. */
static void read_blocks(struct amd *amd, struct amd_card *card, double *corrected, double *uncorrected, double *xgmi)
{
    for (uint64_t block = 1; block <= LAST; block <<= 1) {
        struct amd_errors errors = {0};
        if (block == PCIE || card->uncounted & block)
            continue;
        if (amd->kind->errors(amd, card, block, &errors) != AMD_SUCCESS) {
            card->uncounted |= block;
        } else if (block == XGMI) {
            add(xgmi, errors.corrected);
            add(xgmi, errors.uncorrected);
        } else {
            add(corrected, errors.corrected);
            add(uncorrected, errors.uncorrected);
        }
    }
}

static void read_board(struct amd *amd, struct amd_card *card)
{
    uint64_t replays;
    double corrected = NAN, uncorrected = NAN, xgmi = NAN;
    read_blocks(amd, card, &corrected, &uncorrected, &xgmi);
    card->health[AMD_ECC_CORRECTED] = corrected;
    card->health[AMD_ECC_UNCORRECTED] = uncorrected;
    card->health[AMD_XGMI_ERRORS] = xgmi;
    card->health[AMD_PCIE_REPLAYS] = amd->kind->replays(amd, card, &replays) == AMD_SUCCESS ? (double)replays : NAN;
}

/* Cards that sleep are not asked, and keep what they had. */
void gt_amd_read_health(struct amd *amd, bool is_last)
{
    static const enum gt_metric_id metrics[AMD_HEALTH] = {GT_GPU_ECC_CORRECTED, GT_GPU_ECC_UNCORRECTED,
                                                          GT_GPU_XGMI_ERRORS, GT_GPU_PCIE_REPLAYS};
    int64_t now_ns = gt_clock_monotonic(amd->clock);
    bool is_first = !amd->health_ns, is_due = is_first || is_last || now_ns >= amd->health_ns;
    if (is_due)
        amd->health_ns = now_ns + PERIOD_NS;
    for (size_t i = 0; i < amd->card_count; i++) {
        struct amd_card *card = &amd->card[i];
        for (int k = 0; k < AMD_HEALTH && is_first; k++)
            card->health[k] = NAN;
        if (is_due && !card->is_asleep)
            read_board(amd, card);
        for (int k = 0; k < AMD_HEALTH; k++)
            card->value[metrics[k]] = card->health[k];
    }
}

void gt_amd_survey_health(void *state, struct gt_availability *ret)
{
    static const char *const names[] = {"ECC errors", "XGMI errors", "PCIe replays"};
    static const int parts[] = {AMD_ECC_UNCORRECTED, AMD_XGMI_ERRORS, AMD_PCIE_REPLAYS};
    enum { PARTS = sizeof parts / sizeof *parts };
    struct amd *amd = state;
    bool is_told[PARTS] = {false};
    if (amd && !amd->health_ns)
        gt_amd_read_health(amd, false);
    for (int part = 0; part < PARTS; part++)
        for (size_t i = 0; amd && i < amd->card_count; i++)
            is_told[part] |= !isnan(amd->card[i].health[parts[part]]);
    gt_gpu_survey_errors(ret, "counters of errors of the AMD driver", names, is_told, PARTS);
}
