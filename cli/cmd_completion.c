/* Completion: a script for each shell, and the hidden command by which the scripts ask for the words that may
 * follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/usage/usage_rule.h"
#include "base/buffer.h"
#include "base/os/file.h"
#include "base/grow.h"
#include "message.h"
#include "option.h"

static const char *const shells[] = {"bash", "zsh", "fish"};
enum { SHELLS = sizeof shells / sizeof *shells, LEAD = 300 };

/* ---- the words that may follow ----
 * gpu-tracker complete SHELL WORD...: the words after "gpu-tracker" up to the cursor; the last is being typed. The
 * first line of the answer is "files", "pids", "command N" or "arguments N" for words that the shell adds, else
 * empty. Word N begins the command of the user. Each further line is a word, a tab and its help. */

struct line {
    bool is_bash, is_fish;
    char lead[LEAD]; /* part of the last word that candidates lack, because bash keeps it: "--format=" */
    char **word;
    int count;
    const struct command *command;
    const char *choice; /* of the command's first operand, or NULL */
    int used;           /* words of the command's name */
};

static bool has_value(const struct option *option)
{
    return option->type != OPTION_FLAG;
}

/* Offers a word that begins as the last one does. `before`: earlier values of a list; `end`: "=" where a value
 * follows. */
static void offer(const struct line *line, const char *before, const char *text, const char *end, const char *help)
{
    char candidate[2 * LEAD];
    const char *typed = line->word[line->count - 1];
    snprintf(candidate, sizeof candidate, "%s%s%s", before, text, end);
    if (strncmp(candidate, typed, strlen(typed)) == 0)
        printf("%s\t%.*s\n", candidate + strlen(line->lead), (int)strcspn(help, "\n"), help);
}

/* The last nine of the past runs. */
static void offer_runs(const struct line *line, const char *before)
{
    char name[3] = "@1";
    for (; name[1] <= '9'; name[1]++)
        offer(line, before, name, "", "");
}

/* The option that a word names, of the command if it takes it; NULL: the word is not an option. */
static const struct option *option_named(const struct command *command, const char *word)
{
    size_t length = strcspn(word, "=");
    if (strncmp(word, "--", 2) == 0)
        return length > 3 ? option_find(command, word + 2, length - 2) : NULL;
    return *word == '-' && length == 2 ? option_find(command, word + 1, 1) : NULL;
}

/* Where the words begin that are the user's own command. */
static int program_at(const struct line *line)
{
    int i = line->used;
    for (; i < line->count - 1 && line->word[i][0] == '-'; i++) {
        if (strcmp(line->word[i], "--") == 0)
            return i + 1;
        const struct option *option = option_named(line->command, line->word[i]);
        i += option && has_value(option) && !strchr(line->word[i], '=');
    }
    return i;
}

/* `before`: the part of the last word in front of the value. */
static void complete_value(const struct line *line, const struct option *option, char before[LEAD])
{
    const char *name, *value = line->word[line->count - 1] + strlen(before), *comma = strrchr(value, ',');
    bool is_file = option->type == OPTION_PATH ||
                   (option->type == OPTION_LIST && strcmp(option->argument, "FILE") == 0);
    bool is_run = option == &option_table[OPTION_NUMBER_against] && *value == '@';
    puts(is_file && !is_run ? "files" : "");
    if (option->choice && comma && strstr(option->argument, ",..."))
        snprintf(before + strlen(before), LEAD - strlen(before), "%.*s", (int)(comma + 1 - value), value);
    for (size_t i = 0; option->choice && (name = option->choice(i)); i++)
        offer(line, before, name, "", "");
    const struct gt_rule_word *rule;
    for (size_t i = 0; strcmp(option->argument, "RULE") == 0 && (rule = gt_rule_word(i)); i++) {
        offer(line, before, rule->name, ">", "");
        offer(line, before, rule->name, "<", "");
    }
    if (is_run)
        offer_runs(line, before);
}

static void complete_option(const struct line *line)
{
    puts("");
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &option_table[i];
        bool is_of_lists = strcmp(option->name, "all") == 0; /* says how many rows as --top does */
        const char *end = has_value(option) && !line->is_fish ? "=" : "", letter[] = {option->letter, '\0'};
        if (!option_applies(option, line->command) ||
            (line->choice && line->command->refuses(line->choice, is_of_lists ? "top" : option->name)))
            continue;
        offer(line, "--", option->name, end, option->help);
        if (option->short_word)
            offer(line, "--", option->short_word, end, option->help);
        if (option->letter && !line->is_bash)
            offer(line, "-", letter, "", option->help);
    }
}

/* The next words of the names of commands, each once: those that begin with `group` and a blank, or all ("", 0). */
static void offer_commands(const struct line *line, const char *group, size_t length)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        char word[40], earlier[80];
        const char *name = commands[i]->name;
        if (strncmp(name, group, length) != 0 || (length && name[length] != ' '))
            continue;
        const char *rest = name + length + (length > 0);
        int end = (int)strcspn(rest, " ");
        snprintf(word, sizeof word, "%.*s", end, rest);
        snprintf(earlier, sizeof earlier, "%.*s ", (int)(rest - name) + end, name);
        bool is_repeated = i && strncmp(commands[i - 1]->name, earlier, strlen(earlier)) == 0;
        if (*word && !is_repeated)
            offer(line, "", word, "", rest[end] ? "" : commands[i]->summary);
    }
}

