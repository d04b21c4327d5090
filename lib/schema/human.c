#include "schema/human.h"

#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/clock.h"
#include "schema/unit.h"

struct step {
    double size;
    const char *name;
};

static const struct step bytes_steps[] = {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}};
static const struct step binary_steps[] = {{1, "B"},        {0x1p10, "KiB"}, {0x1p20, "MiB"},
                                           {0x1p30, "GiB"}, {0x1p40, "TiB"}, {0x1p50, "PiB"}};
static const struct step power_steps[] = {{1e-3, "mW"}, {1, "W"}, {1e3, "kW"}, {1e6, "MW"}};
static const struct step mass_steps[] = {{1e-6, "ug"}, {1e-3, "mg"}, {1, "g"}, {1e3, "kg"}, {1e6, "t"}};
static const struct step plain_steps[] = {{1, ""}};

#define STEPS(steps) steps, sizeof(steps) / sizeof *(steps)

static char *unknown(char *ret)
{
    return strcpy(ret, "n/a");
}

/* Three digits: 1.13, 13.9, 412. */
static int decimals_of(double value)
{
    double size = fabs(value);
    return size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2;
}

static void strip_zeros(char *digits)
{
    char *end = digits + strlen(digits);
    if (!strchr(digits, '.'))
        return;
    while (end[-1] == '0')
        end--;
    end -= end[-1] == '.';
    *end = '\0';
}

/* The largest step of which the value is at least one, once rounded. */
static const struct step *step_of(double value, const struct step *steps, size_t count)
{
    size_t at = 0;
    while (at + 1 < count && fabs(value) >= steps[at + 1].size * 0.9995)
        at++;
    return &steps[at];
}

static void put_digits(char *ret, double value, bool is_whole, bool is_stripped)
{
    snprintf(ret, GT_HUMAN_SIZE, "%.*f", is_whole ? 0 : decimals_of(value), value);
    if (is_stripped)
        strip_zeros(ret);
}

static char *put(char *ret, double value, const struct step *steps, size_t count, bool is_stripped)
{
    if (!isfinite(value))
        return unknown(ret);
    const struct step *step = step_of(value, steps, count);
    put_digits(ret, value / step->size, !strcmp(step->name, "B"), is_stripped);
    size_t length = strlen(ret);
    if (*step->name)
        snprintf(ret + length, GT_HUMAN_SIZE - length, " %s", step->name);
    return ret;
}

char *gt_human_bytes(char ret[GT_HUMAN_SIZE], double bytes)
{
    return put(ret, bytes, STEPS(bytes_steps), false);
}

char *gt_human_binary(char ret[GT_HUMAN_SIZE], double bytes)
{
    return put(ret, bytes, STEPS(binary_steps), false);
}

char *gt_human_round_bytes(char ret[GT_HUMAN_SIZE], double bytes)
{
    static const struct {
        double size;
        char letter;
    } powers[] = {{0x1p40, 'T'}, {0x1p30, 'G'}, {0x1p20, 'M'}};
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++)
        if (bytes >= powers[i].size && fmod(bytes, powers[i].size) == 0) {
            snprintf(ret, GT_HUMAN_SIZE, "%.0f%c", bytes / powers[i].size, powers[i].letter);
            return ret;
        }
    return put(ret, bytes, STEPS(bytes_steps), true);
}

char *gt_human_power(char ret[GT_HUMAN_SIZE], double watts)
{
    return put(ret, watts, STEPS(power_steps), false);
}

char *gt_human_mass(char ret[GT_HUMAN_SIZE], double grams)
{
    return put(ret, grams, STEPS(mass_steps), true);
}

char *gt_human_number(char ret[GT_HUMAN_SIZE], double value)
{
    return put(ret, value, STEPS(plain_steps), false);
}

char *gt_human_round_number(char ret[GT_HUMAN_SIZE], double value)
{
    return put(ret, value, STEPS(plain_steps), true);
}

/* From 10 Wh on people think in what they pay for. */
static const struct step *energy_step(double joules)
{
    static const struct step small[] = {{1e-3, "mJ"}, {1, "J"}, {1e3, "kJ"}};
    static const struct step paid[] = {{3600, "Wh"}, {3.6e6, "kWh"}};
    return fabs(joules) >= 36e3 ? &paid[fabs(joules) >= 360e3] : step_of(joules, STEPS(small));
}

char *gt_human_energy(char ret[GT_HUMAN_SIZE], double joules)
{
    return put(ret, joules, energy_step(joules), 1, false);
}

char *gt_human_energy_part(char ret[GT_HUMAN_SIZE], double joules, double whole)
{
    put_digits(ret, joules / energy_step(whole)->size, false, false);
    return ret;
}

