/* random_job SEED LEDGER [OPTION...]: a tree of processes that the seed decides: how each begins and ends, who waits for it, what it
 * uses. What each used stands in the file LEDGER (random_job.h), by its own clock and by what the kernel told it. Options:
 *
 *   join=FOLDER    enter this control group first (may be repeated)
 *   usage=FILE     the main process reads it last: nanoseconds of CPU time of the group
 *   only=BITS      of the actions only these, in hexadecimal: for finding the smallest job that still shows something
 *   limit=SECONDS  nothing new is begun after that time (default 2.5)
 *   early=1        the main process ends before the others have
 *   go=1           wait until the ledger says so
 *   tell=1         tell each action on standard error
 *   list=1         list the actions with their bits and end */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "random_use.h"

static char self[4096]; /* the path of this program */

static int number_of(const struct record *record)
{
    return (int)(record - job.ledger->record);
}

/* Nobody makes others who is the first in a namespace of its own: the kernel would take them down with it. */
static struct record *announced(enum way how)
{
    struct ledger *ledger = job.ledger;
    if (job.depth > DEPTH)
        return NULL;
    int number = atomic_fetch_add(&ledger->taken, 1);
    if (number >= RECORDS)
        return NULL;
    struct record *record = &ledger->record[number];
    record->parent = job.record ? number_of(job.record) : -1;
    record->how = how;
    count(&ledger->living, &ledger->most, 1);
    count(&ledger->threads, &ledger->most_threads, 1);
    atomic_fetch_add(&ledger->started, 1);
    return record;
}

static void withdraw(void)
{
    atomic_fetch_sub(&job.ledger->living, 1);
    atomic_fetch_sub(&job.ledger->threads, 1);
    atomic_fetch_sub(&job.ledger->started, 1);
}

static int real_pid(void) /* also in a PID namespace of its own: /proc is that of all */
{
    char text[32] = "";
    ssize_t size = readlink("/proc/self", text, sizeof text - 1);
    return size > 0 ? atoi(text) : -1;
}

static long figure_of(const char *text, const char *name)
{
    const char *found = strstr(text, name);
    return found ? atol(found + strlen(name)) : 0;
}

static size_t read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t done = fd < 0 ? -1 : read(fd, text, size - 1);
    close(fd);
    text[done < 0 ? 0 : done] = '\0';
    return done < 0 ? 0 : (size_t)done;
}

/* A file that tells of the whole process, though its first thread may have ended. */
static size_t read_own(const char *name, char *text, size_t size)
{
    char path[64] = "", *thread;
    if (readlink("/proc/thread-self", path, sizeof path - 1) < 0 || !(thread = strrchr(path, '/')))
        return 0;
    char file[128];
    snprintf(file, sizeof file, "/proc/%s/%s", thread + 1, name);
    return read_text(file, text, size);
}

static void read_io(struct record *record)
{
    char text[4096];
    read_own("status", text, sizeof text);
    record->peak = figure_of(text, "VmHWM:") * 1024;
    size_t size = read_own("io", text, sizeof text);
    record->read_characters = figure_of(text, "rchar: ") + (long)size;
    record->written_characters = figure_of(text, "wchar: ");
    record->read_bytes = figure_of(text, "\nread_bytes: ");
    record->written_bytes = figure_of(text, "\nwrite_bytes: ");
}

static void note(struct record *record)
{
    struct rusage usage;
    read_io(record);
    getrusage(RUSAGE_SELF, &usage);
    record->minor_faults = usage.ru_minflt;
    record->major_faults = usage.ru_majflt;
    record->voluntary = usage.ru_nvcsw;
    record->involuntary = usage.ru_nivcsw;
    record->cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    record->is_ended = 1;
}

/* What this process leaves when it executes a program or ends: its memory and its other threads. */
static void leave(void)
{
    atomic_fetch_sub(&job.ledger->memory, job.bytes);
    atomic_fetch_sub(&job.ledger->threads, atomic_exchange(&job.threads, 0));
    job.bytes = 0;
}

static void finish(int status)
{
    leave();
    note(job.record);
    atomic_fetch_sub(&job.ledger->threads, 1);
    atomic_fetch_sub(&job.ledger->living, 1);
    _exit(status);
}

static void mark_as_waited(pid_t pid)
{
    int taken = atomic_load(&job.ledger->taken);
    for (int i = (taken > RECORDS ? RECORDS : taken) - 1; i >= 0; i--) {
        struct record *record = &job.ledger->record[i];
        if (record->pid != pid)
            continue;
        record->parent = number_of(job.record);
        record->is_ended = 2;
        return;
    }
}

