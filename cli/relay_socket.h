/* The Unix socket of the energy relay: who may connect is said by the permissions of the file. */
#ifndef CLI_RELAY_SOCKET_H
#define CLI_RELAY_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "gpu_tracker.h"
#include "signals.h"

/* Clients at a time; of one user; answers for a client before it has to wait for the rest of a tenth of a second. */
enum { RELAY_CLIENTS = 128, RELAY_CLIENTS_OF_USER = 32, RELAY_ANSWERS = 256 };

/* Listen at `path`, which a relay that is gone may have left behind; its folder is made when only that is missing. Members of
 * `group` (of the owner's own, when `has_group` is false) may connect. The descriptor, or a negative exit status after
 * saying what is wrong. */
int relay_socket_listen(const char *path, bool has_group, gid_t group);
/* Answer until a signal asks for the end; 0 or an exit status. */
int relay_socket_run(int listening, struct gt_energy_relay *relay, const struct signals *signals);

#endif
