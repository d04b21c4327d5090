#include "sample/schedule.h"

#include "base/clock.h"

enum { LOOK_SHARE = 200 };
static const int64_t SOONEST_NS = GT_SECOND / 500, LOOK_NS = GT_SECOND / 20, SEARCH_NS = GT_SECOND / 10;
static const int64_t SAVED_NS = 10 * GT_SECOND; /* pauses that a quiet time saves for later looks */

void gt_schedule_start(struct gt_schedule *schedule, int64_t now_ns, int64_t period_ns, bool hears)
{
    *schedule = (struct gt_schedule){.period_ns = period_ns,
                                     .sample_ns = now_ns,
                                     .reading_ns = now_ns,
                                     .allowed_ns = now_ns - SAVED_NS,
                                     .hears = hears,
                                     .has_birth = true};
}

void gt_schedule_births(struct gt_schedule *schedule, uint64_t born)
{
    schedule->has_birth |= born > schedule->born;
    schedule->born = born;
}

void gt_schedule_processes(struct gt_schedule *schedule, bool has_several, bool has_group)
{
    schedule->has_several = has_several;
    schedule->has_group = has_group;
}

static int64_t next_look(const struct gt_schedule *schedule)
{
    int64_t next = INT64_MAX;
    if (schedule->has_birth)
        next = 0;
    else if (schedule->has_several && LOOK_NS < schedule->period_ns)
        next = schedule->looked_ns + LOOK_NS;
    else if (!schedule->hears && SEARCH_NS < schedule->period_ns)
        next = schedule->looked_ns + SEARCH_NS;
    return next < schedule->quiet_until_ns ? schedule->quiet_until_ns : next;
}

static int64_t next_poll(const struct gt_schedule *schedule)
{
    bool polls = schedule->has_group && schedule->has_several && LOOK_NS < schedule->period_ns;
    return polls ? schedule->polled_ns + LOOK_NS : INT64_MAX;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t gt_schedule_next(const struct gt_schedule *schedule)
{
    return earlier(earlier(schedule->sample_ns, schedule->reading_ns),
                   earlier(next_look(schedule), next_poll(schedule)));
}

static void take_sample(struct gt_schedule *schedule, int64_t now_ns)
{
    int64_t soonest = now_ns +
                      schedule->period_ns / 4; /* a late sample takes the place of one that would follow at once */
    int64_t ticks = (soonest - schedule->sample_ns) / schedule->period_ns + 1;
    schedule->missed += (uint64_t)(ticks - 1);
    schedule->sample_ns += ticks * schedule->period_ns;
}

enum gt_due gt_schedule_take(struct gt_schedule *schedule, int64_t now_ns)
{
    enum gt_due due = now_ns >= schedule->sample_ns    ? GT_DUE_SAMPLE
                      : now_ns >= schedule->reading_ns ? GT_DUE_READING
                      : now_ns >= next_look(schedule)  ? GT_DUE_LOOK
                      : now_ns >= next_poll(schedule)  ? GT_DUE_POLL
                                                       : GT_DUE_NOTHING;
    if (due >= GT_DUE_POLL)
        schedule->polled_ns = now_ns;
    if (due >= GT_DUE_LOOK) {
        schedule->looked_ns = now_ns;
        schedule->has_birth = false;
    }
    if (due >= GT_DUE_READING)
        schedule->reading_ns = now_ns + GT_SECOND;
    if (due == GT_DUE_SAMPLE)
        take_sample(schedule, now_ns);
    return due;
}

void gt_schedule_looked(struct gt_schedule *schedule, int64_t now_ns, int64_t used_ns)
{
    if (schedule->allowed_ns < now_ns - SAVED_NS)
        schedule->allowed_ns = now_ns - SAVED_NS;
    schedule->allowed_ns += used_ns * LOOK_SHARE;
    schedule->quiet_until_ns = now_ns + SOONEST_NS > schedule->allowed_ns ? now_ns + SOONEST_NS : schedule->allowed_ns;
}