static void complete_operand(const struct line *line)
{
    const char *word = line->word[line->count - 1], *name, *help;
    const struct command *command = line->command;
    enum operand operand = *command->name ? command->operand : OPERAND_COMMAND;
    bool has_choices = command->choice && !line->choice, is_run = *word == '@';
    puts(operand == OPERAND_FILE && !is_run ? "files" : operand == OPERAND_PROCESS ? "pids" : "");
    for (size_t i = 0; has_choices && (name = command->choice(i, &help)); i++)
        offer(line, "", name, "", help);
    if (operand == OPERAND_FILE && is_run)
        offer_runs(line, "");
    if (operand == OPERAND_COMMAND && (line->count == 1 || line->used))
        offer_commands(line, "", 0);
    for (int i = 0; operand == OPERAND_SHELL && i < SHELLS; i++)
        offer(line, "", shells[i], "", "");
}

/* Finds the command, and the choice of its first operand. Returns false for a group without the rest of a name. */
static bool find_command(struct line *line)
{
    const char *name, *help;
    const struct command *found = command_find(line->count - 1, line->word, &line->used);
    line->command = found ? found : &command_execute;
    for (size_t i = 0; found && found->choice && line->used < line->count - 1 && (name = found->choice(i, &help)); i++)
        if (strcmp(line->word[line->used], name) == 0)
            line->choice = name;
    return found || line->count < 2 || !command_is_group(line->word[0]);
}

static void complete(struct line *line)
{
    char *word = line->word[line->count - 1], before[LEAD] = "";
    if (!find_command(line)) {
        puts("");
        if (*word == '-')
            offer(line, "--", "help", "", "");
        offer_commands(line, line->word[0], strlen(line->word[0]));
        return;
    }
    int program = line->command->operand == OPERAND_PROGRAM ? program_at(line) : line->count;
    bool is_behind = program < line->count && strcmp(line->word[program - 1], "--") == 0;
    if (program < line->count - 1 || is_behind) {
        printf("%s %d\n", program < line->count - 1 ? "arguments" : "command", program);
        return;
    }
    const char *previous = line->count > 1 ? line->word[line->count - 2] : "", *equals = strchr(word, '=');
    bool is_joined = equals && *word == '-';
    const struct option *option = option_named(line->command, is_joined ? word : previous);
    if (is_joined)
        snprintf(before, sizeof before, "%.*s", (int)(equals + 1 - word), word);
    if (option && has_value(option) && (is_joined || !strchr(previous, '=')))
        complete_value(line, option, before);
    else if (*word == '-')
        complete_option(line);
    else if (program < line->count)
        printf("command %d\n", program);
    else
        complete_operand(line);
}

/* bash cuts words at "=": "--format" "=" "json". Joined again, they take the places of the first of `line->word`. */
static bool join_words(struct line *line, struct gt_buffer *joined)
{
    int count = 0;
    for (int i = 0; i < line->count; i++) {
        bool continues = i && (strcmp(line->word[i], "=") == 0 || strcmp(line->word[i - 1], "=") == 0);
        if (i && !continues)
            gt_buffer_char(joined, '\0');
        gt_buffer_text(joined, line->word[i]);
    }
    gt_buffer_char(joined, '\0');
    for (size_t at = 0; !joined->failed && at < joined->length; at += strlen(joined->data + at) + 1)
        line->word[count++] = joined->data + at;
    line->count = count;
    return count;
}

int complete_main(int count, char **words)
{
    struct gt_buffer joined = {0};
    struct line line = {.is_bash = count && strcmp(words[0], "bash") == 0,
                        .is_fish = count && strcmp(words[0], "fish") == 0,
                        .word = words + 1,
                        .count = count - 1};
    if (line.is_bash && count > 1 && join_words(&line, &joined)) {
        const char *word = line.word[line.count - 1], *equals = strchr(word, '=');
        snprintf(line.lead, LEAD, "%.*s", *word == '-' && equals ? (int)(equals + 1 - word) : 0, word);
    }
    if (line.count > 0)
        complete(&line);
    gt_buffer_release(&joined);
    return 0;
}

/* ---- the scripts ---- */

GT_EMBED(completion_bash, "cli/completion.bash")
GT_EMBED(completion_zsh, "cli/completion.zsh")
GT_EMBED(completion_fish, "cli/completion.fish")

static const char *const scripts[SHELLS] = {completion_bash, completion_zsh, completion_fish};

static int run(const struct options *options, int count, char **operands)
{
    (void)options;
    (void)count;
    for (int i = 0; i < SHELLS; i++)
        if (strcmp(shells[i], operands[0]) == 0) {
            fputs(scripts[i], stdout);
            return 0;
        }
    return say_usage("no completion for '%s' (see gpu-tracker completion --help)", operands[0]);
}

const struct command command_completion = {
    .name = "completion",
    .synopsis = "bash|zsh|fish",
    .summary = "Print the completion script of a shell",
    .operand = OPERAND_SHELL,
    .least = 1,
    .most = 1,
    .run = run,
};
