#include "analyse/job/job.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/grow.h"
#include "base/number.h"

size_t gt_job_name_base(const char *job)
{
    return strcspn(job, ".+");
}

bool gt_job_name_is_same(const char *one, const char *other)
{
    size_t length = gt_job_name_base(one);
    return length == gt_job_name_base(other) && memcmp(one, other, length) == 0;
}

bool gt_job_name_is_meant(const char *job, const char *name)
{
    const char *colon = strchr(job, ':'), *short_name = colon ? colon + 1 : job;
    size_t base = gt_job_name_base(job), length = strlen(name);
    return strcmp(job, name) == 0 || strcmp(short_name, name) == 0 ||
           (length == base && memcmp(job, name, base) == 0) ||
           (length == base - (size_t)(short_name - job) && memcmp(short_name, name, length) == 0);
}

static int compare_names(const void *left, const void *right)
{
    return strverscmp(*(const char *const *)left, *(const char *const *)right);
}

/* Returns the length of the name without its restart: attempts have the same ranks. */
static size_t step_length(const char *job)
{
    return strcspn(job, "+");
}

/* Find launches and steps. Names are borrowed from the ranks. Attempts of a step follow each other. */
static int find_launches(struct gt_job *job)
{
    size_t kept = 0;
    job->launch = calloc(job->count + 1, sizeof *job->launch);
    job->step_of = calloc(job->count + 1, sizeof *job->step_of);
    if (!job->launch || !job->step_of)
        return -ENOMEM;
    for (size_t i = 0; i < job->count; i++)
        job->launch[i] = job->rank[i].machine.job;
    qsort(job->launch, job->count, sizeof *job->launch, compare_names);
    for (size_t i = 0; i < job->count; i++) {
        const char *name = job->launch[i], *last = kept ? job->launch[kept - 1] : NULL;
        size_t length = step_length(name);
        if (last && strcmp(last, name) == 0)
            continue;
        job->steps += !last || step_length(last) != length || strncmp(last, name, length) != 0;
        job->step_of[kept] = job->steps - 1;
        job->launch[kept++] = name;
    }
    job->launches = kept;
    for (size_t i = 0; i < job->count; i++) {
        const char *name = job->rank[i].machine.job;
        const char **found = bsearch(&name, job->launch, kept, sizeof *job->launch, compare_names);
        job->rank[i].launch = found ? (size_t)(found - job->launch) : 0;
    }
    return 0;
}

size_t gt_job_names(struct gt_buffer *out, const struct gt_job *job)
{
    enum { NAMED = 8 };
    size_t count = 0;
    for (size_t i = 0; i < job->launches; i++)
        if (*job->launch[i] && ++count <= NAMED)
            gt_buffer_printf(out, "%s%s", out->length ? ", " : "", job->launch[i]);
    if (count > NAMED)
        gt_buffer_printf(out, " and %zu more", count - NAMED);
    return count;
}

size_t gt_job_member_launch(const struct gt_job *job, size_t member)
{
    return job->rank[job->member[member].rank].launch;
}

void gt_job_put_launch(struct gt_buffer *out, const struct gt_job *job, size_t launch)
{
    const char *name = job->launch[launch], *colon = strchr(name, ':');
    if (job->launches > 1 && *name)
        gt_buffer_printf(out, " of %s", colon ? colon + 1 : name);
}

/* ---- One recording ---- */

static double known(double value)
{
    return isnan(value) ? 0 : value;
}

static void take_outcome(struct gt_job_rank *rank, const struct gt_outcome *outcome)
{
    memcpy(rank->own, outcome->value[GT_SCOPE_COMBINED], sizeof rank->own);
    memcpy(rank->system, outcome->value[GT_SCOPE_SYSTEM], sizeof rank->system);
    rank->complete = outcome->complete;
    rank->exit_status = outcome->exit_status;
    rank->ending = outcome->ending;
    rank->samples = (double)outcome->samples;
    rank->missed = (double)outcome->missed;
    rank->dropped = (double)outcome->dropped;
    rank->begin = gt_seconds(rank->machine.start_real_ns);
    rank->end = rank->begin + known(outcome->elapsed);
    rank->ram.least = rank->own[GT_RAM_PEAK];
    rank->ram.most = fmax(rank->own[GT_RAM_PEAK], rank->own[GT_RAM_PEAK_BOUND]); /* fmax passes over NaN */
    rank->gpu_ram = rank->gpu_use = rank->cores_p95 = rank->killed_at = NAN;
    if (outcome->events.oom_kills > 0)
        rank->killed_at = outcome->events.limit_met > 0 ? outcome->events.limit_met : rank->ram.most;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        rank->error[i] = known(outcome->counter[i].doubt);
    rank->error[GT_ENERGY_CPU] += known(rank->own[GT_CPU_ENERGY_SHARE_ERROR]) +
                                  known(rank->own[GT_CPU_ENERGY_PLACEMENT_ERROR]);
}

