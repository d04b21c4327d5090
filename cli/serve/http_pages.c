/* Pages of running jobs, and the processes that make them. */
#include "serve/http.h"

#if __has_include(<microhttpd.h>)
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/program.h"
#include "base/buffer.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/os/root.h"
#include "serve/jobs.h"
#include "option.h"
#include "report/page/chart.h"
#include "view/view.h"

/* A process beside the server follows the recording of one job and makes pages and states of it on request: neither a large recording nor
 * a slow disk holds up a scrape. It ends with the server, or when the feed is closed. */

enum { JOB_FEED_COMMAND = 512 };

enum job_feed_kind {
    FEED_STATE = 's', /* an event that updates an open page */
    FEED_PAGE = 'p',
    FEED_ROW = 'r',  /* of the list of jobs */
    FEED_LAST = 'l', /* the page of a job that has ended */
    FEED_TROUBLE = '!',
};

/* One copy for the feed and all connections that send it. */
struct job_text {
    int references;
    size_t length;
    char bytes[];
};

struct job_feed_head {
    char kind, has_ended;
    uint64_t length;
    struct gt_view_brief row; /* with FEED_ROW and FEED_LAST */
};

struct job_feed {
    struct job job; /* tracker 0: the feed is free */
    char command[JOB_FEED_COMMAND];
    pid_t child;
    int fd;     /* negative: the process has ended */
    char asked; /* 0, or the kind that is being made */
    int64_t asked_ns, took_ns, used_ns;
    struct job_text *page, *state; /* NULL: none was made */
    int64_t page_ns, state_ns, row_ns;
    struct gt_view_brief row;
    int64_t row_wanted_ns;   /* since when the list waits for a newer one; 0: it does not */
    bool has_ended, is_last; /* the job; `page` is its last */
    char trouble[600];       /* why there is nothing */
    struct job_feed_head head;
    struct job_text *body;
    size_t received; /* of both */
};

enum { MOST_TEXT = 64 << 20, OUT_OF_THE_WAY = 10 };

/* ---- The process of a feed --------------------------------------------------------------------------------------------- */

/* The page that report makes. */
static int last_page(const char *path, char **ret, size_t *length, struct gt_error *error)
{
    struct gt_recording_options options = GT_INIT(struct gt_recording_options);
    struct gt_report *report = NULL;
    options.page = 1;
    int status = gt_recording_report(path, &options, &report, error);
    if (status >= 0)
        status = gt_report_render(report, "html", ret, length, error);
    gt_report_free(report);
    return status;
}

static int make_text(struct gt_live *live, const struct job *job, char kind, struct gt_buffer *out,
                     struct gt_error *error)
{
    static unsigned long long number;
    char address[64], *text = NULL;
    size_t length = 0;
    snprintf(address, sizeof address, "/job/%d/states", (int)job->tracker);
    int status = kind == FEED_LAST ? last_page(job->recording, &text, &length, error) : gt_live_update(live, error);
    if (status >= 0 && kind == FEED_PAGE)
        status = gt_live_page(live, address, &text, &length, error);
    if (status >= 0 && kind == FEED_STATE) {
        status = gt_live_state(live, &text, &length, error);
        gt_buffer_printf(out, "event: state\nid: %llu\ndata: ", ++number);
    }
    if (status >= 0)
        gt_buffer_append(out, text, length);
    if (kind == FEED_STATE)
        gt_buffer_text(out, "\n\n");
    free(text);
    return status >= 0 && out->failed ? gt_error_system(error, -out->failed, "%s", job->recording) : status;
}

static void make_row(struct gt_view **view, const char *recording, struct gt_view_brief *ret)
{
    const struct gt_view_options options = {.is_still = 1};
    int status = *view ? gt_view_update(*view, NULL) : gt_view_open(view, recording, &options, NULL);
    if (status >= 0)
        gt_view_brief(*view, ret);
    else
        snprintf(ret->text[GT_VIEW_BRIEF_STATE], sizeof *ret->text, "cannot be read");
}

