#if __has_include(<microhttpd.h>)

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/root.h"
#include "http_private.h"
#include "option.h"

enum {
    STATE_MS = 1000,     /* between states */
    SHARE = 10,          /* of the time that making them may take: one part of so many */
    STAY_SECONDS = 600,  /* who follows comes back after so long */
    WAIT_SECONDS = 90,   /* for a page */
    ROW_MS = 1000,       /* the list waits for rows; later it shows the rows that it has */
    UNUSED_SECONDS = 30, /* until nobody is taken to come back */
    KEPT_SECONDS = 600,  /* the page of a job that has ended */
    BLOCK = 32768,
    MOST_JOBS = 200
};
static const int64_t MS = 1000000;

struct page_stream {
    struct pages *pages;
    struct http *http;
    struct MHD_Connection *connection;
    struct job_feed *feed;
    struct job_event *event; /* that is being sent; NULL: none */
    size_t sent;
    uint64_t number; /* of the state that was sent */
    bool is_suspended, has_said_end;
};

/* One copy for all who read it. */
struct job_event {
    int references;
    size_t length;
    uint64_t number; /* of the state */
    char text[];
};

static struct job_event *new_event(const char *name, const char *text, size_t length, uint64_t number)
{
    static const char form[] = "event: %s\nid: %llu\ndata: ";
    size_t room = sizeof form + strlen(name) + 24 + length;
    struct job_event *event = malloc(sizeof *event + room);
    if (!event)
        return NULL;
    *event = (struct job_event){.references = 1, .number = number};
    event->length = (size_t)snprintf(event->text, room, form, name, (unsigned long long)number);
    memcpy(event->text + event->length, text, length);
    memcpy(event->text + event->length + length, "\n\n", 2);
    event->length += length + 2;
    return event;
}

static void drop_event(struct page_stream *stream)
{
    if (stream->event && !--stream->event->references)
        free(stream->event);
    stream->event = NULL;
}

/* The event of the feed's state: that which another stream reads already, or a new one. */
static struct job_event *event_of(const struct pages *pages, const struct job_feed *feed)
{
    for (int i = 0; i < PAGES_STREAMS; i++) {
        const struct page_stream *other = pages->stream[i];
        if (other && other->feed == feed && other->event && other->event->number == feed->state.number) {
            other->event->references++;
            return other->event;
        }
    }
    return new_event("state", feed->state.text, feed->state.length, feed->state.number);
}

/* ---- Who follows ------------------------------------------------------------------------------------------------- */

static void next_event(struct page_stream *stream)
{
    const struct job_feed *feed = stream->feed;
    drop_event(stream);
    stream->sent = 0;
    if (feed->is_last) {
        stream->event = new_event("end", "", 0, 0);
        stream->has_said_end = stream->event;
    } else if (feed->state.text && feed->state.number != stream->number) {
        stream->event = event_of(stream->pages, feed);
        stream->number = feed->state.number;
    }
}

static ssize_t read_stream(void *context, uint64_t at, char *ret, size_t size)
{
    struct page_stream *stream = context;
    (void)at;
    if (!stream->event || stream->sent == stream->event->length) {
        bool is_alone = stream->feed->fd < 0 && !stream->feed->is_last;
        if (stream->has_said_end || stream->pages->is_closing || is_alone)
            return MHD_CONTENT_READER_END_OF_STREAM;
        next_event(stream);
    }
    if (!stream->event) {
        stream->http->mhd.suspend_connection(stream->connection);
        stream->is_suspended = true;
        return 0;
    }
    size_t left = stream->event->length - stream->sent, length = left < size ? left : size;
    memcpy(ret, stream->event->text + stream->sent, length);
    stream->sent += length;
    return (ssize_t)length;
}

static void free_stream(void *context)
{
    struct page_stream *stream = context;
    drop_event(stream);
    stream->feed->used_ns = gt_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < PAGES_STREAMS; i++)
        if (stream->pages->stream[i] == stream)
            stream->pages->stream[i] = NULL;
    free(stream);
}