static int copy_machine(struct gt_job_rank *rank, const struct gt_machine *machine)
{
    rank->machine = *machine;
    rank->machine.gpu = calloc(machine->gpu_length + 1, sizeof *rank->machine.gpu);
    if (!rank->machine.gpu)
        return -ENOMEM;
    if (machine->gpu_length)
        memcpy(rank->machine.gpu, machine->gpu, machine->gpu_length * sizeof *machine->gpu);
    return 0;
}

static int copy_below(struct gt_job_rank *rank, const struct gt_outcome *outcome)
{
    rank->below = calloc(outcome->rank_count + 1, sizeof *rank->below);
    if (!rank->below)
        return -ENOMEM;
    if (outcome->rank_count)
        memcpy(rank->below, outcome->rank, outcome->rank_count * sizeof *rank->below);
    rank->below_count = outcome->rank_count;
    return 0;
}

static void release_rank(struct gt_job_rank *rank)
{
    free(rank->below);
    free(rank->machine.gpu);
    free(rank->path);
}

int gt_job_add_rank(struct gt_job *job, const char *path, const struct gt_machine *machine,
                    const struct gt_outcome *outcome)
{
    struct gt_job_rank rank = {.path = strdup(path)}, *place = NULL;
    if (rank.path && copy_machine(&rank, machine) >= 0 && copy_below(&rank, outcome) >= 0)
        place = GT_GROW_LIST(job, rank);
    if (!place) {
        release_rank(&rank);
        return -ENOMEM;
    }
    take_outcome(&rank, outcome);
    *place = rank;
    return 0;
}

int gt_job_leave_out(struct gt_job *job, const char *path, const char *why)
{
    struct gt_job_left_out *place = GT_GROW_BY_ONE(job->left_out, job->left_out_count);
    if (!place)
        return -ENOMEM;
    job->left_out_count++;
    *place = (struct gt_job_left_out){strdup(path), strdup(why)};
    return place->path && place->why ? 0 : -ENOMEM;
}

void gt_job_release(struct gt_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        release_rank(&job->rank[i]);
    for (size_t i = 0; i < job->left_out_count; i++) {
        free(job->left_out[i].path);
        free(job->left_out[i].why);
    }
    gt_query_free(job->query);
    gt_buffer_release(&job->missing);
    free(job->rank);
    free(job->member);
    free(job->launch);
    free(job->step_of);
    free(job->node);
    free(job->left_out);
    *job = (struct gt_job){0};
}

/* ---- Order ---- */

static int number_of(const struct gt_job_rank *rank)
{
    return *rank->machine.launcher ? rank->machine.rank - 1 : -1;
}

/* Recordings of earlier versions have no boot id. */
static const char *node_id(const struct gt_job_rank *rank)
{
    return *rank->machine.node ? rank->machine.node : rank->machine.host;
}

static const char *node_name(const struct gt_job_rank *rank)
{
    return *rank->machine.node_name ? rank->machine.node_name : rank->machine.host;
}

static int compare_ranks(const void *left, const void *right)
{
    const struct gt_job_rank *a = left, *b = right;
    return GT_ORDER_BY(strverscmp(node_name(a), node_name(b)), strcmp(node_id(a), node_id(b)),
                       GT_ORDER(number_of(a), number_of(b)), strverscmp(a->machine.job, b->machine.job),
                       GT_ORDER(a->begin, b->begin), GT_ORDER(a->machine.pid, b->machine.pid));
}

/* The same process of the same machine: one file is a copy of the other. */
static bool is_same_run(const struct gt_job_rank *a, const struct gt_job_rank *b)
{
    return a->machine.pid == b->machine.pid && fabs(a->begin - b->begin) < 0.001 && !strcmp(node_id(a), node_id(b));
}