static void work(int fd, const struct job *job)
{
    struct gt_live *live = NULL;
    struct gt_view *view = NULL;
    struct gt_error error = {0};
    struct job_feed_head head;
    memset(&head, 0, sizeof head);
    bool goes_on = gt_live_open(&live, job->recording, &error) >= 0;
    while (goes_on && read(fd, &head.kind, 1) == 1) {
        struct gt_buffer text = {0};
        error = (struct gt_error){0};
        if (head.kind == FEED_ROW || head.kind == FEED_LAST)
            make_row(&view, job->recording, &head.row);
        if (head.kind != FEED_ROW && make_text(live, job, head.kind, &text, &error) < 0) {
            gt_buffer_clear(&text);
            gt_buffer_text(&text, error.text);
            head.kind = FEED_TROUBLE;
        }
        head.has_ended = head.kind != FEED_TROUBLE && gt_live_has_ended(live);
        head.length = text.length;
        goes_on = gt_file_write_all(fd, &head, sizeof head) >= 0 && gt_file_write_all(fd, text.data, text.length) >= 0;
        gt_buffer_release(&text);
    }
    gt_view_close(view);
    gt_live_close(live);
}

/* Nothing of the server stays open here: clients would otherwise never see the end of an answer. */
static _Noreturn void be_the_process(int fd, const struct job *job)
{
    enum { FIRST = 3 };
    prctl(PR_SET_NAME, "gpu-tracker-job");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpriority(PRIO_PROCESS, 0, OUT_OF_THE_WAY);
    int own = dup2(fd, FIRST);
    gt_close_from(FIRST + 1);
    work(own, job);
    _exit(0);
}

/* ---- The feed of a job -------------------------------------------------------------------------------------------- */

/* NULL: nothing. */
static void job_text_drop(struct job_text *text)
{
    if (text && !--text->references)
        free(text);
}

