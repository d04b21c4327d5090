/* workers PARENT_MB COUNT EACH_MB HOLD_MS [HOW]: a parent of PARENT_MB starts COUNT workers at once; each writes EACH_MB of its
 * own, and when all have, they hold it. HOW:
 *
 *   fork    forked from the parent (the default), whose memory they share
 *   exec    forked from it, each executes this program anew
 *   server  forked from a small helper that the parent forked before it wrote its memory
 *   touch   forked from it, and the memory they write is the parent's: EACH_MB of it, each a part of its own
 *   churn   forked from it, and when they have held it they let go of it, and write as much anew, each in its own time, 20 times
 *
 * `bytes` is resident in the tree, each page once; `descendants` in the workers alone. */
#include <stdatomic.h>

#include "truth.h"

struct plan {
    size_t parent, each;
    int count;
    double hold;
    const char *how;
    char *memory;
    int ready[2], end[2]; /* pipes: a byte from each worker; closed when they may end */
};

static void wait_for_end(const struct plan *plan)
{
    char byte;
    close(plan->end[1]);
    if (write(plan->ready[1], "", 1) != 1)
        fail("write");
    _exit(read(plan->end[0], &byte, 1) != 0);
}

static void churn(const struct plan *plan, int number)
{
    char byte, *memory = written(plan->each, MAP_PRIVATE);
    close(plan->end[1]);
    if (write(plan->ready[1], "", 1) != 1 || read(plan->end[0], &byte, 1) != 0)
        _exit(1);
    for (int round = 0; round < 20; round++) {
        munmap(memory, plan->each);
        sleep_ms(7 * number);
        memory = written(plan->each, MAP_PRIVATE);
        sleep_ms(20);
    }
    _exit(0);
}

static void work(const struct plan *plan, int number)
{
    if (!strcmp(plan->how, "churn"))
        churn(plan, number);
    if (!strcmp(plan->how, "touch"))
        write_pages(plan->memory + (size_t)number * plan->each, plan->each);
    else
        written(plan->each, MAP_PRIVATE);
    wait_for_end(plan);
}

/* What a worker is that has executed this program: its descriptors come as numbers. */
static int work_anew(char **argv)
{
    struct plan plan = {.how = "exec", .each = megabytes(strtod(argv[2], NULL))};
    plan.ready[1] = atoi(argv[3]);
    plan.end[0] = atoi(argv[4]);
    plan.end[1] = -1;
    work(&plan, 0);
    return 0;
}

static void become(const struct plan *plan)
{
    char each[32], ready[16], end[16];
    close(plan->end[1]);
    snprintf(each, sizeof each, "%f", (double)plan->each / 1e6);
    snprintf(ready, sizeof ready, "%d", plan->ready[1]);
    snprintf(end, sizeof end, "%d", plan->end[0]);
    execl("/proc/self/exe", "workers", "-", each, ready, end, NULL);
    fail("execl");
}

static void start_workers(const struct plan *plan)
{
    for (int i = 0; i < plan->count; i++) {
        if (start() > 0)
            continue;
        if (!strcmp(plan->how, "exec"))
            become(plan);
        work(plan, i);
    }
}

/* It starts the workers when the parent has written its memory. */
static void serve(const struct plan *plan, int go)
{
    char byte;
    if (read(go, &byte, 1) != 1)
        _exit(1);
    start_workers(plan);
    close(plan->end[1]);
    close(plan->ready[1]);
    while (wait(NULL) > 0)
        ;
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *usage = "PARENT_MB COUNT EACH_MB HOLD_MS [fork|exec|server|touch|churn]";
    if (argc == 5 && !strcmp(argv[1], "-"))
        return work_anew(argv);
    struct plan plan = {.parent = megabytes(argument(argc, argv, 1, usage)),
                        .count = (int)argument(argc, argv, 2, usage),
                        .each = megabytes(argument(argc, argv, 3, usage)),
                        .hold = argument(argc, argv, 4, usage),
                        .how = argc > 5 ? argv[5] : "fork"};
    int go[2];
    bool is_served = !strcmp(plan.how, "server"), shares = !is_served && strcmp(plan.how, "exec") != 0;
    if (pipe(plan.ready) < 0 || pipe(plan.end) < 0 || pipe(go) < 0)
        fail("pipe");
    if (is_served && start() == 0)
        serve(&plan, go[0]);
    plan.memory = written(plan.parent, MAP_PRIVATE);
    if (is_served && write(go[1], "", 1) != 1)
        fail("write");
    if (!is_served)
        start_workers(&plan);
    for (int i = 0; i < plan.count; i++)
        if (read(plan.ready[0], &(char){0}, 1) != 1)
            fail("a worker");
    size_t own = plan.each * (size_t)plan.count;
    printf("{\"bytes\": %zu, \"descendants\": %zu, \"processes\": %d}\n", plan.parent + own,
           own + (shares ? plan.parent : 0), plan.count + 1 + is_served);
    fflush(stdout);
    sleep_ms(plan.hold);
    close(plan.end[1]);
    while (wait(NULL) > 0)
        ;
    return 0;
}