static int leave_copies_out(struct gt_job *job)
{
    size_t kept = 0;
    int status = 0;
    for (size_t i = 0; i < job->count; i++) {
        if (kept && is_same_run(&job->rank[kept - 1], &job->rank[i])) {
            char why[600];
            snprintf(why, sizeof why, "the same run as %s", job->rank[kept - 1].path);
            if (gt_job_leave_out(job, job->rank[i].path, why) < 0)
                status = -ENOMEM;
            release_rank(&job->rank[i]);
        } else {
            job->rank[kept++] = job->rank[i];
        }
    }
    job->count = kept;
    return status;
}

static void find_nodes(struct gt_job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        struct gt_job_rank *rank = &job->rank[i];
        if (!job->nodes || strcmp(job->node[job->nodes - 1].id, node_id(rank)) != 0)
            job->node[job->nodes++] = (struct gt_job_node){.name = node_name(rank), .id = node_id(rank), .first = i};
        job->node[rank->node = job->nodes - 1].count++;
        job->begin = i ? fmin(job->begin, rank->begin) : rank->begin;
        job->end = i ? fmax(job->end, rank->end) : rank->end;
    }
}

static int find_members(struct gt_job *job)
{
    size_t most = 0;
    for (size_t i = 0; i < job->count; i++)
        most += 1 + job->rank[i].below_count;
    job->member = calloc(most + 1, sizeof *job->member);
    if (!job->member)
        return -ENOMEM;
    for (size_t i = 0; i < job->count; i++) {
        struct gt_job_rank *rank = &job->rank[i];
        rank->first_member = rank->whole = job->members;
        job->launcher = rank->below_count ? rank->below[0].launcher : job->launcher;
        for (size_t k = 0; k < rank->below_count; k++)
            job->member[job->members++] = (struct gt_job_member){i, &rank->below[k]};
        if (!rank->below_count)
            job->member[job->members++] = (struct gt_job_member){i, NULL};
    }
    job->all_members = job->members;
    for (size_t i = 0; i < job->count; i++)
        if (job->rank[i].below_count) {
            job->rank[i].whole = job->all_members;
            job->member[job->all_members++] = (struct gt_job_member){i, NULL};
        }
    return 0;
}

int gt_job_member_number(const struct gt_job *job, size_t member)
{
    const struct gt_job_member *one = &job->member[member];
    if (one->below)
        return one->below->rank;
    const struct gt_job_rank *rank = &job->rank[one->rank];
    bool is_other = job->launcher &&
                    strcmp(job->launcher, rank->machine.launcher); /* its numbers are not the ranks of this job */
    return member < job->members && !is_other ? number_of(rank) : -1;
}

const char *gt_job_member_node_name(const struct gt_job *job, size_t member)
{
    return job->node[job->rank[job->member[member].rank].node].name;
}

/* ---- Which ranks there are ---- */

static void make_rows(struct gt_job *job)
{
    const char **names = gt_query_memory(job->query, job->nodes + 1, sizeof *names);
    struct gt_rows *rows = &job->rows;
    *rows = gt_rows_new(job->query, job->all_members);
    for (size_t i = 0; i < job->nodes && names; i++)
        names[i] = job->node[i].name;
    uint32_t *member = gt_rows_add_keys(rows, "member", NULL), *node = gt_rows_add_keys(rows, "node", names);
    uint32_t *launch = gt_rows_add_keys(rows, "job", job->launch), *step = gt_rows_add_keys(rows, "step", NULL);
    int64_t *rank = gt_rows_add_wholes(rows, "rank"), *size = gt_rows_add_wholes(rows, "size");
    for (size_t i = 0; i < rows->count; i++) {
        const struct gt_job_rank *of = &job->rank[job->member[i].rank];
        int number = gt_job_member_number(job, i);
        member[i] = (uint32_t)i;
        node[i] = (uint32_t)of->node;
        launch[i] = (uint32_t)of->launch;
        step[i] = (uint32_t)job->step_of[of->launch];
        rank[i] = number < 0 ? GT_NO_WHOLE : number;
        size[i] = job->member[i].below ? job->member[i].below->size : of->machine.world;
    }
}

/* Append the numbers of absent ranks of a step. `ranks` are the rows of those that are there. */
static void put_absent(struct gt_job *job, uint32_t step, int64_t world, const int64_t *ranks, size_t count)
{
    int64_t all = count && ranks[count - 1] >= world ? ranks[count - 1] + 1 : world;
    bool *is_there = gt_query_zeros(job->query, (size_t)all + 1, sizeof *is_there);
    struct gt_buffer numbers = {0};
    size_t launch = 0;
    if (!is_there)
        return;
    for (size_t i = 0; i < count; i++)
        if (ranks[i] >= 0)
            is_there[ranks[i]] = true;
    size_t absent = gt_buffer_absent(&numbers, is_there, (size_t)all);
    while (job->step_of[launch] != step)
        launch++;
    if (absent && job->steps > 1)
        gt_buffer_printf(&job->missing, "%s%.*s: ", job->missing.length ? "; " : "",
                         (int)step_length(job->launch[launch]), job->launch[launch]);
    if (absent)
        gt_buffer_text(&job->missing, numbers.data);
    job->missing_count += absent;
    gt_buffer_release(&numbers);
}