static int job_feed_open(struct job_feed *feed, const struct job *job)
{
    int pair[2];
    *feed = (struct job_feed){.job = *job, .fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    fflush(NULL);
    feed->child = fork();
    if (feed->child == 0)
        be_the_process(pair[1], job);
    int status = feed->child < 0 ? -errno : 0;
    close(pair[1]);
    if (status < 0)
        close(pair[0]);
    else
        feed->fd = pair[0];
    feed->used_ns = gt_clock_ns(CLOCK_MONOTONIC);
    return status;
}

/* Ask for a text, unless one is being made. */
static void job_feed_ask(struct job_feed *feed, enum job_feed_kind kind)
{
    char byte = (char)kind;
    if (feed->fd < 0 || feed->asked || write(feed->fd, &byte, 1) != 1)
        return;
    feed->asked = byte;
    feed->asked_ns = gt_clock_ns(CLOCK_MONOTONIC);
}

/* End the process; its texts stay. */
static void job_feed_stop(struct job_feed *feed, const char *trouble)
{
    if (feed->fd < 0)
        return;
    close(feed->fd);
    kill(feed->child, SIGKILL);
    waitpid(feed->child, NULL, 0);
    job_text_drop(feed->body);
    feed->body = NULL;
    feed->fd = -1;
    feed->asked = 0;
    snprintf(feed->trouble, sizeof feed->trouble, "%s", trouble);
}

static char take_whole(struct job_feed *feed)
{
    char kind = feed->head.kind;
    int64_t now_ns = gt_clock_ns(CLOCK_MONOTONIC);
    struct job_text **place = kind == FEED_STATE ? &feed->state : &feed->page;
    feed->took_ns = now_ns - feed->asked_ns;
    feed->has_ended |= feed->head.has_ended;
    feed->is_last = kind == FEED_LAST;
    feed->asked = 0;
    feed->received = 0;
    if (kind == FEED_ROW || kind == FEED_LAST) {
        feed->row = feed->head.row;
        feed->row_ns = now_ns;
    }
    if (kind == FEED_ROW || kind == FEED_LAST || kind == FEED_TROUBLE)
        feed->row_wanted_ns = 0;
    if (kind == FEED_STATE || kind == FEED_TROUBLE)
        feed->state_ns = now_ns; /* after trouble, the next one is tried as long after it */
    if (kind == FEED_ROW || kind == FEED_TROUBLE) {
        if (kind == FEED_TROUBLE)
            snprintf(feed->trouble, sizeof feed->trouble, "%s", feed->body->bytes);
        job_text_drop(feed->body);
    } else {
        job_text_drop(*place);
        *place = feed->body;
        feed->page_ns = kind == FEED_STATE ? feed->page_ns : now_ns;
        *feed->trouble = '\0';
    }
    feed->body = NULL;
    return kind;
}

/* Take what has come. Returns the kind of the text that is complete now, FEED_TROUBLE at the end of the process, or 0. */
static char job_feed_take(struct job_feed *feed)
{
    while (feed->fd >= 0) {
        size_t in_head = sizeof feed->head, at = feed->received;
        bool is_head = at < in_head;
        if (!is_head && at - in_head == feed->head.length)
            return take_whole(feed);
        char *to = is_head ? (char *)&feed->head + at : feed->body->bytes + (at - in_head);
        ssize_t got = recv(feed->fd, to, is_head ? in_head - at : feed->head.length - (at - in_head), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (got > 0)
            feed->received += (size_t)got;
        if (got > 0 && is_head && feed->received == in_head && feed->head.length <= MOST_TEXT) {
            feed->body = calloc(1, sizeof *feed->body + feed->head.length + 1);
            if (feed->body)
                *feed->body = (struct job_text){.references = 1, .length = feed->head.length};
        }
        if (got <= 0 || (feed->received >= in_head && !feed->body)) {
            job_feed_stop(feed, "the process that follows the job has ended");
            return FEED_TROUBLE;
        }
    }
    return 0;
}

static void job_feed_close(struct job_feed *feed)
{
    job_feed_stop(feed, "");
    job_text_drop(feed->page);
    job_text_drop(feed->state);
    *feed = (struct job_feed){.fd = -1};
}

/* ---- Followers --------------------------------------------------------------------------------------------------- */

enum { FOLLOWERS = 64 };

/* A connection that waits for the list or the page of a job, or gets the states of a job. */
struct follower {
    enum { NO_FOLLOWER, FOLLOWS_PAGE, FOLLOWS_STATES, FOLLOWER_KINDS } kind;
    struct http *http;
    struct MHD_Connection *connection;
    struct job_feed *feed; /* NULL: the list */
    struct job_text *text; /* states: the one that was sent last or is being sent */
    const char *rest;      /* of what is being sent */
    size_t rest_length;
    bool is_suspended, has_end;
};

struct pages {
    struct job_feed feed[PAGES_FEEDS];
    struct follower follower[2 * FOLLOWERS]; /* up to FOLLOWERS of each kind */
    bool is_closing;
};

enum {
    SHARE = 10,          /* making states may take one part of this many of the time */
    WAIT_SECONDS = 90,   /* for a page */
    UNUSED_SECONDS = 30, /* until a feed is closed that nobody uses */
    KEPT_SECONDS = 600,  /* the page of a job that has ended */
    BLOCK = 32768,
    MOST_JOBS = 200
};

static struct follower *add_follower(struct http *http, struct MHD_Connection *connection, int kind,
                                     struct job_feed *feed)
{
    struct follower *free_one = NULL;
    int count = 0;
    for (int i = 0; i < 2 * FOLLOWERS; i++) {
        struct follower *follower = &http->pages->follower[i];
        count += (int)follower->kind == kind;
        free_one = follower->kind == NO_FOLLOWER ? follower : free_one;
    }
    if (count == FOLLOWERS)
        return NULL;
    *free_one = (struct follower){.kind = kind, .http = http, .connection = connection, .feed = feed};
    return free_one;
}

/* How many of the kind (NO_FOLLOWER: of any) follow it. */
static int count_followers(const struct pages *pages, const struct job_feed *feed, int kind)
{
    int count = 0;
    for (int i = 0; i < 2 * FOLLOWERS; i++) {
        const struct follower *follower = &pages->follower[i];
        count += follower->kind && follower->feed == feed && (!kind || (int)follower->kind == kind);
    }
    return count;
}

/* Lets those of the kind go on that follow the feed, or no feed the list. */
static void wake_followers(struct http *http, const struct job_feed *feed, int kind)
{
    for (int i = 0; i < 2 * FOLLOWERS; i++) {
        struct follower *follower = &http->pages->follower[i];
        if ((int)follower->kind != kind || follower->feed != feed || !follower->is_suspended)
            continue;
        follower->is_suspended = false;
        if (kind == FOLLOWS_PAGE)
            follower->kind = NO_FOLLOWER; /* its request is answered from the start again */
        http->mhd.resume_connection(follower->connection);
    }
}

static void suspend(struct follower *follower)
{
    follower->is_suspended = true;
    follower->http->mhd.suspend_connection(follower->connection);
}

static enum MHD_Result answer_busy(struct http *http, struct MHD_Connection *connection, const char *text)
{
    return http_answer(http, connection, MHD_HTTP_SERVICE_UNAVAILABLE, text, "Retry-After", "10");
}

/* The connection goes on when the page of the feed, or of no feed the list, is made. */
static enum MHD_Result wait_for(struct http *http, struct MHD_Connection *connection, struct job_feed *feed)
{
    struct follower *follower = add_follower(http, connection, FOLLOWS_PAGE, feed);
    if (!follower)
        return answer_busy(http, connection, "too many wait for pages\n");
    suspend(follower);
    return MHD_YES;
}

void pages_forget(struct pages *pages, const struct MHD_Connection *connection)
{
    for (int i = 0; i < 2 * FOLLOWERS; i++)
        if (pages->follower[i].kind == FOLLOWS_PAGE && pages->follower[i].connection == connection)
            pages->follower[i].kind = NO_FOLLOWER;
}

/* ---- States ------------------------------------------------------------------------------------------------------ */

static void begin_event(struct follower *follower, const char *text, size_t length)
{
    follower->rest = text;
    follower->rest_length = length;
}

static void next_event(struct follower *follower)
{
    static const char end[] = "event: end\nid: 0\ndata: \n\n";
    const struct job_feed *feed = follower->feed;
    if (feed->is_last) {
        begin_event(follower, end, sizeof end - 1);
        follower->has_end = true;
    } else if (feed->state && feed->state != follower->text) {
        job_text_drop(follower->text);
        follower->text = feed->state;
        follower->text->references++;
        begin_event(follower, follower->text->bytes, follower->text->length);
    }
}

static ssize_t read_states(void *context, uint64_t at, char *ret, size_t size)
{
    struct follower *follower = context;
    (void)at;
    if (!follower->rest_length) {
        bool is_alone = follower->feed->fd < 0 && !follower->feed->is_last;
        if (follower->has_end || follower->http->pages->is_closing || is_alone)
            return MHD_CONTENT_READER_END_OF_STREAM;
        next_event(follower);
    }
    if (!follower->rest_length) {
        suspend(follower);
        return 0;
    }
    size_t length = follower->rest_length < size ? follower->rest_length : size;
    memcpy(ret, follower->rest, length);
    follower->rest += length;
    follower->rest_length -= length;
    return (ssize_t)length;
}

static void end_states(void *context)
{
    struct follower *follower = context;
    follower->feed->used_ns = gt_clock_ns(CLOCK_MONOTONIC);
    job_text_drop(follower->text);
    *follower = (struct follower){.kind = NO_FOLLOWER};
}

static enum MHD_Result answer_states(struct http *http, struct MHD_Connection *connection, struct job_feed *feed)
{
    static const char hello[] = "event: hello\nid: 0\ndata: 0\n\n";
    static const struct http_field headers[] = {{"Content-Type", "text/event-stream"},
                                                {"Cache-Control", "no-store"},
                                                {"X-Content-Type-Options", "nosniff"},
                                                {NULL, NULL}};
    struct follower *follower = add_follower(http, connection, FOLLOWS_STATES, feed);
    if (!follower)
        return answer_busy(http, connection, "too many follow jobs\n");
    begin_event(follower, hello, sizeof hello - 1);
    struct MHD_Response *response = http->mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_states,
                                                                            follower, end_states);
    if (!response)
        end_states(follower);
    return http_send(http, connection, MHD_HTTP_OK, response, headers);
}

/* ---- Pages ------------------------------------------------------------------------------------------------------- */

static enum MHD_Result answer_html(const struct http *http, struct MHD_Connection *connection, const char *text,
                                   size_t length)
{
    static const struct http_field headers[] = {
        {"Content-Type", "text/html;charset=utf-8"}, {"Content-Security-Policy", "frame-ancestors 'none'"},
        {"Referrer-Policy", "no-referrer"},          {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},       {NULL, NULL}};
    return http_send(http, connection, MHD_HTTP_OK,
                     http->mhd.create_response_from_buffer(length, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY),
                     headers);
}

/* Between two states, pages or rows of a job. */
static int64_t interval_of(const struct job_feed *feed)
{
    int64_t by_cost = feed->took_ns * SHARE;
    return by_cost > GT_SECOND ? by_cost : GT_SECOND;
}

static enum MHD_Result answer_page(struct http *http, struct MHD_Connection *connection, struct job_feed *feed)
{
    feed->used_ns = gt_clock_ns(CLOCK_MONOTONIC);
    bool is_new = feed->used_ns - feed->page_ns < interval_of(feed) && !feed->has_ended;
    if (feed->page && (feed->is_last || is_new))
        return answer_html(http, connection, feed->page->bytes, feed->page->length);
    if (!*feed->trouble)
        return wait_for(http, connection, feed);
    char text[sizeof feed->trouble + 2];
    snprintf(text, sizeof text, "%s\n", feed->trouble);
    if (feed->fd >= 0)
        *feed->trouble = '\0';
    return http_answer(http, connection, MHD_HTTP_INTERNAL_SERVER_ERROR, text, "Refresh", "2");
}

/* ---- Feeds ------------------------------------------------------------------------------------------------------- */

static struct job_feed *feed_of(struct pages *pages, pid_t tracker)
{
    for (int i = 0; i < PAGES_FEEDS; i++)
        if (pages->feed[i].job.tracker == tracker)
            return &pages->feed[i];
    return NULL;
}

/* A free place, or the one that has been without followers for longest. */
static struct job_feed *place_of(struct pages *pages)
{
    struct job_feed *oldest = NULL, *free_one = feed_of(pages, 0);
    for (int i = 0; i < PAGES_FEEDS && !free_one; i++) {
        struct job_feed *feed = &pages->feed[i];
        if (!count_followers(pages, feed, NO_FOLLOWER) && (!oldest || feed->used_ns < oldest->used_ns))
            oldest = feed;
    }
    if (oldest)
        job_feed_close(oldest);
    return free_one ? free_one : oldest;
}

static const struct job *find_job(const struct job *jobs, size_t count, pid_t tracker)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].tracker == tracker)
            return &jobs[i];
    return NULL;
}