static void reap(int options)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, options | __WALL)) > 0)
        mark_as_waited(pid);
}

/* ---- one process makes another ---- */

static void live(void);

static void become(struct record *record, uint64_t seed)
{
    job.record = record;
    record->pid = real_pid();
    job.seed = seed;
    job.action = 0;
    job.depth++;
    job.bytes = 0;
    atomic_store(&job.threads, 0);
}

static pid_t begun(enum way how)
{
    switch (how) {
    case CLONE: return (pid_t)syscall(SYS_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0);
    case CLONE_SIBLING: return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    case CLONE_SILENT: return (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
    case NAMESPACE:
        return (pid_t)syscall(SYS_clone, CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0) | SIGCHLD, 0, 0, 0, 0);
    default: return fork();
    }
}

/* A process that goes on with actions of its own; for DOUBLE_FORK and DAEMON its child does. */
static pid_t child(enum way how, void (*body)(void))
{
    uint64_t seed = mixed(job.random);
    struct record *record = job.last = announced(how);
    if (!record)
        return -1;
    pid_t pid = begun(how);
    if (pid < 0)
        withdraw();
    if (pid != 0)
        return pid;
    become(record, seed);
    if (how == DAEMON)
        setsid();
    job.random = seed;
    if (how == DOUBLE_FORK || how == DAEMON)
        child(FORK, body);
    else
        body();
    finish(0);
    return 0;
}

/* The words of a program that goes on as this process: what it is to do is in the record's seed. */
static void write_words(char words[7][32], struct record *record, uint64_t seed, int action, int depth)
{
    static const char *const name[] = {"worker", "a b", "x) R 1 (", "exe", "-sh", "very-long-name-of-a-program-12"};
    snprintf(words[0], 32, "%s", name[any(0, 5)]);
    snprintf(words[1], 32, "-");
    snprintf(words[2], 32, "%d", job.ledger_fd);
    snprintf(words[3], 32, "%d", number_of(record));
    snprintf(words[4], 32, "%llx", (unsigned long long)seed);
    snprintf(words[5], 32, "%d", action);
    snprintf(words[6], 32, "%d", depth);
}

static pid_t spawned(enum way how)
{
    char words[7][32], *argv[8] = {NULL};
    struct record *record = announced(how);
    if (!record)
        return -1;
    write_words(words, record, mixed(job.random), how == BURST ? -1 : 0, job.depth + 1);
    for (int i = 0; i < 7; i++)
        argv[i] = words[i];
    pid_t pid = -1;
    if (how == VFORK) {
        pid = vfork();
        if (pid == 0) {
            execv(self, argv);
            _exit(127);
        }
    } else if (posix_spawn(&pid, self, NULL, NULL, argv, environ) != 0) {
        pid = -1;
    }
    if (pid < 0)
        withdraw();
    return pid;
}

/* ---- actions ---- */

static void *go_on(void *unused)
{
    live();
    return unused;
}

/* The first thread ends, the process goes on. */
static void lose_first_thread(void)
{
    pthread_t thread;
    if (!start_thread(&thread, go_on, 0))
        return;
    atomic_fetch_sub(&job.threads, 1); /* another one is "the one that runs this" now */
    atomic_fetch_sub(&job.ledger->threads, 1);
    syscall(SYS_exit, 0);
}

static void wait_perhaps(pid_t pid, int percent)
{
    if (pid > 0 && in_percent_of_cases(percent) && waitpid(pid, NULL, __WALL) == pid)
        mark_as_waited(pid);
}

static void make_child(void)
{
    static const enum way ways[] = {FORK, FORK, FORK, CLONE, CLONE_SILENT, DOUBLE_FORK, DAEMON, CLONE_SIBLING};
    enum way how = ways[any(0, job.record->parent < 0 ? 6 : 7)];
    if (job.depth < DEPTH)
        wait_perhaps(child(how, live), how == DOUBLE_FORK || how == DAEMON ? 90 : how == CLONE_SIBLING ? 0 : 35);
}

static void make_program(void)
{
    if (job.depth < DEPTH)
        wait_perhaps(spawned(any(0, 1) ? VFORK : SPAWN), 40);
}

static void short_life(void)
{
    burn(any(0, 1500) / 1e6);
}

static void burst(void)
{
    bool are_programs = in_percent_of_cases(25);
    int waited = any(0, 2) * 50;
    for (int left = are_programs ? any(5, 40) : any(20, 120); left > 0 && !is_over(); left--)
        wait_perhaps(are_programs ? spawned(BURST) : child(BURST, short_life), waited);
}

struct companion {
    struct record *record;
    double seconds;
};