/* Members without a number cannot be distinguished, so each counts as one rank. Attempts of a step have the same ranks. */
static int64_t ranks_of(const struct gt_rows *groups, size_t row)
{
    return gt_rows_wholes(groups, "rank")[row] == GT_NO_WHOLE ? gt_rows_wholes(groups, "members")[row] : 1;
}

static void count_ranks(struct gt_job *job)
{
    struct gt_rows members = job->rows;
    members.count = members.count ? job->members : 0;
    struct gt_rows on_nodes = gt_rows_group(&members, "node step rank", GT_AGGREGATES(GT_COUNT("members")));
    struct gt_rows ranks = gt_rows_group(&members, "step rank", GT_AGGREGATES(GT_COUNT("members")));
    struct gt_rows steps = gt_rows_group(&members, "step", GT_AGGREGATES(GT_MAX("size", "size")));
    const uint32_t *node = gt_rows_keys(&on_nodes, "node"), *step = gt_rows_keys(&steps, "step");
    const int64_t *world = gt_rows_wholes(&steps, "size"), *rank = gt_rows_wholes(&ranks, "rank");
    for (size_t i = 0; i < on_nodes.count; i++)
        job->node[node[i]].ranks += ranks_of(&on_nodes, i);
    for (size_t i = 0; i < ranks.count; i++)
        job->ranks += ranks_of(&ranks, i);
    for (size_t i = 0, from = 0; i < steps.count; i++) {
        size_t end = gt_rows_run(&ranks, "step", from);
        job->world += world[i];
        put_absent(job, step[i], world[i], rank + from, end - from);
        from = end;
    }
}

size_t gt_job_dropped(double *ret, const struct gt_job *job)
{
    size_t ranks = 0;
    *ret = 0;
    for (size_t i = 0; i < job->count; i++) {
        *ret += job->rank[i].dropped;
        ranks += job->rank[i].dropped > 0;
    }
    return ranks;
}

int gt_job_sort(struct gt_job *job, struct gt_error *error)
{
    qsort(job->rank, job->count, sizeof *job->rank, compare_ranks);
    job->node = calloc(job->count, sizeof *job->node);
    if (!job->node || leave_copies_out(job) < 0)
        return gt_error_system(error, ENOMEM, "job");
    find_nodes(job);
    job->query = gt_query_new();
    if (!job->query || find_launches(job) < 0 || find_members(job) < 0)
        return gt_error_system(error, ENOMEM, "job");
    make_rows(job);
    count_ranks(job);
    return gt_query_status(job->query) < 0 || job->missing.failed ? gt_error_system(error, ENOMEM, "job") : 0;
}

static long attempt_of(const struct gt_job *job, size_t launch)
{
    const char *restart = strchr(job->launch[launch], '+');
    return restart ? atol(restart + 1) : 0;
}

/* Returns true if the whole attempt was killed, and another followed. */
static bool has_later_attempt(const struct gt_job *job, size_t launch)
{
    for (size_t i = 0; i < job->launches; i++)
        if (job->step_of[i] == job->step_of[launch] && attempt_of(job, i) > attempt_of(job, launch))
            return true;
    return false;
}

static const double LATEST = 120;

bool gt_job_is_silent(const struct gt_job *job, const struct gt_job_rank *rank)
{
    double latest = rank->end;
    for (size_t i = 0; i < job->count; i++)
        if (job->rank[i].launch == rank->launch)
            latest = fmax(latest, job->rank[i].end);
    return !rank->complete && latest - rank->end > fmax(LATEST, gt_machine_overdue(rank->machine.period));
}

bool gt_job_goes_on(const struct gt_job *job, double now)
{
    for (size_t i = 0; i < job->count; i++)
        if (!job->rank[i].complete && !has_later_attempt(job, job->rank[i].launch))
            return true;
    return job->missing_count && fabs(now - job->end) < LATEST;
}

/* ---- All of it ---- */

