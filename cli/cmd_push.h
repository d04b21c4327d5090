/* Recordings for a server: run and attach write them into a spool, from which another process sends them. */
#ifndef CLI_CMD_PUSH_H
#define CLI_CMD_PUSH_H

#include "option.h"

struct ship; /* NULL: the tracking file is no address of a server */

/* Where the tracking file is an address, it becomes a file in the spool, and the process that sends it is started, before anything else is:
 * it is to be nobody's descendant. Returns 0, or an exit status after saying why. */
int ship_begin(struct ship **ret, struct options *options);
/* The address with its placeholders filled in; NULL without a ship. */
const char *ship_address(const struct ship *ship);
/* The recording is finished. Says where it is when it could not be sent. */
void ship_end(struct ship *ship);

#endif
