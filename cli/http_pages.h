/* Pages of the running jobs of this user: "/" lists them, "/job/PID" is the page of one, fed by "/job/PID/states", server-sent events
 * of which each is all that the page takes to become that of now. So who comes late, comes back, or reads slowly gets the
 * latest state, and nothing is kept for anybody.
 *
 * A state is made only while somebody follows, at most one a second and so that making it takes a tenth of the time; all who follow read
 * one copy. The page of a job that has ended is kept for a while, for those who followed it.
 *
 * What jobs do is its user's business: with a token, who has it may see; without one, programs of the same user on this machine. */
#ifndef CLI_HTTP_PAGES_H
#define CLI_HTTP_PAGES_H

struct http;
struct MHD_Connection;

struct pages;

void pages_open(struct pages *pages);
/* The connection has been closed. */
void pages_forget(struct pages *pages, const struct MHD_Connection *connection);
/* Take what has been made, hand it on, and ask for more. */
void pages_go_on(struct http *http);
/* Milliseconds until something is due; -1: nothing is. */
int pages_patience(const struct pages *pages);
/* All connections go on, to their end; what they read stays until it is released. */
void pages_close(struct http *http);
void pages_release(struct pages *pages);

#endif
