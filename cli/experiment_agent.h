/* The recorder of experiments for the Python package: started as `gpu-tracker agent VERSION experiment FOLDER DESCRIPTION PERIOD
 * MEASUREMENT_PERIOD ROOT PID...`, with the socket, messages and life of the agent. Ends when asked to, when its caller is gone, or
 * when all of the processes have ended; the last message is AGENT_TEXT. Without a folder each
 * record is sent as AGENT_JSON. */
#ifndef CLI_EXPERIMENT_AGENT_H
#define CLI_EXPERIMENT_AGENT_H

/* `control` is the socket, `caller` a pidfd. Returns the exit status. */
int experiment_agent(int control, int caller, int count, char **words);

#endif
