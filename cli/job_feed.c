#include "job_feed.h"

#include <errno.h>
#include <signal.h>
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
#include "base/clock.h"
#include "base/file.h"

enum { MOST_TEXT = 64 << 20, OUT_OF_THE_WAY = 10 };

/* ---- The process ------------------------------------------------------------------------------------------------- */

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

/* ---- The server's end -------------------------------------------------------------------------------------------- */

void job_text_drop(struct job_text *text)
{
    if (text && !--text->references)
        free(text);
}

int job_feed_open(struct job_feed *feed, const struct job *job)
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

void job_feed_ask(struct job_feed *feed, enum job_feed_kind kind)
{
    char byte = (char)kind;
    if (feed->fd < 0 || feed->asked || write(feed->fd, &byte, 1) != 1)
        return;
    feed->asked = byte;
    feed->asked_ns = gt_clock_ns(CLOCK_MONOTONIC);
}

void job_feed_stop(struct job_feed *feed, const char *trouble)
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

char job_feed_take(struct job_feed *feed)
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

void job_feed_close(struct job_feed *feed)
{
    job_feed_stop(feed, "");
    job_text_drop(feed->page);
    job_text_drop(feed->state);
    *feed = (struct job_feed){.fd = -1};
}