static struct page_stream *new_stream(struct http *http, struct MHD_Connection *connection, struct job_feed *feed)
{
    static const char greeting[] = "0";
    struct pages *pages = &http->pages;
    int place = 0;
    while (place < PAGES_STREAMS && pages->stream[place])
        place++;
    struct page_stream *stream = place < PAGES_STREAMS ? calloc(1, sizeof *stream) : NULL;
    if (!stream)
        return NULL;
    *stream = (struct page_stream){.pages = pages, .http = http, .connection = connection, .feed = feed};
    stream->event = new_event("hello", greeting, sizeof greeting - 1, 0);
    pages->stream[place] = stream;
    return stream;
}

static enum MHD_Result answer_busy(struct http *http, struct MHD_Connection *connection, const char *text)
{
    return http_answer(http, connection, MHD_HTTP_SERVICE_UNAVAILABLE, text, "Retry-After", "10");
}

static enum MHD_Result answer_states(struct http *http, struct MHD_Connection *connection, struct job_feed *feed)
{
    struct page_stream *stream = new_stream(http, connection, feed);
    if (!stream)
        return answer_busy(http, connection, "too many follow jobs\n");
    struct MHD_Response *response = http->mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream,
                                                                            stream, free_stream);
    if (!response) {
        free_stream(stream);
        return MHD_NO;
    }
    http->mhd.add_response_header(response, "Content-Type", "text/event-stream");
    http->mhd.add_response_header(response, "Cache-Control", "no-store");
    http->mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
    http->mhd.add_response_header(response, "Connection", "close");
    visitors_let_stay(http_visitor(http, connection), STAY_SECONDS);
    enum MHD_Result result = http->mhd.queue_response(connection, MHD_HTTP_OK, response);
    http->mhd.destroy_response(response);
    return result;
}

/* ---- Pages ------------------------------------------------------------------------------------------------------- */

static enum MHD_Result answer_html(const struct http *http, struct MHD_Connection *connection, const char *text,
                                   size_t length)
{
    struct MHD_Response *response = http_response(http, text, length);
    if (!response)
        return MHD_NO;
    http->mhd.add_response_header(response, "Content-Type", "text/html;charset=utf-8");
    http->mhd.add_response_header(response, "Content-Security-Policy", "frame-ancestors 'none'");
    http->mhd.add_response_header(response, "Referrer-Policy", "no-referrer");
    http->mhd.add_response_header(response, "Cache-Control", "no-store");
    http->mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
    enum MHD_Result result = http->mhd.queue_response(connection, MHD_HTTP_OK, response);
    http->mhd.destroy_response(response);
    return result;
}

static int64_t interval_of(int64_t took_ns)
{
    int64_t by_cost = took_ns * SHARE;
    return by_cost > STATE_MS * MS ? by_cost : STATE_MS * MS;
}

static bool has_page(const struct job_feed *feed)
{
    bool is_new = gt_clock_ns(CLOCK_MONOTONIC) - feed->page.made_ns < interval_of(feed->took_ns);
    return feed->page.text && (feed->is_last || (is_new && !feed->has_ended));
}

/* The connection goes on when the page of the feed, or of no feed the list, is made. */
static enum MHD_Result wait_for(struct http *http, struct MHD_Connection *connection, struct job_feed *feed)
{
    struct pages *pages = &http->pages;
    for (int i = 0; i < PAGES_WAITING; i++) {
        if (pages->waiting[i].connection)
            continue;
        pages->waiting[i] = (struct page_waiting){connection, feed};
        visitors_let_stay(http_visitor(http, connection), WAIT_SECONDS + HTTP_SECONDS);
        http->mhd.suspend_connection(connection);
        return MHD_YES;
    }
    return answer_busy(http, connection, "too many wait for pages\n");
}