/* The command of a tracker: its words behind "--", or all of them. "": unknown. */
static void command_of(char *ret, size_t size, pid_t tracker)
{
    char words[1024];
    ssize_t length = gt_root_read_process(NULL, tracker, "cmdline", words, sizeof words);
    for (ssize_t i = 0; i + 1 < length; i++)
        words[i] = words[i] ? words[i] : ' ';
    const char *command = length > 0 ? strstr(words, " -- ") : NULL;
    snprintf(ret, size, "%.*s", (int)size - 1, command ? command + 4 : length > 0 ? words : "");
}

/* The feed of the tracker, or NULL. A feed of an earlier recording, or whose process has failed, is closed. */
static struct job_feed *feed_of_job(struct pages *pages, pid_t tracker, const struct job *job)
{
    struct job_feed *feed = feed_of(pages, tracker);
    bool is_other = feed && job &&
                    (strcmp(feed->job.recording, job->recording) != 0 || (feed->fd < 0 && !feed->is_last));
    if (!is_other || count_followers(pages, feed, NO_FOLLOWER))
        return feed;
    job_feed_close(feed);
    return NULL;
}

static int open_feed(struct job_feed *feed, const struct job *job)
{
    int status = job_feed_open(feed, job);
    if (status < 0)
        job_feed_close(feed);
    else
        command_of(feed->command, sizeof feed->command, job->tracker);
    return status;
}

