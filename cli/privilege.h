/* Privileges that the program has and its user has not: set user or group ID, or file capabilities (AT_SECURE of getauxval(3)).
 *
 * What takes them is opened first, then they are given up for good, and only then anything of the user's is looked at: words,
 * configuration, files. Neither the job nor who executes a program for the user loses anything that the user has. */
#ifndef CLI_PRIVILEGE_H
#define CLI_PRIVILEGE_H

#include <stdbool.h>

bool privilege_is_raised(void);
/* First of all. `executes`: the command starts another program, which must be able to gain privileges, as by sudo. 0 or an exit
 * status. Nothing is done in an ordinary program. */
int privilege_drop(bool follows_processes, bool executes);
/* Once the other program has been forked: this one gains nothing any more. */
void privilege_seal(void);

#endif