static int live_in_same_memory(void *argument)
{
    struct companion *companion = argument;
    companion->record->pid = (int)syscall(SYS_getpid);
    burn(companion->seconds);
    note(companion->record);
    atomic_fetch_sub(&job.ledger->threads, 1);
    atomic_fetch_sub(&job.ledger->living, 1);
    return 0;
}

/* A process that is no thread, but has our memory. */
static void make_companion(void)
{
    char *stack = map(1 << 16, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    struct companion *companion = (struct companion *)stack; /* at its other end */
    *companion = (struct companion){announced(CLONE_SAME_MEMORY), any(0, 40) / 1e3};
    if (!companion->record)
        return;
    pid_t pid = clone(live_in_same_memory, stack + (1 << 16), CLONE_VM | CLONE_FILES | SIGCHLD, companion);
    if (pid < 0)
        withdraw();
    wait_perhaps(pid, 40);
}

static void make_namespace(void)
{
    if (job.depth >= DEPTH)
        return;
    int depth = job.depth;
    job.depth = DEPTH; /* of the child one more */
    pid_t pid = child(NAMESPACE, live);
    job.depth = depth;
    wait_perhaps(pid, 70);
}

static void stop_child(void)
{
    if (job.depth >= DEPTH)
        return;
    pid_t pid = child(FORK, live);
    if (pid <= 0)
        return;
    sleep_ms(any(0, 20));
    kill(pid, SIGSTOP);
    sleep_ms(any(10, 120));
    kill(pid, SIGCONT);
    wait_perhaps(pid, 50);
}

static void be_killed(void)
{
    burn(any(0, 30) / 1e3);
    take_private();
    atomic_fetch_sub(&job.ledger->memory, job.bytes);
    note(job.record);
    for (;;)
        pause();
}

static void kill_child(void)
{
    pid_t pid = child(FORK, be_killed);
    if (pid <= 0)
        return;
    while (!((volatile struct record *)job.last)->is_ended)
        sleep_ms(1);
    sleep_ms(any(0, 60));
    atomic_fetch_sub(&job.ledger->living, 1);
    atomic_fetch_sub(&job.ledger->threads, 1);
    kill(pid, SIGKILL);
    wait_perhaps(pid, 60);
}

static void execute(void)
{
    char words[7][32], *argv[8] = {NULL};
    write_words(words, job.record, job.seed, job.action, job.depth);
    for (int i = 0; i < 7; i++)
        argv[i] = words[i];
    leave();
    job.record->programs++;
    execv(self, argv);
    fail("execv");
}

static void ignore_children(void)
{
    signal(SIGCHLD, SIG_IGN);
}

static void wait_for_children(void)
{
    reap(WNOHANG);
}

static void adopt(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void rename_self(void)
{
    static const char *const name[] = {"renamed", "b c", ") S 2 3", "(x", "\xc3\xa4", "tab\there"};
    prctl(PR_SET_NAME, name[any(0, 5)]);
}

static const struct {
    const char *name;
    int weight;
    void (*take)(void);
} actions[] = {
    {"cpu", 12, use_cpu},
    {"rest", 6, rest},
    {"private", 8, take_private},
    {"shared", 4, take_shared},
    {"huge", 3, take_huge_pages},
    {"tmpfs", 3, take_tmpfs},
    {"file", 3, take_file},
    {"heap", 2, grow_heap},
    {"unmap", 4, let_go},
    {"drop", 3, drop_pages},
    {"resize", 3, resize},
    {"lock", 2, lock_pages},
    {"write", 6, write_again},
    {"io", 6, use_file},
    {"threads", 4, work_together},
    {"short threads", 2, many_short_threads},
    {"lasting threads", 3, lasting_threads},
    {"lose first thread", 1, lose_first_thread},
    {"child", 14, make_child},
    {"program", 5, make_program},
    {"burst", 3, burst},
    {"companion", 2, make_companion},
    {"namespace", 1, make_namespace},
    {"stop", 2, stop_child},
    {"kill", 2, kill_child},
    {"exec", 3, execute},
    {"ignore", 1, ignore_children},
    {"reap", 3, wait_for_children},
    {"adopt", 1, adopt},
    {"rename", 2, rename_self},
};
#define ACTIONS (int)(sizeof actions / sizeof *actions)

static int chosen(void)
{
    int sum = 0, which = 0;
    for (int i = 0; i < ACTIONS; i++)
        sum += actions[i].weight;
    for (int at = any(0, sum - 1); at >= actions[which].weight; which++)
        at -= actions[which].weight;
    return which;
}

static void act(void)
{
    job.random = mixed(job.seed + (uint64_t)job.action++);
    int which = chosen();
    if (!(job.ledger->only >> which & 1))
        return;
    if (job.ledger->tell)
        dprintf(2, "%.4f %d record %d depth %d: %s\n", now(CLOCK_MONOTONIC) - job.ledger->began, real_pid(),
                number_of(job.record), job.depth, actions[which].name);
    actions[which].take();
}

static void end_main(void)
{
    double give_up = now(CLOCK_MONOTONIC) + 60;
    while (!job.ledger->early && atomic_load(&job.ledger->living) > 1 && now(CLOCK_MONOTONIC) < give_up) {
        sleep_ms(1);
        if (job.seed & 1) /* or leave zombies */
            reap(WNOHANG);
    }
    sleep_ms(job.ledger->early ? 0 : 3);
    reap(WNOHANG);
    char text[32] = "";
    int fd = *job.ledger->usage ? open(job.ledger->usage, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
        job.ledger->cpu_at_end = atof(text) / 1e9;
    job.ledger->ended = now(CLOCK_MONOTONIC);
    finish(0);
}

static void live(void)
{
    uint64_t seed = job.seed;
    job.random = seed;
    int most = any(2, 10 - 2 * job.depth > 2 ? 10 - 2 * job.depth : 3), is_careful = in_percent_of_cases(60);
    if (number_of(job.record) == 0)
        most += 8;
    while (job.action < most && !is_over())
        act();
    if (number_of(job.record) == 0)
        end_main();
    if (is_careful)
        reap(0);
    finish(0);
}

/* ---- beginning ---- */

static struct ledger *ledger_in(int fd)
{
    struct ledger *ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ledger == MAP_FAILED)
        fail("mmap");
    return ledger;
}

/* A program that a process of the job executed. */
static int go_on_as(char **words)
{
    job.ledger_fd = atoi(words[2]);
    job.ledger = ledger_in(job.ledger_fd);
    job.record = &job.ledger->record[atoi(words[3])];
    job.record->pid = real_pid();
    job.seed = strtoull(words[4], NULL, 16);
    job.action = atoi(words[5]);
    job.depth = atoi(words[6]);
    if (job.action < 0) {
        job.random = job.seed;
        short_life();
        finish(0);
    }
    live();
    return 0;
}

static void join(const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0\n", 2) != 2)
        fail(path);
    close(fd);
}

static bool takes(const char *word, const char *name, const char **value)
{
    size_t size = strlen(name);
    *value = word + size;
    return strncmp(word, name, size) == 0;
}

static int list_actions(void)
{
    for (int i = 0; i < ACTIONS; i++)
        printf("%8lx %s\n", 1ul << i, actions[i].name);
    return 0;
}

static void read_options(int argc, char **argv, bool *waits)
{
    const char *value;
    for (int i = 3; i < argc; i++) {
        if (takes(argv[i], "join=", &value))
            join(value);
        else if (takes(argv[i], "usage=", &value))
            snprintf(job.ledger->usage, sizeof job.ledger->usage, "%s", value);
        else if (takes(argv[i], "only=", &value))
            job.ledger->only = strtoul(value, NULL, 16);
        else if (takes(argv[i], "limit=", &value))
            job.ledger->limit = atof(value);
        else if (takes(argv[i], "early=", &value))
            job.ledger->early = atoi(value);
        else if (takes(argv[i], "go=", &value))
            *waits = atoi(value);
        else if (takes(argv[i], "tell=", &value))
            job.ledger->tell = atoi(value);
        else if (takes(argv[i], "list=", &value))
            exit(list_actions());
        else
            exit(98);
    }
}

int main(int argc, char **argv)
{
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        fail("/proc/self/exe");
    if (argc == 7 && !strcmp(argv[1], "-"))
        return go_on_as(argv);
    uint64_t seed = (uint64_t)argument(argc, argv, 1, "SEED LEDGER [OPTION...]");
    bool waits = false;
    job.ledger_fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT, 0600) : -1;
    if (job.ledger_fd < 0 || ftruncate(job.ledger_fd, sizeof *job.ledger) < 0)
        fail("the ledger");
    job.ledger = ledger_in(job.ledger_fd);
    job.ledger->only = ~0ul;
    job.ledger->limit = 2.5;
    read_options(argc, argv, &waits);
    job.record = announced(MAIN);
    become(job.record, mixed(seed));
    job.depth = 0;
    while (waits && !atomic_load(&job.ledger->go))
        sleep_ms(1);
    job.ledger->began = now(CLOCK_MONOTONIC);
    live();
    return 0;
}
