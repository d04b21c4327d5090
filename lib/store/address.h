/* The address of a job, or of all jobs, in a database of a ClickHouse server:
 * clickhouse://[USER@]HOST[:PORT]/DATABASE[/JOB[,JOB...]][?OPTION=VALUE&...]; clickhouses:// by TLS. A password has no place in it: lists
 * of processes show it to everybody. */
#ifndef GT_STORE_ADDRESS_H
#define GT_STORE_ADDRESS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct gt_address {
    bool is_encrypted;
    char user[64]; /* "": not told */
    char host[256];
    int port;
    char database[128];
    char jobs[512]; /* "4242,4243"; "" all, or where a recording is made the job that it belongs to */
    /* Options. */
    double flush;         /* seconds between pushes */
    double wait;          /* seconds that the end of a job may take for what was not sent */
    double spool_limit;   /* bytes that may wait for a server, of a job on a node, before samples are left out */
    bool keep;            /* recordings stay when all of them was sent */
    char spool[PATH_MAX]; /* a folder; "": chosen */
    char ca[PATH_MAX];    /* a file of certificates; "": the system's */
};

bool gt_is_address(const char *text);
/* For what reads recordings alone: -EINVAL for an address, with what to do instead; else 0. */
int gt_refuse_address(const char *name, struct gt_error *error);
/* -EINVAL names the part that is wrong. */
int gt_address_read(struct gt_address *ret, const char *text, struct gt_error *error);
/* Writes the address without options and jobs: what messages call a server. */
void gt_address_name(char *ret, size_t size, const struct gt_address *address);

#endif
