/* Whom was a signal meant for? One that was sent to the whole process group, or to each process of a control group, has reached the job
 * by itself: passed on it would come twice. Nothing tells the receiver, so a process beside the job that takes no signals of
 * its own accord is asked whether it was sent the same. */
#ifndef CLI_WITNESS_H
#define CLI_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct gt_group;

struct witness {
    pid_t pid;  /* 0: there is none, and nothing was seen */
    int fd;     /* where it is asked */
    int serial; /* of the last question */
};

/* `words`: the command; who looks for its words in a command line (pkill -f) is to find the witness with it, and who looks for
 * gpu-tracker is not. Without a process for it witness->pid is 0.
 * `group`: the job's control group, or NULL. */
void witness_start(struct witness *witness, char *const *words, const struct gt_group *group);
/* Wait until it is where the job will be: a signal to the tracker's control group alone is not to reach it on its way there. */
void witness_await(const struct witness *witness);
/* Was it sent what this process was? Takes up to 50 ms where the answer is no. */
bool witness_saw(struct witness *witness, const siginfo_t *signal);
/* It is asked no more, and ends while other things are done. */
void witness_dismiss(const struct witness *witness);
void witness_close(struct witness *witness);

#endif
