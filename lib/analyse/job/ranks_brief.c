#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job_analysis.h"
#include "analyse/job/job_report.h"
#include "report/brief.h"
#include "schema/human.h"

enum { TEXT = 300, NAMED = GT_BRIEF_WARNINGS };

static void put_count(struct gt_buffer *out, size_t count, const char *one, const char *several)
{
    gt_buffer_printf(out, "%s%zu %s", out->length ? ", " : "", count, count == 1 ? one : several);
}

/* "4 ranks on 2 nodes, 1 failed, 41 s" */
static void add_head(struct gt_node **ret, struct gt_node *root, const struct gt_job *job)
{
    struct gt_buffer outcome = {0};
    char title[2 * TEXT], time[GT_HUMAN_SIZE];
    size_t failed = 0, unfinished = 0;
    for (size_t i = 0; i < job->count; i++) {
        unfinished += !job->rank[i].complete;
        failed += job->rank[i].complete && job->rank[i].exit_status > 0;
    }
    struct gt_buffer names = {0};
    size_t steps = job->steps, ranks = gt_job_ranks(job, GT_JOB_ALL_NODES);
    gt_job_names(&names, job);
    snprintf(title, sizeof title, "%.200s%s%.200s", names.length ? names.data : "", names.length ? "  " : "",
             job->rank[0].machine.command);
    gt_buffer_release(&names);
    put_count(&outcome, ranks, "rank", "ranks");
    if (steps > 1)
        gt_buffer_printf(&outcome, " of %zu steps", steps);
    if (job->members > ranks)
        gt_buffer_printf(&outcome, " in %zu recordings", job->count);
    gt_buffer_printf(&outcome, " on %zu %s", job->nodes, job->nodes == 1 ? "node" : "nodes");
    if (failed)
        put_count(&outcome, failed, "failed", "failed");
    if (unfinished)
        put_count(&outcome, unfinished, "not finished", "not finished");
    gt_buffer_printf(&outcome, ", %s", gt_human_seconds(time, job->end - job->begin));
    *ret = gt_brief_add(root, title, outcome.data, failed > 0);
    gt_buffer_release(&outcome);
}

static void add_bounds(struct gt_node *brief, const char *title, const struct gt_job_bounds *bounds)
{
    char least[GT_HUMAN_SIZE], most[GT_HUMAN_SIZE], words[TEXT];
    if (isnan(bounds->least) || !(bounds->most > 0))
        return;
    snprintf(words, sizeof words, "peak of all ranks, at least; at most %s", gt_human_bytes(most, bounds->most));
    gt_brief_line(brief, &(struct gt_brief_line){title, gt_human_bytes(least, bounds->least), NULL, words});
}

static void add_cpu(struct gt_node *brief, const struct gt_job *job, const struct gt_job_outliers *outliers)
{
    bool is_of_one = outliers->uneven != GT_JOB_NO_LAUNCH;
    const struct gt_spread *cores = is_of_one ? &outliers->step[outliers->uneven][GT_JOB_CORES]
                                              : &outliers->all[GT_JOB_CORES];
    char value[GT_HUMAN_SIZE], time[GT_HUMAN_SIZE], least[GT_HUMAN_SIZE], most[GT_HUMAN_SIZE];
    struct gt_buffer words = {0};
    double cpu_time = gt_job_sum(job, GT_CPU_TIME);
    if (isnan(cpu_time))
        return;
    gt_buffer_printf(&words, "cores busy, %s of CPU time; %s to %s of a rank", gt_human_seconds(time, cpu_time),
                     gt_human_number(least, cores->least), gt_human_number(most, cores->most));
    if (is_of_one && job->launches > 1) {
        gt_job_put_launch(&words, job, outliers->uneven);
        gt_buffer_text(&words, ", the most uneven step");
    }
    gt_brief_line(brief, &(struct gt_brief_line){"cpu", gt_human_number(value, cpu_time / (job->end - job->begin)),
                                                 NULL, words.failed ? "" : words.data});
    gt_buffer_release(&words);
}

static void add_gpus(struct gt_node *brief, const struct gt_job *job)
{
    char value[GT_HUMAN_SIZE], words[TEXT];
    double busy = NAN;
    for (size_t i = 0; i < job->count; i++)
        if (!isnan(job->rank[i].gpu_use))
            busy = isnan(busy) ? job->rank[i].gpu_use : busy + job->rank[i].gpu_use;
    if (!job->gpus)
        return;
    snprintf(words, sizeof words, "busy of %zu, each counted once", job->gpus);
    gt_brief_line(brief,
                  &(struct gt_brief_line){"gpus", isnan(busy) ? "n/a" : gt_human_number(value, busy), NULL, words});
    add_bounds(brief, "gpu memory", &job->gpu_ram);
}

