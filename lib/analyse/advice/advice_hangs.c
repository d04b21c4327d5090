/* What dumps of NCCL's flight recorder tell of a job that hangs. */
#include <inttypes.h>
#include <string.h>

#include "analyse/advice/advice.h"
#include "base/buffer.h"

enum { MOST = 100 }; /* characters of a list of ranks */

struct hangs {
    struct gt_adviser *adviser;
    size_t open, different; /* collectives so far */
};

/* The first one is told: what follows it cannot go on. */
static void tell_open(struct hangs *hangs, const struct gt_flight_call *call)
{
    static const char *const words[GT_FLIGHT_STATES] = {"scheduled by", "running on", "finished by", "not called by"};
    struct gt_buffer ranks = {0};
    if (hangs->open++)
        return;
    for (int state = GT_FLIGHT_STATES; state-- > 0;)
        if (call->ranks[state])
            gt_buffer_printf(&ranks, "%s %s rank %.*s%s", ranks.length ? "," : ":", words[state], MOST,
                             call->ranks[state], strlen(call->ranks[state]) > MOST ? " ..." : "");
    gt_advise(hangs->adviser, GT_NO_GAIN, "flight", "%s %" PRId64 " of process group %s is not finished by all ranks%s",
              call->name, call->number, call->group, ranks.length ? ranks.data : "");
    gt_buffer_release(&ranks);
}

static void take_call(void *context, const struct gt_flight_call *call)
{
    struct hangs *hangs = context;
    if (call->is_open)
        tell_open(hangs, call);
    if (call->differs && !hangs->different++)
        gt_advise(hangs->adviser, GT_NO_GAIN, "flight",
                  "%s %" PRId64 " of process group %s is not the same call on all ranks: its name or sizes differ",
                  call->name, call->number, call->group);
}

void gt_advise_hangs(struct gt_adviser *adviser)
{
    struct hangs hangs = {.adviser = adviser};
    int status = gt_flight_visit(adviser->input, GT_ADVICE_FLIGHT, &(struct gt_flight_visitor){take_call, &hangs});
    adviser->status = status < 0 ? status : adviser->status;
}
