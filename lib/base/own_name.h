/* The kernel knows our processes by these names. A sampler of a tracker in another process (`gpu-tracker agent`, see
 * cli/agent.h), and the process that starts it, give themselves a name of their own: they are no part of any job. */
#ifndef GT_BASE_OWN_NAME_H
#define GT_BASE_OWN_NAME_H

#define GT_PROGRAM_NAME "gpu-tracker"
#define GT_SAMPLER_WORD "agent" /* on their command line, before they have the name */
#define GT_SAMPLER_NAME "gt-sampler"

#endif