static enum MHD_Result answer_page(struct http *http, struct MHD_Connection *connection, struct job_feed *feed)
{
    feed->used_ns = gt_clock_ns(CLOCK_MONOTONIC);
    if (has_page(feed))
        return answer_html(http, connection, feed->page.text, feed->page.length);
    if (*feed->trouble) {
        char text[sizeof feed->trouble + 2];
        snprintf(text, sizeof text, "%s\n", feed->trouble);
        if (feed->fd >= 0)
            *feed->trouble = '\0';
        return http_answer(http, connection, MHD_HTTP_INTERNAL_SERVER_ERROR, text, "Refresh", "2");
    }
    return wait_for(http, connection, feed);
}

/* ---- Which job --------------------------------------------------------------------------------------------------- */

static bool is_followed(const struct pages *pages, const struct job_feed *feed)
{
    for (int i = 0; i < PAGES_STREAMS; i++)
        if (pages->stream[i] && pages->stream[i]->feed == feed)
            return true;
    for (int i = 0; i < PAGES_WAITING; i++)
        if (pages->waiting[i].connection && pages->waiting[i].feed == feed)
            return true;
    return false;
}

static struct job_feed *feed_of(struct pages *pages, pid_t tracker)
{
    for (int i = 0; i < PAGES_FEEDS; i++)
        if (pages->feed[i].job.tracker == tracker)
            return &pages->feed[i];
    return NULL;
}

/* A free place, or that of whom nobody follows for longest. */
static struct job_feed *place_of(struct pages *pages)
{
    struct job_feed *oldest = NULL;
    for (int i = 0; i < PAGES_FEEDS; i++) {
        struct job_feed *feed = &pages->feed[i];
        if (!feed->job.tracker)
            return feed;
        if (!is_followed(pages, feed) && (!oldest || feed->used_ns < oldest->used_ns))
            oldest = feed;
    }
    if (oldest)
        job_feed_close(oldest);
    return oldest;
}

static const struct job *running(pid_t tracker, struct job *jobs)
{
    size_t count = jobs_list(jobs, MOST_JOBS);
    for (size_t i = 0; i < count; i++)
        if (jobs[i].tracker == tracker)
            return &jobs[i];
    return NULL;
}

/* Tells what the tracker runs: its words behind "--", or all of them. "": nobody knows. */
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
    if (!is_other || is_followed(pages, feed))
        return feed;
    job_feed_close(feed);
    return NULL;
}

static int open_feed(struct job_feed *feed, const struct job *job)
{
    int status = job_feed_open(feed, job);
    if (status >= 0)
        command_of(feed->command, sizeof feed->command, job->tracker);
    return status;
}

/* -ENOENT: no such job; -EBUSY: too many are followed. */
static int find_feed(struct pages *pages, pid_t tracker, struct job_feed **ret)
{
    struct job *jobs = calloc(MOST_JOBS, sizeof *jobs);
    const struct job *job = jobs ? running(tracker, jobs) : NULL;
    struct job_feed *feed = feed_of_job(pages, tracker, job);
    int status = 0;
    if (!feed && !job)
        status = jobs ? -ENOENT : -ENOMEM;
    else if (!feed && !(feed = place_of(pages)))
        status = -EBUSY;
    else if (!feed->job.tracker)
        status = open_feed(feed, job);
    if (status < 0 && feed)
        job_feed_close(feed);
    free(jobs);
    *ret = feed;
    return status;
}

/* "/job/4711" or "/job/4711/states". */
static enum MHD_Result answer_job(struct http *http, struct MHD_Connection *connection, const char *path)
{
    static const char states[] = "/states";
    char number[24];
    pid_t pid = 0;
    struct job_feed *feed;
    size_t digits = strspn(path, "0123456789");
    bool is_states = !strcmp(path + digits, states);
    snprintf(number, sizeof number, "%.*s", (int)(digits < sizeof number ? digits : 0), path);
    bool is_job = (is_states || !path[digits]) && option_pid(number, &pid);
    int status = is_job ? find_feed(&http->pages, pid, &feed) : -ENOENT;
    if (status == -ENOENT)
        return http_answer(http, connection, MHD_HTTP_NOT_FOUND, "no such job: see /\n", NULL, NULL);
    if (status < 0)
        return answer_busy(http, connection, "too many jobs are followed\n");
    return is_states ? answer_states(http, connection, feed) : answer_page(http, connection, feed);
}