static int check_one_job(const struct gt_job *job, struct gt_error *error)
{
    const char *first = "";
    for (size_t i = 0; i < job->count; i++) {
        const char *name = job->rank[i].machine.job;
        first = *first ? first : name;
        if (*name && !gt_job_name_is_same(name, first))
            return gt_error_set(
                error, EINVAL, "%s has recordings of several jobs, %.*s and %.*s: each needs a folder of its own",
                job->source->name, (int)gt_job_name_base(first), first, (int)gt_job_name_base(name), name);
    }
    return 0;
}

static int read_ranks(struct gt_job *ret, const struct gt_job_source *source, bool is_one_job, struct gt_error *error)
{
    *ret = (struct gt_job){.source = source};
    int status = source->ranks(source->state, ret, error);
    if (status >= 0 && is_one_job)
        status = check_one_job(ret, error);
    if (status >= 0)
        status = gt_job_sort(ret, error);
    if (status < 0)
        gt_job_release(ret);
    return status;
}

int gt_job_read_ranks(struct gt_job *ret, const struct gt_job_source *source, struct gt_error *error)
{
    return read_ranks(ret, source, true, error);
}

int gt_job_read_runs(struct gt_job *ret, const struct gt_job_source *source, struct gt_error *error)
{
    return read_ranks(ret, source, false, error);
}

int gt_job_read(struct gt_job *ret, const struct gt_job_source *source, struct gt_error *error)
{
    int status = gt_job_read_ranks(ret, source, error);
    if (status < 0)
        return status;
    status = gt_job_read_memory(ret, error);
    if (status >= 0)
        status = gt_job_count_once(ret, error);
    if (status >= 0)
        status = gt_job_count_gpus(ret, error);
    if (status < 0)
        gt_job_release(ret);
    return status;
}

/* ---- Questions ---- */

void gt_job_question_init(struct gt_job_question *ret, const struct gt_job *job, size_t most)
{
    static const double MINUTE = 60, HOUR = 3600;
    double time = job->end - job->begin;
    *ret = (struct gt_job_question){.begin = job->begin, .width = fmax(time, 1e-3) / (double)most, .buckets = most};
    if (time < HOUR)
        return;
    ret->begin = floor(job->begin / MINUTE) * MINUTE;
    ret->width = MINUTE * ceil((job->end - ret->begin) / MINUTE / (double)most);
    ret->buckets = (size_t)ceil((job->end - ret->begin) / ret->width);
}

bool gt_job_is_divided(const struct gt_job_question *question)
{
    return question->subject[0].scope == GT_SCOPE_GPU || question->subject[0].scope == GT_SCOPE_PROCESS;
}

size_t gt_job_parts(const struct gt_job_question *question, const struct gt_job_rank *rank)
{
    switch (question->subject[0].scope) {
    case GT_SCOPE_GPU: return rank->machine.gpu_length;
    case GT_SCOPE_PROCESS: return rank->below_count;
    default: return 0;
    }
}

void gt_job_ask(struct gt_job_question *question, struct gt_job_subject subject)
{
    if (question->subjects < GT_JOB_SUBJECTS)
        question->subject[question->subjects++] = subject;
}

/* Minutes have no counts of bits, and no values of single GPUs or processes. */
bool gt_job_minutes_answer(const struct gt_job_question *question, const struct gt_job_rank *rank)
{
    bool tells = rank->complete && fmod(question->width, 60) <= 0 && fmod(question->begin, 60) <= 0;
    for (size_t i = 0; i < question->subjects; i++)
        tells &= !question->subject[i].bits;
    return tells && !gt_job_is_divided(question);
}

const struct gt_job_bucket *gt_job_bucket(const struct gt_job_question *question, const struct gt_job_series *series,
                                          size_t subject, size_t bucket)
{
    return &series->bucket[subject * question->buckets + bucket];
}

struct gt_job_bucket gt_job_whole(const struct gt_job_question *question, const struct gt_job_series *series,
                                  size_t subject)
{
    struct gt_job_bucket ret = {0, 0, NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < question->buckets; i++) {
        const struct gt_job_bucket *bucket = gt_job_bucket(question, series, subject, i);
        if (!bucket->count)
            continue;
        ret.first = ret.count ? ret.first : bucket->first;
        ret.count += bucket->count;
        ret.sum += bucket->sum;
        ret.least = fmin(ret.least, bucket->least);
        ret.most = fmax(ret.most, bucket->most);
        ret.last = bucket->last;
    }
    return ret;
}
