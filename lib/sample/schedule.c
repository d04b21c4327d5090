#include "sample/schedule.h"

#include <math.h>

#include "base/clock.h"

enum { LOOK_SHARE = 100 };
static const double CHANGE = 0.01;

static const int64_t MILLISECOND = GT_SECOND / 1000;
static const int64_t after_birth_ns[GT_LOOKS_A_BIRTH] = {0, 25000000, 100000000, 300000000};
static const int64_t POLL_NS = GT_SECOND / 10, CHANGE_NS = GT_SECOND / 10;

static void follow_birth(struct gt_schedule *schedule, int64_t now_ns)
{
    schedule->birth_ns = now_ns;
    for (int i = 0; i < GT_LOOKS_A_BIRTH; i++)
        if (!schedule->look_ns[i] && after_birth_ns[i] < schedule->period_ns)
            schedule->look_ns[i] = now_ns + after_birth_ns[i];
}

void gt_schedule_start(struct gt_schedule *schedule, int64_t now_ns, int64_t period_ns)
{
    *schedule = (struct gt_schedule){.period_ns = period_ns, .sample_ns = now_ns, .reading_ns = now_ns};
    follow_birth(schedule, now_ns);
}

void gt_schedule_listen(struct gt_schedule *schedule, bool hears, int64_t now_ns)
{
    bool polls = !hears && schedule->period_ns > POLL_NS;
    schedule->poll_ns = polls ? now_ns + POLL_NS : 0;
}

void gt_schedule_births(struct gt_schedule *schedule, int64_t now_ns, uint64_t born)
{
    if (born > schedule->born)
        follow_birth(schedule, now_ns);
    schedule->born = born;
}

void gt_schedule_memory(struct gt_schedule *schedule, int64_t now_ns, double bytes)
{
    bool has_changed = fabs(bytes - schedule->memory) > CHANGE * fmax(bytes, schedule->memory);
    if (has_changed && !schedule->change_ns && CHANGE_NS < schedule->period_ns)
        schedule->change_ns = now_ns + CHANGE_NS;
    schedule->memory = bytes;
}

static int64_t next_look(const struct gt_schedule *schedule)
{
    int64_t next = schedule->poll_ns ? schedule->poll_ns : INT64_MAX;
    if (schedule->change_ns && schedule->change_ns < next)
        next = schedule->change_ns;
    for (int i = 0; i < GT_LOOKS_A_BIRTH; i++)
        if (schedule->look_ns[i] && schedule->look_ns[i] < next)
            next = schedule->look_ns[i];
    return next < schedule->quiet_until_ns ? schedule->quiet_until_ns : next;
}

int64_t gt_schedule_next(const struct gt_schedule *schedule)
{
    int64_t next = schedule->sample_ns < schedule->reading_ns ? schedule->sample_ns : schedule->reading_ns;
    int64_t look = next_look(schedule);
    return look < next ? look : next;
}

/* Any reading is a look, too. Looks for births since the last one of their kind follow. */
static void take_looks(struct gt_schedule *schedule, int64_t now_ns)
{
    if (schedule->poll_ns)
        schedule->poll_ns = now_ns + POLL_NS;
    if (schedule->change_ns <= now_ns)
        schedule->change_ns = 0;
    for (int i = 0; i < GT_LOOKS_A_BIRTH; i++) {
        if (!schedule->look_ns[i] || schedule->look_ns[i] > now_ns)
            continue;
        int64_t due = schedule->birth_ns + after_birth_ns[i];
        schedule->look_ns[i] = due > now_ns ? due : 0;
    }
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
                                                       : GT_DUE_NOTHING;
    if (due != GT_DUE_NOTHING)
        take_looks(schedule, now_ns);
    if (due >= GT_DUE_READING)
        schedule->reading_ns = now_ns + GT_SECOND;
    if (due == GT_DUE_SAMPLE)
        take_sample(schedule, now_ns);
    return due;
}

void gt_schedule_looked(struct gt_schedule *schedule, int64_t now_ns, int64_t used_ns)
{
    int64_t pause = used_ns * LOOK_SHARE;
    schedule->quiet_until_ns = now_ns + (pause < 2 * MILLISECOND ? 2 * MILLISECOND : pause);
}