/* Counts who waits for its page, and who follows it. */
static void count_wishes(const struct pages *pages, const struct job_feed *feed, int *waiting, int *following)
{
    *waiting = *following = 0;
    for (int i = 0; i < PAGES_WAITING; i++)
        *waiting += pages->waiting[i].connection && pages->waiting[i].feed == feed;
    for (int i = 0; i < PAGES_STREAMS; i++)
        *following += pages->stream[i] && pages->stream[i]->feed == feed;
}

static bool is_over(const struct job_feed *feed)
{
    return feed->has_ended || (kill(feed->job.tracker, 0) < 0 && errno == ESRCH);
}

/* A job that has ended needs its last page, once. A job that runs needs a page and states while somebody follows, and its row while the
 * list is shown. */
static void ask_feed(const struct pages *pages, struct job_feed *feed, int64_t now_ns)
{
    int waiting, following;
    count_wishes(pages, feed, &waiting, &following);
    if (feed->fd < 0 || feed->asked || feed->is_last)
        return;
    if (is_over(feed) && (waiting || following || feed->row_wanted_ns))
        job_feed_ask(feed, FEED_LAST);
    else if (waiting)
        job_feed_ask(feed, FEED_PAGE);
    else if (following && now_ns - feed->state.made_ns >= interval_of(feed->took_ns))
        job_feed_ask(feed, FEED_STATE);
    else if (feed->row_wanted_ns)
        job_feed_ask(feed, FEED_ROW);
}

/* ---- The list ---------------------------------------------------------------------------------------------------- */

static void put_escaped(struct gt_buffer *out, const char *text)
{
    char *shown = gt_text_show(text);
    for (const char *at = shown ? shown : ""; *at; at++)
        switch (*at) {
        case '&': gt_buffer_text(out, "&amp;"); break;
        case '<': gt_buffer_text(out, "&lt;"); break;
        case '>': gt_buffer_text(out, "&gt;"); break;
        case '"': gt_buffer_text(out, "&quot;"); break;
        default: gt_buffer_char(out, *at);
        }
    free(shown);
}

/* A cell is empty where a value is missing. */
static void put_job(struct gt_buffer *out, const struct job *job, const char *command, const struct gt_view_brief *row,
                    bool has_gpus)
{
    gt_buffer_printf(out, "<tr><td><a href=\"/job/%d\">%d</a></td><th scope=\"row\">", (int)job->tracker,
                     (int)job->tracker);
    put_escaped(out, command);
    gt_buffer_text(out, "<span>");
    put_escaped(out, job->recording);
    gt_buffer_text(out, "</span></th>");
    for (int i = 0; i < GT_VIEW_BRIEF_COLUMNS; i++)
        if (i != GT_VIEW_BRIEF_GPU || has_gpus) {
            gt_buffer_text(out, "<td>");
            put_escaped(out, row ? row->text[i] : i == GT_VIEW_BRIEF_STATE ? "running" : "");
            gt_buffer_text(out, "</td>");
        }
    gt_buffer_text(out, "</tr>\n");
}

static bool shows_gpus(const struct pages *pages)
{
    bool has_any = false;
    for (int i = 0; i < PAGES_FEEDS; i++)
        has_any = has_any || *pages->feed[i].row.text[GT_VIEW_BRIEF_GPU];
    return has_any;
}

static bool is_among(const struct job *jobs, size_t count, pid_t tracker)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].tracker == tracker)
            return true;
    return false;
}

