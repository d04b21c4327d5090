#include "sample/machine.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/os/file.h"
#include "base/number.h"

enum column { REGION, NAME, YEAR, GRAMS, SOURCE, COLUMNS };
static const char *const columns[COLUMNS] = {"region", "name", "year", "grams_per_kwh", "source"};

struct table {
    struct gt_csv_reader *csv;
    const char *path;
    size_t place[COLUMNS];
};

static int read_header(struct table *table, struct gt_error *error)
{
    char **fields;
    size_t count = 0;
    int status = gt_csv_next(table->csv, &fields, &count, error);
    for (int column = 0; column < COLUMNS && status >= 0; column++) {
        size_t *place = &table->place[column];
        for (*place = 0; *place < count && strcmp(fields[*place], columns[column]);)
            ++*place;
        if (*place == count)
            status = gt_error_set(error, EINVAL, "%s: no column \"%s\"", table->path, columns[column]);
    }
    return status;
}

/* 1: this is the region; 0: another. */
static int read_row(const struct table *table, const char *region, char **fields, size_t count,
                    struct gt_machine *machine, struct gt_error *error)
{
    size_t line = gt_csv_line(table->csv);
    for (int column = 0; column < COLUMNS; column++)
        if (table->place[column] >= count)
            return gt_error_set(error, EINVAL, "%s, line %zu: no field \"%s\"", table->path, line, columns[column]);
    if (strcasecmp(fields[table->place[REGION]], region) != 0)
        return 0;
    const char *grams = fields[table->place[GRAMS]];
    double value;
    if (gt_number_double(grams, &value) < 0 || !isfinite(value) || value < 0)
        return gt_error_set(error, EINVAL, "%s, line %zu: \"%s\" is not a number of grams", table->path, line, grams);
    machine->carbon_intensity = value;
    snprintf(machine->carbon_source, sizeof machine->carbon_source, "%s, %s, %s", fields[table->place[NAME]],
             fields[table->place[YEAR]], fields[table->place[SOURCE]]);
    return 1;
}

/* Regions that may have been meant: whose code begins alike, or whose name contains what was given, or begins like it. */
struct near {
    char text[160];
    int count;
};

static bool is_near(const char *wanted, const char *region, const char *name)
{
    size_t length = strlen(wanted);
    bool is_code = length <= 3 || wanted[2] == '-';
    return (is_code && !strncasecmp(wanted, region, 2)) || (length >= 3 && strcasestr(name, wanted)) ||
           (length >= 3 && !strncasecmp(name, wanted, 3));
}

static void note_near(struct near *near, const struct table *table, const char *wanted, char **fields)
{
    enum { MOST = 5 };
    const char *region = fields[table->place[REGION]], *name = fields[table->place[NAME]];
    if (near->count == MOST || !is_near(wanted, region, name))
        return;
    size_t length = strlen(near->text);
    if (length + strlen(region) + strlen(name) + sizeof " (), " > sizeof near->text)
        return;
    snprintf(near->text + length, sizeof near->text - length, "%s%s (%s)", near->count++ ? ", " : "", region, name);
}

static int look_up(struct table *table, const char *region, struct gt_machine *machine, struct gt_error *error)
{
    char **fields;
    size_t count;
    struct near near = {.count = 0};
    int status = read_header(table, error), next;
    if (status < 0)
        return status;
    while ((next = gt_csv_next(table->csv, &fields, &count, error)) > 0) {
        if (count == 1 && !*fields[0])
            continue;
        status = read_row(table, region, fields, count, machine, error);
        if (status)
            return status < 0 ? status : 0;
        note_near(&near, table, region, fields);
    }
    return next < 0
               ? next
               : gt_error_set(error, EINVAL, "the carbon intensity \"%s\" is neither a number nor a region of %s%s%s",
                              region, table->path, near.count ? "; near are " : "", near.text);
}

extern const char gt_carbon_start[], gt_carbon_end[];
__asm__(".pushsection .rodata\n.global gt_carbon_start, gt_carbon_end\n.hidden gt_carbon_start, gt_carbon_end\n"
        "gt_carbon_start:\n.incbin \"share/gpu-tracker/" GT_CARBON_FILE "\"\ngt_carbon_end:\n.popsection\n");

/* The regions as they were at compile time, for a program that was copied without the installed file. */
static int open_own_regions(struct gt_error *error)
{
    int fd = memfd_create(GT_CARBON_FILE, MFD_CLOEXEC);
    ssize_t size = (ssize_t)((uintptr_t)gt_carbon_end - (uintptr_t)gt_carbon_start);
    if (fd < 0 || write(fd, gt_carbon_start, (size_t)size) != size || lseek(fd, 0, SEEK_SET) < 0) {
        int status = gt_error_system(error, errno, "%s", GT_CARBON_FILE);
        gt_close_fd(fd);
        return status;
    }
    return fd;
}

static int read_region(const char *region, const char *file, struct gt_machine *machine, struct gt_error *error)
{
    char installed[PATH_MAX];
    bool own = !file && gt_installed_file(installed, sizeof installed, "share/gpu-tracker/" GT_CARBON_FILE) < 0;
    struct table table = {.path = own ? GT_CARBON_FILE : file ? file : installed};
    int fd = own ? open_own_regions(error) : gt_given_file_open(table.path, NULL, error);
    if (fd < 0)
        return fd;
    int status = gt_csv_open(&table.csv, fd, table.path, error);
    if (status >= 0)
        status = look_up(&table, region, machine, error);
    gt_csv_close(table.csv);
    close(fd);
    return status;
}

static int read_carbon(const struct gt_cost *cost, struct gt_machine *machine, struct gt_error *error)
{
    double value;
    if (gt_number_double(cost->carbon_intensity, &value) < 0)
        return read_region(cost->carbon_intensity, cost->carbon_file, machine, error);
    if (!isfinite(value) || value < 0)
        return gt_error_set(error, EINVAL, "the carbon intensity must be a number of grams for each kWh, from 0");
    machine->carbon_intensity = value;
    *machine->carbon_source = '\0';
    return 0;
}

/* "0.30", "0.30 EUR" */
static int read_price(const char *price, struct gt_machine *machine, struct gt_error *error)
{
    char number[64];
    const char *blank = price + strcspn(price, " "), *currency = blank + strspn(blank, " ");
    double value = NAN;
    snprintf(number, sizeof number, "%.*s", (int)(blank - price), price);
    if (gt_number_double(number, &value) < 0 || !isfinite(value) || value < 0)
        return gt_error_set(error, EINVAL, "the price \"%s\" must begin with a number for each kWh, from 0", price);
    if (strlen(currency) >= sizeof machine->currency)
        return gt_error_set(error, EINVAL, "the currency \"%s\" is too long", currency);
    machine->price = value;
    snprintf(machine->currency, sizeof machine->currency, "%s", currency);
    return 0;
}

int gt_cost_read(struct gt_machine *machine, const struct gt_cost *cost, struct gt_error *error)
{
    int status = 0;
    if (cost->carbon_intensity && *cost->carbon_intensity)
        status = read_carbon(cost, machine, error);
    if (status >= 0 && cost->price && *cost->price)
        status = read_price(cost->price, machine, error);
    return status;
}
