/* The figures that this user may not read on this machine, and the lines by which an administrator would change that. Nothing is done. */
#include "base/buffer.h"
#include "collect/remedy.h"

/* In the order of the text: the least of the ways to CPU energy comes first. */
static const struct gt_remedy *const tables[] = {gt_energy_remedies, gt_process_remedies, gt_gpu_remedies};

static const char *capability_name(enum gt_capability capability)
{
    return capability == GT_CAPABILITY_PERFMON ? "cap_perfmon" : "cap_net_admin";
}

/* setcap replaces what was set before, so there is one line for all, into which `capabilities` go. */
static void write_remedy(struct gt_buffer *out, struct gt_buffer *capabilities, const struct gt_remedy *remedy,
                         const struct gt_access *access)
{
    gt_buffer_printf(out, "# %s\n#   opens: %s\n#   risk: %s\n", remedy->what, remedy->opens, remedy->risk);
    if (remedy->capability == GT_NO_CAPABILITY) {
        gt_buffer_printf(out, remedy->command, access->group);
        gt_buffer_text(out, "\n\n");
        return;
    }
    const char *name = capability_name(remedy->capability);
    gt_buffer_printf(out, "#   by: %s, in the line at the end\n\n", name);
    gt_buffer_printf(capabilities, "%s%s", capabilities->length ? "," : "", name);
}

/* 1: something is denied. */
static int write_all(struct gt_access *access, struct gt_buffer *out)
{
    struct gt_buffer capabilities = {0};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct gt_remedy *remedy = tables[i]; remedy->is_denied; remedy++) {
            if (!remedy->is_denied(access))
                continue;
            if (!out->length)
                gt_buffer_text(out, "# For an administrator to choose from. Nothing was changed.\n\n");
            write_remedy(out, &capabilities, remedy, access);
        }
    bool is_any = out->length;
    if (!is_any)
        gt_buffer_text(out, "# Nothing is denied to this user that gpu-tracker reads on this machine.\n");
    if (capabilities.length)
        gt_buffer_printf(
            out,
            "# Leave out what is not wanted. It is given up once the counters are open, and commands that gpu-tracker starts get "
            "nothing of it.\nsudo setcap %s+ep \"$(command -v gpu-tracker)\"\n",
            capabilities.data);
    out->failed = out->failed ? out->failed : capabilities.failed;
    gt_buffer_release(&capabilities);
    return is_any;
}

int gt_doctor_fix(const char *machine_root, char **ret, size_t *length, struct gt_error *error)
{
    struct gt_root root = {.fd = -1};
    struct gt_access access;
    struct gt_buffer out = {0};
    int status = gt_root_open(&root, machine_root, error);
    if (status >= 0)
        status = gt_access_read(&access, &root, error);
    if (status >= 0)
        status = write_all(&access, &out);
    gt_root_close(&root);
    if (status >= 0 && out.failed)
        status = gt_error_system(error, -out.failed, "doctor");
    if (status < 0) {
        gt_buffer_release(&out);
        return status;
    }
    *ret = out.data;
    *length = out.length;
    return status;
}
