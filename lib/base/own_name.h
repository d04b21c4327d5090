/* The names under which the kernel knows processes of ours: the program, and the samplers of trackers in other processes
 * (`gpu-tracker agent`, see cli/agent.h) with those that start them, who give themselves a name and are no part of any job. */
#ifndef GT_BASE_OWN_NAME_H
#define GT_BASE_OWN_NAME_H

#define GT_PROGRAM_NAME "gpu-tracker"
#define GT_SAMPLER_WORD "agent" /* on their command line, before they have the name */
#define GT_SAMPLER_NAME "gt-sampler"

#endif
