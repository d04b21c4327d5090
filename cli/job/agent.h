/* The sampler of the Python package: started as `gpu-tracker agent VERSION [experiment MEASUREMENT_PERIOD | again]
 * [options of attach] PID...` with a stream socket to its caller as standard input. With a negative period all processes
 * on GPUs count as the job's. It is not a child of the caller (it forks once more) and has a session of its own. It ends
 * on AGENT_STOP, when the caller closes the socket or ends, and for an experiment also when all processes have ended.
 * With `again`, AGENT_BEGIN after a report starts the next one, with the same words.
 *
 * Messages to the caller: struct agent_message, then `length` bytes. From the caller: one byte each, enum
 * agent_request. VERSION is AGENT_VERSION; a program of another refuses in AGENT_REFUSAL, whose form never changes. */
#ifndef CLI_JOB_AGENT_H
#define CLI_JOB_AGENT_H

#include <stdint.h>

#include "gpu_tracker.h"

/* The version of the package, and the number of the protocol: one more for each change of messages, requests or
 * words. */
#define AGENT_VERSION GT_VERSION "/4"

struct agent_message {
    uint32_t kind;
    uint32_t length;
};

enum agent_kind {
    AGENT_REFUSAL = 'x', /* a sentence; the only message */
    AGENT_READY = 'r',   /* armed: uint32_t, the sampler's pid */
    AGENT_WARNING = 'w', /* a sentence */
    AGENT_ERROR = 'e',   /* struct gt_error: there will be no report */
    AGENT_WINDOW = 'v',  /* struct agent_window */
    AGENT_STATE = 'c',   /* struct agent_state */
    AGENT_RECORD = 'm',  /* of an experiment: the "metrics" of a record, JSON */
    AGENT_JSON = 'j',    /* the final report */
    AGENT_SUMMARY = 'b', /* its summary */
    AGENT_TEXT = 't',    /* the same for people; the last message, but with `again` */
};

enum agent_request {
    AGENT_STOP = 's',        /* finish and report */
    AGENT_BEGIN = 'b',       /* with `again`, after a report: begin anew, and tell when it is armed */
    AGENT_OWN_PEAK = 'p',    /* then a double: the largest resident memory of the caller, bytes, which tracks itself */
    AGENT_NEXT_WINDOW = 'n', /* take a sample now; tell about the time since the last request of this kind */
    AGENT_NOW = 'c',         /* take a sample now, and tell it */
};

/* NaN where not measured. */
struct agent_window {
    double gpu_ram;                /* bytes, of the job, now */
    double gpu_ram_peak;           /* bytes, the largest sample of the window */
    double descendants_ram;        /* bytes that the descendants need on top of the tracked process, now */
    struct gt_energy_drawn energy; /* in the window */
};

/* The job uses this at one moment, in base units; NaN where not measured. */
struct agent_state {
    double ram, cpu, gpu_ram, gpu_utilization, processes;
};

/* Returns the exit status. */
int agent_main(int count, char **words);

#endif
