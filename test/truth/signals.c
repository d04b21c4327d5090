/* signals [LAST [STATUS]]: print a line when ready, one for each signal that arrives, and exit with STATUS (default 0)
 * after the signal named LAST (default "TERM"). */
#include <signal.h>

#include "truth.h"

int main(int argc, char **argv)
{
    const char *last = argc > 1 ? argv[1] : "TERM";
    int status = argc > 2 ? (int)argument(argc, argv, 2, "[LAST [STATUS]]") : 0;
    static const int caught[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGTSTP, SIGCONT, SIGWINCH};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        sigaddset(&set, caught[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    printf("{\"ready\": %d}\n", getpid());
    fflush(stdout);
    for (;;) {
        siginfo_t from;
        int number = sigwaitinfo(&set, &from);
        if (number < 0)
            continue;
        printf("{\"signal\": \"%s\", \"sender\": %d}\n", sigabbrev_np(number), from.si_pid);
        fflush(stdout);
        if (strcmp(sigabbrev_np(number), last) == 0)
            return status;
    }
}
