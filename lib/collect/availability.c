#include "collect/availability.h"

#include <stdarg.h>
#include <stdio.h>

const char gt_remedy_net_admin[] =
    "sudo setcap cap_net_admin+ep \"$(command -v gpu-tracker)\" (opens what all processes used when they "
    "ended, to whoever runs it; see gpu-tracker doctor --fix)";
const char gt_remedy_energy[] =
    "the energy relay (opens joules of the machine, coarsely, to a group of users); gpu-tracker doctor --fix "
    "has its lines, and other ways with what they open";
const char gt_remedy_delegate[] = "systemd-run --user --scope -p Delegate=yes gpu-tracker ...";

int gt_unavailable(struct gt_availability *availability, enum gt_state state, const char *remedy, const char *reason,
                   ...)
{
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(availability->reason, sizeof availability->reason, reason, arguments);
    va_end(arguments);
    snprintf(availability->remedy, sizeof availability->remedy, "%s", remedy ? remedy : "");
    availability->state = state;
    return 0;
}
