/* A process beside the server follows the recording of one job and makes pages and states of it on request: neither a large recording nor
 * a slow disk holds up a scrape. It ends with the server, or when the feed is closed. */
#ifndef CLI_JOB_FEED_H
#define CLI_JOB_FEED_H

#include "jobs.h"

#include <stdint.h>

#include "view/view.h"

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

/* 0 or negative errno. */
int job_feed_open(struct job_feed *feed, const struct job *job);
/* Ask for a text, unless one is being made. */
void job_feed_ask(struct job_feed *feed, enum job_feed_kind kind);
/* Take what has come. Returns the kind of the text that is complete now, FEED_TROUBLE at the end of the process, or 0. */
char job_feed_take(struct job_feed *feed);
/* End the process; its texts stay. */
void job_feed_stop(struct job_feed *feed, const char *trouble);
void job_feed_close(struct job_feed *feed);
/* NULL: nothing. */
void job_text_drop(struct job_text *text);

#endif
