/* What relay and client say to each other: written and read back, and everything else refused. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "api/program.h"
#include "base/os/clock.h"
#include "collect/energy/energy_relay.h"
#include "gpu_tracker.h"
#include "support/gpu_machine.h"
#include "support/test.h"

TEST(an_answer_is_read_back)
{
    char text[GT_RELAY_MESSAGE];
    struct gt_relay_answer answer = {.instance = UINT64_MAX, .period = 0.1, .quantum = 0.25}, back;
    answer.has[0] = answer.has[3] = true;
    answer.count[0] = 12345678901;
    answer.count[3] = 0;
    size_t length = gt_relay_write(text, &answer);
    assert_string_equal(text, "energy 1 18446744073709551615 0.1 0.25 cpu_energy=12345678901 dram_energy=0\n");
    assert_int_equal(gt_relay_parse(text, length, &back), 0);
    assert_true(back.instance == answer.instance && back.count[0] == answer.count[0]);
    assert_close(back.period, 0.1, 0);
    assert_close(back.quantum, 0.25, 0);
    assert_true(back.has[0] && !back.has[1] && !back.has[2] && back.has[3] && !back.has[4]);
}

TEST(the_longest_answer_fits)
{
    char text[GT_RELAY_MESSAGE];
    struct gt_relay_answer answer = {
        .instance = UINT64_MAX, .period = 1.2345678901234567e-300, .quantum = 1.2345678901234567e-300};
    for (int k = 0; k < GT_RELAY_FIGURES; k++) {
        answer.has[k] = true;
        answer.count[k] = UINT64_MAX;
    }
    size_t length = gt_relay_write(text, &answer);
    assert_true(length < sizeof text && text[length - 1] == '\n' && strlen(text) == length);
}

TEST(other_messages_are_refused)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"energy 1 5 0.1 0.1\n", 0},
        {"energy 1 5 0.1 0.1 later_energy=7 cpu_energy=1\n", 0},
        {"energy 2 whatever\n", -EPROTONOSUPPORT},
        {"", -EINVAL},
        {"\n", -EINVAL},
        {"energy\n", -EINVAL},
        {"energy 1\n", -EINVAL},
        {"energy 1 5 0.1\n", -EINVAL},
        {"energy 1 5 0.1 0.1", -EINVAL},
        {"energy 1 -5 0.1 0.1\n", -EINVAL},
        {"energy 1 18446744073709551616 0.1 0.1\n", -EINVAL},
        {"energy 1 5 0 0.1\n", -EINVAL},
        {"energy 1 5 nan 0.1\n", -EINVAL},
        {"energy 1 5 0.1 -1\n", -EINVAL},
        {"energy 1 5 0.1 1e300\n", -EINVAL},
        {"energy 1 5 0.1 0.1 cpu_energy\n", -EINVAL},
        {"energy 1 5 0.1 0.1 cpu_energy=\n", -EINVAL},
        {"energy 1 5 0.1 0.1 cpu_energy=1.5\n", -EINVAL},
        {"energy 1 5 0.1 0.1 cpu_energy=+1\n", -EINVAL},
        {"energy 1 5 0.1 0.1 cpu_energy=1 cpu_energy=2\n", -EINVAL},
        {"energy 1 5 0.1 0.1  cpu_energy=1\n", -EINVAL},
        {"energy 1 5 0.1 0.1 cpu_energy=1\nenergy 1 5 0.1 0.1\n", -EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gt_relay_answer answer = {.instance = 99};
        assert_int_equal(gt_relay_parse(cases[i].text, strlen(cases[i].text), &answer), cases[i].status);
        assert_int_equal(answer.instance, cases[i].status ? 99 : 5); /* written only on success */
    }
    char text[2 * GT_RELAY_MESSAGE];
    memset(text, ' ', sizeof text);
    memcpy(text, "energy 1 5 0.1 0.1", 18);
    text[sizeof text - 1] = '\n';
    struct gt_relay_answer answer;
    assert_int_equal(gt_relay_parse(text, sizeof text, &answer), -EINVAL);
}