/* -ENOENT: no such job; -EBUSY: too many are followed. */
static int find_feed(struct pages *pages, pid_t tracker, struct job_feed **ret)
{
    struct job *jobs = calloc(MOST_JOBS, sizeof *jobs);
    const struct job *job = jobs ? find_job(jobs, jobs_list(jobs, MOST_JOBS), tracker) : NULL;
    int status = 0;
    *ret = feed_of_job(pages, tracker, job);
    if (!*ret && !job)
        status = jobs ? -ENOENT : -ENOMEM;
    else if (!*ret)
        status = (*ret = place_of(pages)) ? open_feed(*ret, job) : -EBUSY;
    free(jobs);
    return status;
}

/* "4711" or "4711/states". */
static enum MHD_Result answer_job(struct http *http, struct MHD_Connection *connection, const char *path)
{
    char number[24];
    pid_t pid = 0;
    struct job_feed *feed;
    size_t digits = strspn(path, "0123456789");
    bool is_states = !strcmp(path + digits, "/states");
    snprintf(number, sizeof number, "%.*s", (int)(digits < sizeof number ? digits : 0), path);
    bool is_job = (is_states || !path[digits]) && option_pid(number, &pid);
    int status = is_job ? find_feed(http->pages, pid, &feed) : -ENOENT;
    if (status == -ENOENT)
        return http_answer(http, connection, MHD_HTTP_NOT_FOUND, "no such job: see /\n", NULL, NULL);
    if (status < 0)
        return answer_busy(http, connection, "too many jobs are followed\n");
    return is_states ? answer_states(http, connection, feed) : answer_page(http, connection, feed);
}

