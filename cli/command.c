#include "command.h"

#include <string.h>

const struct command *const commands[COMMAND_COUNT] = {
#define COMMAND(bit, entry, place) &command_##entry,
#include "command.def"
#undef COMMAND
};

bool command_is_listed(int number)
{
    enum { OTHER, LISTED };
    static const char places[COMMAND_COUNT] = {
#define COMMAND(bit, entry, place) place,
#include "command.def"
#undef COMMAND
    };
    return places[number] == LISTED;
}

/* Returns how many of `words` the name consists of; 0 when they are not it. */
static int match(const char *name, int count, char *const *words)
{
    for (int used = 0; used < count; used++) {
        size_t length = strcspn(name, " ");
        if (!length || strlen(words[used]) != length || strncmp(name, words[used], length) != 0)
            return 0;
        if (!name[length])
            return used + 1;
        name += length + 1;
    }
    return 0;
}

const struct command *command_find(int count, char *const *words, int *used)
{
    const struct command *found = NULL;
    *used = 0;
    for (int i = 0; i < COMMAND_COUNT; i++) {
        int length = match(commands[i]->name, count, words);
        if (length > *used) {
            found = commands[i];
            *used = length;
        }
    }
    return found;
}

int command_number(const struct command *command)
{
    int number = 0;
    while (commands[number] != command)
        number++;
    return number;
}

bool command_is_group(const char *word)
{
    size_t length = strlen(word);
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (!strncmp(commands[i]->name, word, length) && commands[i]->name[length] == ' ')
            return true;
    return false;
}