char *gt_human_percent(char ret[GT_HUMAN_SIZE], double ratio)
{
    double percent = ratio * 100;
    if (!isfinite(percent))
        return unknown(ret);
    bool is_fraction = fabs(percent) < 0.95 && fabs(percent) >= 0.05;
    snprintf(ret, GT_HUMAN_SIZE, "%.*f %%", is_fraction ? 1 : 0, percent);
    return ret;
}

static char *put_pair(char *ret, long large, const char *large_name, long small, const char *small_name)
{
    if (small)
        snprintf(ret, GT_HUMAN_SIZE, "%ld %s %ld %s", large, large_name, small, small_name);
    else
        snprintf(ret, GT_HUMAN_SIZE, "%ld %s", large, large_name);
    return ret;
}

char *gt_human_seconds(char ret[GT_HUMAN_SIZE], double seconds)
{
    if (!isfinite(seconds) || fabs(seconds) > 1e12)
        return unknown(ret);
    if (seconds < 0.9995) {
        snprintf(ret, GT_HUMAN_SIZE, "%.*f ms", seconds < 0.00095 && seconds > 0, seconds * 1e3);
        return ret;
    }
    if (seconds < 59.5) {
        snprintf(ret, GT_HUMAN_SIZE, "%.*f s", seconds < 9.95, seconds);
        return ret;
    }
    long whole = lround(seconds), minutes = lround(seconds / 60), hours = lround(seconds / 3600);
    if (whole < 3600)
        return put_pair(ret, whole / 60, "min", whole % 60, "s");
    if (minutes < 24 * 60)
        return put_pair(ret, minutes / 60, "h", minutes % 60, "min");
    return put_pair(ret, hours / 24, "d", hours % 24, "h");
}

char *gt_human_clock(char ret[GT_HUMAN_SIZE], double seconds)
{
    if (isnan(seconds))
        return unknown(ret);
    long long whole = (long long)fmax(0, fmin(seconds, 1e15)), hours = whole / 3600;
    if (hours)
        snprintf(ret, GT_HUMAN_SIZE, "%lld:%02lld:%02lld", hours, whole / 60 % 60, whole % 60);
    else
        snprintf(ret, GT_HUMAN_SIZE, "%lld:%02lld", whole / 60, whole % 60);
    return ret;
}

char *gt_human_about(char ret[GT_HUMAN_SIZE], double seconds)
{
    if (isnan(seconds))
        return unknown(ret);
    if (seconds < 90)
        snprintf(ret, GT_HUMAN_SIZE, "~%.0f s", seconds);
    else if (seconds < 5400)
        snprintf(ret, GT_HUMAN_SIZE, "~%.0f min", seconds / 60);
    else
        snprintf(ret, GT_HUMAN_SIZE, "~%.1f h", fmin(seconds, 1e12) / 3600);
    return ret;
}

char *gt_human_part(char *ret, double bytes, double whole)
{
    char text[GT_HUMAN_SIZE], digits[GT_HUMAN_SIZE];
    if (!isfinite(bytes) || !isfinite(whole)) {
        gt_human_bytes(ret, bytes);
        return ret;
    }
    const struct step *step = step_of(whole, STEPS(bytes_steps));
    put_digits(digits, bytes / step->size, false, false);
    snprintf(ret, (size_t)2 * GT_HUMAN_SIZE, "%s of %s", digits, gt_human_round_bytes(text, whole));
    return ret;
}

