/* A command line in one string, split as a shell would: blanks separate; '...' and "..." quote; \ escapes; nothing is
 * expanded and no shell is started. POSIX.1-2017 Shell Command Language, 2.2 Quoting. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

/* The words in a NULL-terminated array; free it with words_free. NULL: *complaint says why. */
char **words_split(const char *text, const char **complaint);
void words_free(char **words);

#endif