/* A job that has ended needs its last page, once. A job that runs needs a page and states while it has followers, and its row while the
 * list is shown. */
static void ask_feed(const struct pages *pages, struct job_feed *feed, int64_t now_ns)
{
    if (feed->fd < 0 || feed->asked || feed->is_last)
        return;
    int waiting = count_followers(pages, feed, FOLLOWS_PAGE), following = count_followers(pages, feed, FOLLOWS_STATES);
    bool is_over = feed->has_ended || (kill(feed->job.tracker, 0) < 0 && errno == ESRCH);
    if (is_over && (waiting || following || feed->row_wanted_ns))
        job_feed_ask(feed, FEED_LAST);
    else if (waiting)
        job_feed_ask(feed, FEED_PAGE);
    else if (following && now_ns - feed->state_ns >= interval_of(feed))
        job_feed_ask(feed, FEED_STATE);
    else if (feed->row_wanted_ns)
        job_feed_ask(feed, FEED_ROW);
}

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* A cell is empty where a value is missing. */
static void put_job(struct gt_buffer *out, const struct job *job, const char *command, const struct gt_view_brief *row,
                    bool has_gpus)
{
    gt_html(out, "<tr><td><a href=\"/job/%d\">%d</a></td><th scope=\"row\">%s<span>%s</span></th>", (int)job->tracker,
            (int)job->tracker, command, job->recording);
    for (int i = 0; i < GT_VIEW_BRIEF_COLUMNS; i++)
        if (i != GT_VIEW_BRIEF_GPU || has_gpus)
            gt_html(out, "<td>%s</td>", row ? row->text[i] : i == GT_VIEW_BRIEF_STATE ? "running" : "");
    gt_buffer_text(out, "</tr>\n");
}

