#include <stdarg.h>
#include <stdio.h>

#include "trace/scan.h"

void gt_damage_note(struct gt_trace_damage *damage, uint64_t place, const char *format, ...)
{
    if (damage->first[0] && damage->first_place <= place)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(damage->first, sizeof damage->first, format, arguments);
    va_end(arguments);
    damage->first_place = place;
}

void gt_damage_add(struct gt_trace_damage *damage, const struct gt_trace_damage *more)
{
    damage->bad_events += more->bad_events;
    damage->lost_bytes += more->lost_bytes;
    damage->mended += more->mended;
    damage->unclosed += more->unclosed;
    damage->unopened += more->unopened;
    damage->bad_samples += more->bad_samples;
    damage->cut_off |= more->cut_off;
    if (more->first[0])
        gt_damage_note(damage, more->first_place, "%s", more->first);
}