static void add_energy(struct gt_node *brief, const struct gt_job *job)
{
    char amount[GT_HUMAN_SIZE], least[GT_HUMAN_SIZE], drawn[GT_HUMAN_SIZE], words[TEXT];
    double most_sum = 0, least_sum = 0, drawn_sum = 0;
    for (int device = 0; device < GT_ENERGY_DEVICES; device++) {
        struct gt_job_energy energy;
        gt_job_energy(&energy, job, device);
        most_sum += isnan(energy.job) ? 0 : energy.job;
        least_sum += isnan(energy.job_least) ? 0 : energy.job_least;
        drawn_sum += isnan(energy.drawn) ? 0 : energy.drawn;
    }
    if (!(most_sum > 0))
        return;
    if (most_sum > 1.01 * least_sum)
        snprintf(words, sizeof words, "at most, and at least %s, of %s drawn", gt_human_energy(least, least_sum),
                 gt_human_energy(drawn, drawn_sum));
    else
        snprintf(words, sizeof words, "of %s drawn, each node counted once", gt_human_energy(drawn, drawn_sum));
    gt_brief_line(brief, &(struct gt_brief_line){"energy", gt_human_energy(amount, most_sum), NULL, words});
}

/* ---- What is remarkable ---- */

static void warn_of_missing(struct gt_node *brief, const struct gt_job *job)
{
    struct gt_buffer numbers = {0}, sentence = {0};
    size_t count = gt_job_missing(&numbers, job);
    if (count) {
        gt_buffer_printf(&sentence, "no recording of %zu %s: %.200s%s", count, count == 1 ? "rank" : "ranks",
                         numbers.data, numbers.length > 200 ? "..." : "");
        gt_brief_warning(brief, sentence.data, "totals are those of the others");
    }
    gt_buffer_release(&numbers);
    gt_buffer_release(&sentence);
}

static void warn_of_dropped(struct gt_node *brief, const struct gt_job *job)
{
    char sentence[TEXT];
    double samples;
    size_t ranks = gt_job_dropped(&samples, job);
    if (!ranks)
        return;
    snprintf(sentence, sizeof sentence, "%zu %s lost %.0f samples: the disk was too slow, or the spool full", ranks,
             ranks == 1 ? "recording" : "recordings", samples);
    gt_brief_warning(brief, sentence, "values over time do not include them");
}

/* Name the node with the largest clock offset. */
static void warn_of_clocks(struct gt_node *brief, const struct gt_job *job)
{
    char sentence[TEXT], amount[GT_HUMAN_SIZE];
    const struct gt_job_node *worst = NULL;
    double shift = 0;
    size_t count = 0;
    for (size_t i = 0; i < job->nodes; i++) {
        double own = job->rank[job->node[i].first].clock_shift;
        count += own < 0 || own > 0;
        if (fabs(own) > fabs(shift)) {
            worst = &job->node[i];
            shift = own;
        }
    }
    if (!worst)
        return;
    int length = snprintf(sentence, sizeof sentence, "the clock of %.128s is %s %s that of the server", worst->name,
                          gt_human_seconds(amount, fabs(shift)), shift > 0 ? "behind" : "ahead of");
    if (count > 1)
        snprintf(sentence + length, sizeof sentence - (size_t)length, ", and %zu more are off", count - 1);
    gt_brief_warning(brief, sentence, "its times are corrected by that here");
}

/* With several ranks below one tracker, the rank that failed is unknown. */
static void warn_of_trackers(struct gt_node *brief, const struct gt_job *job)
{
    size_t named = 0;
    for (size_t i = 0; i < job->count && named < NAMED; i++) {
        const struct gt_job_rank *rank = &job->rank[i];
        struct gt_buffer remark = {0}, sentence = {0};
        if (rank->below_count && (rank->complete || gt_job_is_silent(job, rank)) && gt_job_remark_end(&remark, rank)) {
            gt_buffer_printf(&sentence, "the command of %zu ranks", rank->below_count);
            gt_job_put_launch(&sentence, job, rank->launch);
            gt_buffer_printf(&sentence, " on %s: %s", job->node[rank->node].name, remark.data);
            gt_brief_finding(brief, sentence.data, NULL, "ranks");
            named++;
        }
        gt_buffer_release(&remark);
        gt_buffer_release(&sentence);
    }
}