static void put_jobs(struct gt_buffer *out, struct pages *pages, const struct job *jobs, size_t count)
{
    bool has_any = count, has_gpus = false;
    for (int i = 0; i < PAGES_FEEDS; i++)
        has_gpus = has_gpus || *pages->feed[i].row.text[GT_VIEW_BRIEF_GPU];
    gt_buffer_text(out, "<table>\n<thead><tr><th>job</th><th>command</th>");
    for (int i = 0; i < GT_VIEW_BRIEF_COLUMNS; i++)
        if (i != GT_VIEW_BRIEF_GPU || has_gpus)
            gt_buffer_printf(out, "<th>%s</th>", gt_view_brief_titles[i]);
    gt_buffer_text(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < count; i++) {
        char command[JOB_FEED_COMMAND];
        const struct job_feed *feed = feed_of(pages, jobs[i].tracker);
        command_of(command, sizeof command, jobs[i].tracker);
        put_job(out, &jobs[i], command, feed && feed->row_ns ? &feed->row : NULL, has_gpus);
    }
    for (int i = 0; i < PAGES_FEEDS; i++) {
        const struct job_feed *feed = &pages->feed[i];
        if (!feed->row_ns || find_job(jobs, count, feed->job.tracker))
            continue;
        put_job(out, &feed->job, feed->command, &feed->row, has_gpus);
        has_any = true;
    }
    gt_buffer_text(out, "</tbody>\n</table>\n");
    if (!has_any)
        gt_buffer_text(out,
                       "<p>No job of yours is being recorded. Start one:</p>\n<pre>gpu-tracker run --tracking-file "
                       "run.sqlite -- COMMAND</pre>\n");
}

GT_EMBED(list_page, "cli/serve/jobs.html")

/* Asks for rows that are too old. A job without a place is listed without values. */
static void want_rows(struct pages *pages, const struct job *jobs, size_t count)
{
    int64_t now_ns = gt_clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < count; i++) {
        struct job_feed *feed = feed_of_job(pages, jobs[i].tracker, &jobs[i]);
        if (feed)
            feed->used_ns = now_ns;
        else if ((feed = feed_of(pages, 0)))
            open_feed(feed, &jobs[i]);
    }
    for (int i = 0; i < PAGES_FEEDS; i++) {
        struct job_feed *feed = &pages->feed[i];
        if (feed->fd >= 0 && !feed->row_wanted_ns && now_ns - feed->row_ns >= interval_of(feed))
            feed->row_wanted_ns = now_ns;
        ask_feed(pages, feed, now_ns);
    }
}

/* The list waits for its rows for a second, and then does without the late ones. */
static bool has_rows(const struct pages *pages)
{
    int64_t since_ns = gt_clock_ns(CLOCK_MONOTONIC) - GT_SECOND;
    bool has = true;
    for (int i = 0; i < PAGES_FEEDS; i++)
        has = has && (pages->feed[i].fd < 0 || pages->feed[i].row_wanted_ns <= since_ns);
    return has;
}

static enum MHD_Result answer_list(struct http *http, struct MHD_Connection *connection)
{
    struct gt_buffer text = {0};
    struct job *jobs = calloc(MOST_JOBS, sizeof *jobs);
    size_t count = jobs ? jobs_list(jobs, MOST_JOBS) : 0;
    enum MHD_Result result = MHD_NO;
    want_rows(http->pages, jobs, count);
    if (!has_rows(http->pages)) {
        result = wait_for(http, connection, NULL);
    } else {
        static const char place[] = "@JOBS@\n";
        const char *jobs_place = strstr(list_page, place);
        gt_buffer_append(&text, list_page, (size_t)(jobs_place - list_page));
        put_jobs(&text, http->pages, jobs, count);
        if (gt_buffer_text(&text, jobs_place + strlen(place)) >= 0)
            result = answer_html(http, connection, text.data, text.length);
    }
    gt_buffer_release(&text);
    free(jobs);
    return result;
}

