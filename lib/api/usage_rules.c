/* Rules for runs, for those who see only the public header. */
#include "analyse/usage/usage_rule.h"
#include "api/recorded.h"
#include "api/tracker.h"

int gt_rules_check(const char *const *rules, struct gt_error *error)
{
    struct gt_usage_rule rule;
    int status = 0;
    for (; rules && *rules && status >= 0; rules++)
        status = gt_usage_rule_read(&rule, *rules, error);
    return status;
}

struct judge {
    const char *const *rules;
    void (*warn)(void *context, const char *sentence);
    void *context;
};

/* Returns how many rules are broken. */
static int judge(const struct judge *judge, const struct gt_usage *usage, struct gt_error *error)
{
    struct gt_usage_rule rule;
    char sentence[300];
    int broken = 0;
    for (const char *const *text = judge->rules; text && *text; text++) {
        int status = gt_usage_rule_read(&rule, *text, error);
        if (status < 0)
            return status;
        if (!gt_usage_rule_is_broken(&rule, usage, sentence, sizeof sentence))
            continue;
        broken++;
        gt_warn(judge->warn, judge->context, "%s", sentence);
    }
    return broken;
}

int gt_tracker_judge(const struct gt_tracker *tracker, const char *const *rules,
                     void (*warn)(void *context, const char *sentence), void *context, struct gt_error *error)
{
    const struct gt_recorder *recorder = &tracker->recorder;
    const struct gt_usage usage = {
        .machine = &recorder->machine, .summary = &recorder->summary, .outcome = &recorder->outcome};
    return judge(&(struct judge){rules, warn, context}, &usage, error);
}

static int judge_recorded(const struct gt_usage_sources *sources, void *context, struct gt_error *error)
{
    const struct gt_usage usage = {
        .machine = sources->machine, .summary = sources->summary, .outcome = sources->outcome};
    return judge(context, &usage, error);
}

int gt_recording_judge(const char *path, const char *const *rules, void (*warn)(void *context, const char *sentence),
                       void *context, struct gt_error *error)
{
    struct judge rules_of = {rules, warn, context};
    return gt_recorded_use(path, NULL, &(struct gt_recorded_use){judge_recorded, &rules_of}, error);
}