static void put_counter(struct gpu_machine *machine, const char *microjoules)
{
    gpu_machine_file(machine, "sys/class/powercap/intel-rapl:0/name", "package-0\n");
    gpu_machine_file(machine, "sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    gpu_machine_file(machine, "sys/class/powercap/intel-rapl:0/energy_uj", "%s\n", microjoules);
}

struct counting {
    const struct gpu_machine *machine;
    atomic_bool is_over;
};

/* One that stood still would be none. */
static void *count_on(void *argument)
{
    struct counting *counting = argument;
    char path[128];
    snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:0/energy_uj", counting->machine->path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    for (int more = 0; more < 40000 && !counting->is_over; more++) {
        dprintf(fd, "%d", 1150000 + more);
        lseek(fd, 0, SEEK_SET);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    close(fd);
    return NULL;
}

TEST(the_relay_is_coarse_in_time_and_energy)
{
    static struct gpu_machine machine;
    const char *text;
    size_t length;
    struct gt_energy_relay *relay;
    struct gt_relay_answer first, second;
    gpu_machine_begin(&machine);
    put_counter(&machine, "1150000");
    pthread_t counter;
    struct counting counting = {.machine = &machine};
    int64_t begin = gt_clock_ns(CLOCK_MONOTONIC);
    assert_int_equal(pthread_create(&counter, NULL, count_on, &counting), 0);
    assert_int_equal(gt_energy_relay_open(&relay, machine.path, NULL), 0);
    counting.is_over = true;
    assert_int_equal(pthread_join(counter, NULL), 0);
    assert_int_equal(gt_energy_relay_answer(relay, "read 1\n", 7, &text, &length), 0);
    assert_int_equal(gt_relay_parse(text, length, &first), 0);
    assert_true(first.has[0] && !first.has[3]);
    assert_close(first.period, 0.1, 0);
    put_counter(&machine, "3499999");
    assert_int_equal(gt_energy_relay_answer(relay, "read 1\n", 7, &text, &length), 0);
    assert_int_equal(gt_relay_parse(text, length, &second), 0);
    if (gt_clock_ns(CLOCK_MONOTONIC) - begin < 90000000)
        assert_int_equal(second.count[0], first.count[0]); /* too soon to be new */
    nanosleep(&(struct timespec){.tv_nsec = 110000000}, NULL);
    assert_int_equal(gt_energy_relay_answer(relay, "read 1\n", 7, &text, &length), 0);
    assert_int_equal(gt_relay_parse(text, length, &second), 0);
    assert_int_equal(second.count[0] - first.count[0], 23); /* whole steps of 0.1 J */
    static const char *const wrong[] = {"read 2\n", "read 1", "read 1\n\n", "", "write 1\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(gt_energy_relay_answer(relay, wrong[i], strlen(wrong[i]), &text, &length), -EINVAL);
    gt_energy_relay_close(relay);
    gpu_machine_end(&machine);
}

/* What it makes of several packages goes with it: the leak sanitizer fails else. */
TEST(a_relay_of_two_packages_is_closed_whole)
{
    static struct gpu_machine machine;
    struct gt_energy_relay *relay;
    gpu_machine_begin(&machine);
    put_counter(&machine, "1000000");
    gpu_machine_file(&machine, "sys/class/powercap/intel-rapl:1/name", "package-1\n");
    gpu_machine_file(&machine, "sys/class/powercap/intel-rapl:1/max_energy_range_uj", "262143328850\n");
    gpu_machine_file(&machine, "sys/class/powercap/intel-rapl:1/energy_uj", "1000000\n");
    assert_int_equal(gt_energy_relay_open(&relay, machine.path, NULL), 0);
    gt_energy_relay_close(relay);
    gpu_machine_end(&machine);
}

static void put_sensor(const struct gpu_machine *machine, const char *microjoules)
{
    char path[128];
    snprintf(path, sizeof path, "%s/sys/class/hwmon/hwmon0/energy1_input", machine->path);
    FILE *file = fopen(path, "w");
    if (!file)
        abort();
    fputs(microjoules, file);
    fclose(file);
}

static void *move_later(void *machine)
{
    nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
    put_sensor(machine, "7000000\n");
    return NULL;
}

/* So that the first client does not take it for one without figures. */
TEST(the_relay_waits_for_slow_counters)
{
    static struct gpu_machine machine;
    struct gt_energy_relay *relay;
    struct gt_relay_answer answer;
    const char *text;
    size_t length;
    pthread_t later;
    gpu_machine_begin(&machine);
    gpu_machine_file(&machine, "sys/class/hwmon/hwmon0/name", "amd_energy\n");
    gpu_machine_file(&machine, "sys/class/hwmon/hwmon0/energy1_label", "Esocket0\n");
    gpu_machine_file(&machine, "sys/class/hwmon/hwmon0/energy1_input", "5000000\n");
    assert_int_equal(pthread_create(&later, NULL, move_later, &machine), 0);
    assert_int_equal(gt_energy_relay_open(&relay, machine.path, NULL), 0);
    assert_int_equal(gt_energy_relay_answer(relay, "read 1\n", 7, &text, &length), 0);
    assert_int_equal(gt_relay_parse(text, length, &answer), 0);
    assert_int_equal(pthread_join(later, NULL), 0);
    assert_true(answer.has[0]);
    assert_int_equal(answer.count[0], 20);
    gt_energy_relay_close(relay);
    gpu_machine_end(&machine);
}

TEST(without_counters_there_is_no_relay)
{
    static struct gpu_machine machine;
    struct gt_energy_relay *relay = NULL;
    struct gt_error error = {0};
    gpu_machine_begin(&machine);
    assert_int_equal(gt_energy_relay_open(&relay, machine.path, &error), -ENXIO);
    assert_non_null(strstr(error.text, "no energy counter"));
    assert_null(relay);
    gpu_machine_end(&machine);
}