/* ---- The server's end -------------------------------------------------------------------------------------------- */

/* Without a token only this machine can reach the server; its other users must not see the jobs. */
static bool may_see(const struct http *http, struct MHD_Connection *connection)
{
    return http->has_token ||
           (http_host_is_local(http_header(http, connection, "Host")) &&
            http_peer_is_own(http->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd));
}

enum MHD_Result pages_answer(struct http *http, struct MHD_Connection *connection, const char *path)
{
    static const char job[] = "/job/";
    bool is_list = !strcmp(path, "/"), is_job = !strncmp(path, job, strlen(job));
    if (http->pages->is_closing)
        return MHD_NO;
    if (!is_list && !is_job)
        return http_answer(http, connection, MHD_HTTP_NOT_FOUND, "see / and /metrics\n", NULL, NULL);
    if (!may_see(http, connection))
        return http_answer(http, connection, MHD_HTTP_FORBIDDEN,
                           "pages of jobs are for the user who runs this server, or take --token-file; see /metrics\n",
                           NULL, NULL);
    return is_list ? answer_list(http, connection) : answer_job(http, connection, path + strlen(job));
}

static void tend(struct http *http, struct job_feed *feed, int64_t now_ns)
{
    char kind = job_feed_take(feed);
    if (!kind && feed->asked && now_ns - feed->asked_ns > WAIT_SECONDS * GT_SECOND) {
        job_feed_stop(feed, "the recording could not be read in time");
        kind = FEED_TROUBLE;
    }
    if (kind == FEED_LAST)
        job_feed_stop(feed, "");
    if (kind && kind != FEED_PAGE && kind != FEED_ROW)
        wake_followers(http, feed, FOLLOWS_STATES);
    if (kind && kind != FEED_STATE && kind != FEED_ROW)
        wake_followers(http, feed, FOLLOWS_PAGE);
    int64_t kept_ns = (feed->is_last ? KEPT_SECONDS : UNUSED_SECONDS) * GT_SECOND;
    if (now_ns - feed->used_ns >= kept_ns && !count_followers(http->pages, feed, NO_FOLLOWER))
        job_feed_close(feed);
    else
        ask_feed(http->pages, feed, now_ns);
}

void pages_go_on(struct http *http)
{
    int64_t now_ns = gt_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < PAGES_FEEDS; i++)
        if (http->pages->feed[i].job.tracker)
            tend(http, &http->pages->feed[i], now_ns);
    if (has_rows(http->pages))
        wake_followers(http, NULL, FOLLOWS_PAGE);
}

nfds_t pages_poll(const struct pages *pages, struct pollfd *ret)
{
    nfds_t count = 0;
    for (int i = 0; i < PAGES_FEEDS; i++)
        if (pages->feed[i].fd >= 0)
            ret[count++] = (struct pollfd){.fd = pages->feed[i].fd, .events = POLLIN};
    return count;
}

struct pages *pages_open(void)
{
    struct pages *pages = calloc(1, sizeof *pages);
    for (int i = 0; pages && i < PAGES_FEEDS; i++)
        pages->feed[i].fd = -1;
    return pages;
}

void pages_close(struct http *http)
{
    http->pages->is_closing = true;
    wake_followers(http, NULL, FOLLOWS_PAGE);
    for (int i = 0; i < PAGES_FEEDS; i++) {
        wake_followers(http, &http->pages->feed[i], FOLLOWS_PAGE);
        wake_followers(http, &http->pages->feed[i], FOLLOWS_STATES);
    }
    http->mhd.run(http->daemon);
}

void pages_release(struct pages *pages)
{
    for (int i = 0; i < PAGES_FEEDS; i++)
        job_feed_close(&pages->feed[i]);
    free(pages);
}
#endif