static void put_jobs(struct gt_buffer *out, struct pages *pages, const struct job *jobs, size_t count)
{
    bool has_any = count, has_gpus = shows_gpus(pages);
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
        if (!feed->row_ns || is_among(jobs, count, feed->job.tracker))
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

static const char list_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<meta http-equiv=\"refresh\" content=\"2\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<title>Jobs \xc2\xb7 gpu-tracker</title>\n<style>\n"
    ":root { color-scheme: light dark; --faint: #59636e; --rule: #d1d9e0; --link: #0060a8 }\n"
    "@media (prefers-color-scheme: dark) { :root { --faint: #9aa4af; --rule: #3a424b; --link: #6cb6ff } }\n"
    "body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1.5rem auto; padding: 0 1rem; overflow-wrap: anywhere }\n"
    "h1 { font-size: 1.5rem } a { color: var(--link) } table { border-collapse: collapse; width: 100% }\n"
    "th, td { border-bottom: 1px solid var(--rule); padding: .5rem .75rem .5rem 0; text-align: left; vertical-align: top }\n"
    "td, thead th { font-variant-numeric: tabular-nums; overflow-wrap: normal; white-space: nowrap } tbody th { min-width: 12rem }\n"
    "thead th, span { color: var(--faint); font-weight: normal } footer { margin-top: 1rem }\n"
    "span, footer { color: var(--faint); display: block; font-size: .9rem } pre { white-space: pre-wrap }\n"
    "</style>\n</head>\n<body>\n<h1>Jobs</h1>\n";

/* Asks for rows that are too old. A job without a place is listed without values. */
static void want_rows(struct pages *pages, const struct job *jobs, size_t count)
{
    int64_t now_ns = gt_clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < count && !pages->is_closing; i++) {
        struct job_feed *feed = feed_of_job(pages, jobs[i].tracker, &jobs[i]);
        if (!feed && (feed = feed_of(pages, 0)) && open_feed(feed, &jobs[i]) < 0)
            job_feed_close(feed);
        else if (feed)
            feed->used_ns = now_ns;
    }
    for (int i = 0; i < PAGES_FEEDS; i++) {
        struct job_feed *feed = &pages->feed[i];
        if (feed->fd < 0)
            continue;
        if (!feed->row_wanted_ns && now_ns - feed->row_ns >= interval_of(feed->row_took_ns))
            feed->row_wanted_ns = now_ns;
        ask_feed(pages, feed, now_ns);
    }
}

/* Has each row come, or been late for so long that the list does without it? */
static bool has_rows(const struct pages *pages)
{
    int64_t since_ns = gt_clock_ns(CLOCK_MONOTONIC) - ROW_MS * MS;
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
    want_rows(&http->pages, jobs, count);
    enum MHD_Result result = MHD_NO;
    if (!has_rows(&http->pages)) {
        result = wait_for(http, connection, NULL);
    } else {
        gt_buffer_text(&text, list_head);
        put_jobs(&text, &http->pages, jobs, count);
        gt_buffer_text(
            &text, "<footer>Metrics for Prometheus: <a href=\"/metrics\">/metrics</a></footer>\n</body>\n</html>\n");
        result = text.failed ? MHD_NO : answer_html(http, connection, text.data, text.length);
    }
    gt_buffer_release(&text);
    free(jobs);
    return result;
}

/* Without a token the server is in reach of this machine alone, and its other users are none of whom a job is. */
static bool may_see(const struct http *http, struct MHD_Connection *connection)
{
    const struct visitor *visitor = http_visitor(http, connection);
    return http->has_token ||
           (visitor && http_host_is_local(http_header(http, connection, "Host")) && http_peer_is_own(visitor->fd));
}