static const char *const SIGNALS[] = {
    [SIGHUP] = "HUP",       [SIGINT] = "INT",   [SIGQUIT] = "QUIT",   [SIGILL] = "ILL",   [SIGTRAP] = "TRAP",
    [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",   [SIGFPE] = "FPE",     [SIGKILL] = "KILL", [SIGUSR1] = "USR1",
    [SIGSEGV] = "SEGV",     [SIGUSR2] = "USR2", [SIGPIPE] = "PIPE",   [SIGALRM] = "ALRM", [SIGTERM] = "TERM",
    [SIGSTKFLT] = "STKFLT", [SIGCHLD] = "CHLD", [SIGCONT] = "CONT",   [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
    [SIGTTIN] = "TTIN",     [SIGTTOU] = "TTOU", [SIGURG] = "URG",     [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ",
    [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH", [SIGPOLL] = "POLL", [SIGPWR] = "PWR",
    [SIGSYS] = "SYS",
};
static const int SIGNAL_COUNT = sizeof SIGNALS / sizeof *SIGNALS;

char *gt_human_status(char ret[GT_HUMAN_STATUS_SIZE], int status, bool is_by_itself)
{
    const char *name = status > 128 && status - 128 < SIGNAL_COUNT ? SIGNALS[status - 128] : NULL;
    if (name)
        snprintf(ret, GT_HUMAN_STATUS_SIZE, "exit %d (%sSIG%s)", status, is_by_itself ? "from a shell: " : "", name);
    else
        snprintf(ret, GT_HUMAN_STATUS_SIZE, "exit %d", status);
    return ret;
}

/* Times below a minute have three digits, for tables compare them. */
static char *write_time(char text[GT_HUMAN_SIZE], double seconds)
{
    static const struct {
        double size;
        const char *name;
    } steps[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    enum { STEPS = sizeof steps / sizeof *steps };
    if (seconds >= 59.5)
        return gt_human_seconds(text, seconds);
    size_t at = 0;
    while (seconds && at + 1 < STEPS && seconds < steps[at].size * 0.9995)
        at++;
    char digits[GT_HUMAN_SIZE];
    snprintf(text, GT_HUMAN_SIZE, "%.20s %s", gt_human_number(digits, seconds / steps[at].size), steps[at].name);
    return text;
}

/* Two digits at least, however much smaller than the step it is. */
static char *put_beside(char ret[GT_HUMAN_SIZE], double size, const struct step *step)
{
    double shown = size / step->size;
    int decimals = shown > 0 && shown < 1 ? (int)(1 - floor(log10(shown))) : decimals_of(shown);
    snprintf(ret, GT_HUMAN_SIZE, "%.*f %s", !strcmp(step->name, "B") ? 0 : decimals, shown, step->name);
    return ret;
}

/* Returns NULL for a unit of another kind. */
static const char *write_size(char text[GT_HUMAN_SIZE], double size, double greatest, const char *unit)
{
    double factor = 1;
    bool is_rate = !strcmp(unit, "bytes/s");
    greatest = size > 0 && size < greatest / 1000 ? size : greatest;
    if (is_rate || gt_unit_memory(unit, &factor, NULL) >= 0) {
        put_beside(text, size * factor, step_of(greatest * factor, STEPS(bytes_steps)));
        return is_rate ? strcat(text, "/s") : text;
    }
    if (gt_unit_time(unit, &factor, NULL) >= 0)
        return write_time(text, size * factor);
    if (!strcmp(unit, "joules"))
        return put_beside(text, size, energy_step(greatest));
    if (!strcmp(unit, "watts"))
        return put_beside(text, size, step_of(greatest, STEPS(power_steps)));
    return strcmp(unit, "grams") != 0 ? NULL : gt_human_mass(text, size);
}

bool gt_human_amount_beside(struct gt_buffer *out, double value, double greatest, const char *unit)
{
    char text[GT_HUMAN_SIZE];
    if (!unit || !isfinite(value) || !write_size(text, fabs(value), fmax(fabs(greatest), fabs(value)), unit))
        return false;
    gt_buffer_text(out, value < 0 ? "-" : "");
    gt_buffer_text(out, text);
    return true;
}

bool gt_human_amount(struct gt_buffer *out, double value, const char *unit)
{
    return gt_human_amount_beside(out, value, value, unit);
}

void gt_human_amount_title(struct gt_buffer *out, const char *title, const char *unit)
{
    const char *bracket = strrchr(title, '(');
    size_t length = strlen(unit);
    bool has_unit = bracket && bracket > title && length && !strncmp(bracket + 1, unit, length);
    const char *end = has_unit ? bracket + 1 + length : "";
    if (!strcmp(end, ")")) {
        gt_buffer_append(out, title, (size_t)(bracket - 1 - title));
    } else if (!strncmp(end, ", ", 2)) {
        gt_buffer_append(out, title, (size_t)(bracket + 1 - title));
        gt_buffer_text(out, end + 2);
    } else {
        gt_buffer_text(out, title);
    }
}

struct gt_time_unit gt_time_unit_of(double ns)
{
    static const struct gt_time_unit units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && fabs(ns) < units[unit].ns)
        unit++;
    return units[unit];
}

const char *gt_time_words(double ns, char text[32])
{
    struct gt_time_unit unit = gt_time_unit_of(ns);
    double value = ns / unit.ns;
    snprintf(text, 32, "%.*f %s", fabs(value) < 10 ? 2 : fabs(value) < 100 ? 1 : 0, value, unit.name);
    return isnan(ns) ? NULL : text;
}

const char *gt_moment_words(int64_t ns, char text[48])
{
    static const time_t first_of_2000 = 946684800;
    time_t seconds = (time_t)(ns / GT_SECOND);
    struct tm utc;
    char date[32];
    if (seconds < first_of_2000 || !gmtime_r(&seconds, &utc) ||
        !strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &utc)) {
        snprintf(text, 48, "%s by a clock of its own", gt_time_words((double)ns, date));
        return text;
    }
    snprintf(text, 48, "%s.%06d UTC", date, (int)(ns % GT_SECOND / 1000));
    return text;
}