struct odd_rank {
    double severity;
    size_t member;
};

static int compare_odd(const void *left, const void *right)
{
    const struct odd_rank *a = left, *b = right;
    return a->severity != b->severity ? (a->severity < b->severity) - (a->severity > b->severity)
                                      : (a->member > b->member) - (a->member < b->member);
}

/* `more` is the number of outliers without a line. */
static void name_odd(struct gt_node *brief, const struct gt_job *job, const struct gt_job_outliers *outliers,
                     size_t member, size_t more)
{
    struct gt_buffer sentence = {0};
    char detail[TEXT];
    int number = gt_job_member_number(job, member);
    if (number >= 0)
        gt_job_put_rank(&sentence, job, member);
    else
        gt_buffer_text(&sentence, job->rank[job->member[member].rank].path);
    gt_buffer_text(&sentence, ": ");
    size_t begin = sentence.length;
    snprintf(detail, sizeof detail, "%zu more %s in the whole report (-f text)", more, more == 1 ? "is" : "are");
    gt_job_remark(&sentence, outliers, job, member);
    if (sentence.length > begin)
        gt_brief_finding(brief, sentence.data, more ? detail : NULL, "ranks");
    gt_buffer_release(&sentence);
}

/* Warn of failed ranks first, then of the largest outliers. */
static void warn_of_ranks(struct gt_node *brief, const struct gt_job *job, const struct gt_job_outliers *outliers)
{
    struct odd_rank *odd = calloc(job->members + 1, sizeof *odd);
    size_t count = 0, named = NAMED, told = 0;
    for (const struct gt_node *item = gt_brief_first_warning(brief); item; item = item->next)
        told++;
    named = told < named ? named - told : 1; /* the limit of a summary */
    for (size_t i = 0; i < job->members && odd; i++) {
        struct gt_buffer remark = {0};
        odd[count] = (struct odd_rank){gt_job_remark(&remark, outliers, job, i), i};
        count += odd[count].severity > 0;
        gt_buffer_release(&remark);
    }
    if (odd)
        qsort(odd, count, sizeof *odd, compare_odd);
    for (size_t i = 0; i < count && i < named; i++)
        name_odd(brief, job, outliers, odd[i].member, i + 1 == named ? count - named : 0);
    free(odd);
}

static void warn_of_energy(struct gt_node *brief, const struct gt_job *job)
{
    struct gt_buffer reason = {0};
    for (size_t i = 0; i < job->nodes && !reason.length; i++)
        gt_job_energy_reason(&reason, &job->node[i]);
    if (reason.length)
        gt_brief_warning(brief, reason.data, NULL);
    gt_buffer_release(&reason);
}

static void warn_of_left_out(struct gt_node *brief, const struct gt_job *job)
{
    char sentence[TEXT];
    if (!job->left_out_count)
        return;
    snprintf(sentence, sizeof sentence, "%zu %s%s left out", job->left_out_count, job->source->keeps,
             job->left_out_count == 1 ? " was" : "s were");
    gt_brief_finding(brief, sentence, job->left_out[0].why, "left_out");
}

static void add_request(struct gt_node *brief, const struct gt_job *job)
{
    struct gt_buffer line = {0}, heading = {0};
    const char *kind = job->rank[0].machine.scheduler;
    if (*kind && gt_job_request(&line, job, kind) >= 0 && line.length) {
        gt_buffer_text(&heading, "next time: ");
        gt_job_request_reasons(&heading, job);
        gt_brief_request(brief, heading.failed ? "next time:" : heading.data, line.data);
    }
    gt_buffer_release(&heading);
    gt_buffer_release(&line);
}

void gt_job_brief(struct gt_node *root, const struct gt_job *job, const struct gt_job_outliers *outliers)
{
    struct gt_node *brief;
    add_head(&brief, root, job);
    add_bounds(brief, "memory", &job->ram);
    add_cpu(brief, job, outliers);
    add_gpus(brief, job);
    add_energy(brief, job);
    warn_of_missing(brief, job);
    warn_of_dropped(brief, job);
    warn_of_clocks(brief, job);
    warn_of_trackers(brief, job);
    warn_of_ranks(brief, job, outliers);
    warn_of_energy(brief, job);
    warn_of_left_out(brief, job);
    add_request(brief, job);
}