enum MHD_Result pages_answer(struct http *http, struct MHD_Connection *connection, const char *path)
{
    static const char job[] = "/job/";
    bool is_list = !strcmp(path, "/"), is_job = !strncmp(path, job, strlen(job));
    if (!is_list && !is_job)
        return http_answer(http, connection, MHD_HTTP_NOT_FOUND, "see / and /metrics\n", NULL, NULL);
    if (!may_see(http, connection))
        return http_answer(http, connection, MHD_HTTP_FORBIDDEN,
                           "pages of jobs are for the user who runs this server, or take --token-file; see /metrics\n",
                           NULL, NULL);
    return is_list ? answer_list(http, connection) : answer_job(http, connection, path + strlen(job));
}

/* ---- Going on ---------------------------------------------------------------------------------------------------- */

static void wake_streams(struct http *http, const struct job_feed *feed)
{
    for (int i = 0; i < PAGES_STREAMS; i++) {
        struct page_stream *stream = http->pages.stream[i];
        if (!stream || !stream->is_suspended || (feed && stream->feed != feed))
            continue;
        stream->is_suspended = false;
        http->mhd.resume_connection(stream->connection);
    }
}

/* feed NULL: those who wait for the list. */
static void wake_waiting(struct http *http, const struct job_feed *feed)
{
    for (int i = 0; i < PAGES_WAITING; i++) {
        struct page_waiting *waiting = &http->pages.waiting[i];
        struct MHD_Connection *connection = waiting->connection;
        if (!connection || waiting->feed != feed)
            continue;
        waiting->connection = NULL;
        http->mhd.resume_connection(connection);
    }
}

static void tend(struct http *http, struct job_feed *feed, int64_t now_ns)
{
    char kind = job_feed_take(feed);
    if (!kind && feed->asked && now_ns - feed->asked_ns > WAIT_SECONDS * 1000 * MS) {
        job_feed_stop(feed, "the recording could not be read in time");
        kind = FEED_TROUBLE;
    }
    if (kind == FEED_LAST)
        job_feed_stop(feed, "");
    if (kind && kind != FEED_PAGE && kind != FEED_ROW)
        wake_streams(http, feed);
    if (kind && kind != FEED_STATE && kind != FEED_ROW)
        wake_waiting(http, feed);
    int64_t unused_ns = now_ns - feed->used_ns;
    bool is_kept = unused_ns < (feed->is_last ? KEPT_SECONDS : UNUSED_SECONDS) * 1000 * MS;
    if (!is_kept && !is_followed(&http->pages, feed))
        job_feed_close(feed);
    else
        ask_feed(&http->pages, feed, now_ns);
}

void pages_go_on(struct http *http)
{
    int64_t now_ns = gt_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < PAGES_FEEDS; i++)
        if (http->pages.feed[i].job.tracker)
            tend(http, &http->pages.feed[i], now_ns);
    if (has_rows(&http->pages))
        wake_waiting(http, NULL);
}

int pages_patience(const struct pages *pages)
{
    for (int i = 0; i < PAGES_FEEDS; i++)
        if (pages->feed[i].fd >= 0)
            return STATE_MS / 4;
    return -1;
}

void pages_forget(struct pages *pages, const struct MHD_Connection *connection)
{
    for (int i = 0; i < PAGES_WAITING; i++)
        if (pages->waiting[i].connection == connection)
            pages->waiting[i].connection = NULL;
}

void pages_open(struct pages *pages)
{
    for (int i = 0; i < PAGES_FEEDS; i++)
        pages->feed[i].fd = -1;
}

void pages_close(struct http *http)
{
    http->pages.is_closing = true;
    for (int i = 0; i < PAGES_FEEDS; i++) {
        job_feed_stop(&http->pages.feed[i], "the server ends");
        wake_waiting(http, &http->pages.feed[i]);
    }
    if (http->daemon) {
        wake_streams(http, NULL);
        wake_waiting(http, NULL);
        http->mhd.run(http->daemon);
    }
}

void pages_release(struct pages *pages)
{
    for (int i = 0; i < PAGES_FEEDS; i++)
        job_feed_close(&pages->feed[i]);
}
#endif
