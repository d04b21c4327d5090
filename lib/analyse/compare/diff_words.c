#include "analyse/compare/diff_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/function_name.h"
#include "base/number.h"

enum { MOST = 3 };
static const double LEAST = 1; /* percent of the time of the longer side */

static const char *duration(double us, char text[32])
{
    us = fabs(us);
    snprintf(text, 32,
             us < 1e3   ? "%.4g us"
             : us < 1e6 ? "%.4g ms"
                        : "%.4g s",
             us < 1e3   ? us
             : us < 1e6 ? us / 1e3
                        : us / 1e6);
    return text;
}

static int by_difference(const void *a, const void *b)
{
    const struct gt_diff_change *x = a, *y = b;
    return GT_ORDER(fabs(y->us[1] - y->us[0]), fabs(x->us[1] - x->us[0]));
}

static void write_change(const struct gt_diff_change *change, const char *each, struct gt_buffer *out)
{
    char text[32];
    double more = change->us[1] - change->us[0];
    gt_function_name(out, change->name, "…");
    if (!change->count[0] || !change->count[1])
        gt_buffer_printf(out, change->count[1] ? " is new (%s%s)" : " is gone (%s%s)", duration(more, text), each);
    else
        gt_buffer_printf(out, " takes %s %s%s (%+.0f %%)", duration(more, text), more > 0 ? "more" : "less", each,
                         100 * more / change->us[0]);
}

void gt_diff_words(struct gt_diff_change *change, size_t count, const char *what, const char *each, const char *of,
                   const double whole[2], struct gt_buffer *out)
{
    double sum[2] = {0};
    char a[32], b[32];
    size_t told = 0;
    for (size_t i = 0; i < count; i++)
        for (int side = 0; side < 2; side++)
            sum[side] += change[i].us[side];
    const double *all = whole ? whole : sum;
    double longer = fmax(all[0], all[1]), more = all[1] - all[0];
    if (count)
        qsort(change, count, sizeof *change, by_difference);
    while (told < count && told < MOST && 100 * fabs(change[told].us[1] - change[told].us[0]) >= LEAST * longer &&
           longer > 0)
        told++;
    gt_buffer_printf(out, "%s %s%s in B, %s in A", what, duration(all[1], b), each, duration(all[0], a));
    if (all[0] > 0)
        gt_buffer_printf(out, " (%+.0f %%)", 100 * more / all[0]);
    gt_buffer_text(out, told ? ": " : whole ? "" : "; none of it changed by 1 % of that");
    for (size_t i = 0; i < told; i++) {
        gt_buffer_text(out, i ? "; " : "");
        write_change(&change[i], of, out);
    }
}
