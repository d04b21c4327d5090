#include "analyse/trace/diff_words.h"

#include <math.h>
#include <stdbool.h>
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

struct gt_diff_whole gt_diff_sum(const struct gt_diff_change *change, size_t count, const char *what, const char *each)
{
    struct gt_diff_whole sum = {.what = what, .each = each};
    for (size_t i = 0; i < count; i++)
        for (int side = 0; side < 2; side++)
            sum.us[side] += change[i].us[side];
    return sum;
}

void gt_diff_words(struct gt_diff_change *change, size_t count, const struct gt_diff_whole *sum, const char *each,
                   struct gt_buffer *out)
{
    const double *whole = sum->us;
    char a[32], b[32];
    size_t told = 0;
    double longer = fmax(whole[0], whole[1]), more = whole[1] - whole[0];
    if (count)
        qsort(change, count, sizeof *change, by_difference);
    while (told < count && told < MOST && 100 * fabs(change[told].us[1] - change[told].us[0]) >= LEAST * longer &&
           longer > 0)
        told++;
    gt_buffer_printf(out, "%s %s%s in B, %s in A", sum->what, duration(whole[1], b), sum->each, duration(whole[0], a));
    if (whole[0] > 0)
        gt_buffer_printf(out, " (%+.0f %%)", 100 * more / whole[0]);
    bool is_equal = 100 * fabs(more) < LEAST * longer || longer <= 0;
    gt_buffer_text(out, told ? ": " : is_equal ? "; nothing changed by 1 % of it" : "");
    for (size_t i = 0; i < told; i++) {
        gt_buffer_text(out, i ? "; " : "");
        write_change(&change[i], each, out);
    }
}
