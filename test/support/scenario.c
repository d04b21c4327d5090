#include "support/scenario.h"
#include "support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { CHILDREN = 4 };

const struct scenario_truth scenario_truth[SCENARIO_COUNT] = {
    [COPY_ON_WRITE] = {"copy on write", 11},    [WITH_STRANGER] = {"with a stranger", 11},
    [DISJOINT_WRITES] = {"disjoint writes", 8}, [SIBLINGS_SHARED] = {"shared anonymous, siblings", 4},
    [SIBLINGS_FILE] = {"file, siblings", 4},    [HUGE_PAGES] = {"huge pages", 4},
    [READ_ONLY_ZEROS] = {"read-only zeros", 0}, [SPARSE] = {"sparse", 4},
};

struct stage {
    enum scenario_kind kind;
    size_t unit; /* bytes */
    int tmpfs, file;
    char *memory;
    int ready; /* each process writes its pid here when its part is done */
};

static char *map(size_t size, int flags, int fd)
{
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static char *anonymous(size_t size)
{
    char *memory = map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (memory)
        madvise(memory, size, MADV_NOHUGEPAGE);
    return memory;
}

static void touch(volatile char *memory, size_t size)
{
    for (size_t i = 0; memory && i < size; i += 4096)
        memory[i] = memory[i] + 1;
}

static void look(const volatile char *memory, size_t size)
{
    for (size_t i = 0; memory && i < size; i += 4096)
        (void)memory[i];
}

static void scatter(size_t bytes)
{
    const size_t whole = (size_t)1 << 40, step = whole / (bytes / 4096 + 1) / 4096 * 4096;
    volatile char *memory = anonymous(whole);
    for (size_t i = 0; memory && i < bytes / 4096; i++)
        memory[i * step] = 1;
}

static void prepare_root(struct stage *stage)
{
    size_t unit = stage->unit;
    switch (stage->kind) {
    case COPY_ON_WRITE:
    case WITH_STRANGER:
        touch(stage->memory = anonymous(4 * unit), 4 * unit);
        look(map(2 * unit, MAP_SHARED, stage->tmpfs), 2 * unit);
        break;
    case DISJOINT_WRITES: touch(stage->memory = anonymous(4 * unit), 4 * unit); break;
    case SIBLINGS_SHARED: stage->memory = map(4 * unit, MAP_SHARED | MAP_ANONYMOUS, -1); break;
    case HUGE_PAGES:
        stage->memory = map(4 * unit, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        if (stage->memory)
            madvise(stage->memory, 4 * unit, MADV_HUGEPAGE);
        touch(stage->memory, 4 * unit);
        break;
    case READ_ONLY_ZEROS:
        look(anonymous(4 * unit), 4 * unit);
        stage->memory = map(4 * unit, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        if (stage->memory)
            madvise(stage->memory, 4 * unit, MADV_HUGEPAGE);
        look(stage->memory, 4 * unit);
        break;
    case SPARSE: scatter(4 * unit); break;
    default: break;
    }
}

static void act_in_child(struct stage *stage, size_t number)
{
    size_t unit = stage->unit;
    switch (stage->kind) {
    case COPY_ON_WRITE:
    case WITH_STRANGER:
        look(map(2 * unit, MAP_SHARED, stage->tmpfs), 2 * unit);
        touch(anonymous(unit), unit);
        break;
    case DISJOINT_WRITES:
        if (stage->memory)
            touch(stage->memory + number * unit, unit);
        break;
    case SIBLINGS_SHARED: touch(stage->memory, 4 * unit); break;
    case SIBLINGS_FILE: look(map(4 * unit, MAP_PRIVATE, stage->file), 4 * unit); break;
    default: break;
    }
}

static void act_in_root(struct stage *stage)
{
    if (stage->kind == COPY_ON_WRITE || stage->kind == WITH_STRANGER)
        touch(anonymous(stage->unit), stage->unit);
    if ((stage->kind == DISJOINT_WRITES || stage->kind == SIBLINGS_SHARED) && stage->memory)
        munmap(stage->memory, 4 * stage->unit);
}

static void report_and_wait(const struct stage *stage)
{
    pid_t pid = getpid();
    if (write(stage->ready, &pid, sizeof pid) == sizeof pid)
        for (;;)
            pause();
    _exit(1);
}

static pid_t start(void)
{
    pid_t pid = fork();
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

/* The children report to the root, so that it acts after all of them; then it reports them and itself. */
static void run_root(struct stage *stage)
{
    int from_children[2], to_test = stage->ready;
    pid_t pid[CHILDREN + 1] = {getpid()};
    prepare_root(stage);
    if (pipe2(from_children, O_CLOEXEC))
        _exit(1);
    stage->ready = from_children[1];
    for (size_t i = 0; i < CHILDREN; i++)
        if (start() == 0) {
            act_in_child(stage, i);
            report_and_wait(stage);
        }
    for (size_t i = 1; i <= CHILDREN; i++)
        if (read(from_children[0], &pid[i], sizeof *pid) != sizeof *pid)
            _exit(1);
    act_in_root(stage);
    if (write(to_test, pid, sizeof pid) == sizeof pid)
        for (;;)
            pause();
    _exit(1);
}

/* A file in memory, or on a disk, full of something. */
static int filled(size_t size, bool is_in_memory)
{
    char name[] = "scenario-XXXXXX", block[4096] = "x";
    int fd = is_in_memory ? memfd_create(name, MFD_CLOEXEC) : mkostemp(name, O_CLOEXEC);
    if (!is_in_memory && fd >= 0)
        unlink(name);
    for (size_t done = 0; fd >= 0 && done < size; done += sizeof block)
        if (write(fd, block, sizeof block) != sizeof block)
            return -1;
    return fd;
}

bool scenario_is_distorted(void)
{
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "vgpreload");
}

bool scenario_begin(struct scenario *scenario, enum scenario_kind kind, size_t megabytes)
{
    int ready[2];
    struct stage stage = {.kind = kind, .unit = megabytes << 20, .tmpfs = -1, .file = -1};
    *scenario = (struct scenario){0};
    if (kind <= WITH_STRANGER)
        stage.tmpfs = filled(2 * stage.unit, true);
    if (kind == SIBLINGS_FILE)
        stage.file = filled(4 * stage.unit, false);
    if (pipe2(ready, O_CLOEXEC))
        return false;
    stage.ready = ready[1];
    if (kind == WITH_STRANGER && (scenario->stranger = start()) == 0) {
        look(map(2 * stage.unit, MAP_SHARED, stage.tmpfs), 2 * stage.unit);
        report_and_wait(&stage);
    }
    pid_t ignored;
    bool ok = !scenario->stranger || read(ready[0], &ignored, sizeof ignored) == sizeof ignored;
    if (ok && (scenario->root = start()) == 0)
        run_root(&stage);
    close(ready[1]);
    ssize_t got = ok ? read(ready[0], scenario->pid, (CHILDREN + 1) * sizeof *scenario->pid) : 0;
    scenario->count = (size_t)got / sizeof *scenario->pid;
    close(ready[0]);
    close(stage.tmpfs);
    close(stage.file);
    return scenario->count == CHILDREN + 1;
}

void scenario_end(struct scenario *scenario)
{
    pid_t own[] = {scenario->root, scenario->stranger};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] > 0) {
            kill(own[i], SIGKILL);
            waitpid(own[i], NULL, 0);
        }
}
