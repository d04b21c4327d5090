/* Functions of power: figures of recordings, samples of the energy counters, and sources. */
#include <math.h>

#include "analyse/power_table.h"
#include "api/python.h"
#include "core.h"
#include "report/report.h"

/* ---- experiments ---- */

static int power_table(struct core_call *call, struct gt_error *error)
{
    return gt_power_table(call->text[0], &call->table, error);
}

/* Adds rows (key, title, value, unit) to a section; a list of rows is a section of its own. Returns 0 or -1. */
static int add_rows(struct gt_node *section, PyObject *rows)
{
    for (Py_ssize_t i = 0; i < PyList_Size(rows); i++) {
        const char *key, *title, *unit;
        PyObject *value;
        if (!PyArg_ParseTuple(PyList_GetItem(rows, i), "ssOs:row", &key, &title, &value, &unit))
            return -1;
        if (PyUnicode_Check(value))
            gt_report_text(section, key, title, PyUnicode_AsUTF8AndSize(value, NULL));
        else if (PyLong_Check(value))
            gt_report_count(section, key, title, PyLong_AsDouble(value), unit);
        else if (PyFloat_Check(value) || value == Py_None)
            gt_report_number(section, key, title, value == Py_None ? NAN : PyFloat_AsDouble(value), unit);
        else if (add_rows(gt_report_section(section, key, title), value) < 0)
            return -1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *report_of_rows(struct core_call *call)
{
    struct gt_error error = {0};
    int status = gt_report_new(&call->report, call->text[0], &error);
    if (status < 0)
        return core_raise(status, &error);
    PyObject *handle = core_report(call);
    if (handle && add_rows(gt_report_root(call->report), call->object[1]) < 0)
        Py_CLEAR(handle);
    if (handle && gt_report_failed(call->report)) {
        Py_CLEAR(handle);
        PyErr_NoMemory();
    }
    return handle;
}

/* ---- samples of the processors' energy counters ---- */

static int energy_sample(struct core_call *call, struct gt_error *error)
{
    return gt_energy_sample_take(&call->energy, call->text[0], error);
}

static int energy_between(struct core_call *call, struct gt_error *error)
{
    return gt_energy_sample_between(&call->energy, call->handle[0], call->handle[1], error);
}

static PyObject *give_energy(struct core_call *call)
{
    return core_handle_object(CORE_ENERGY, call->made);
}

/* Returns (seconds since the epoch, seconds between two samples or NaN, joules by zone, watts by name). */
static PyObject *energy_values(struct core_call *call)
{
    static const char *const names[] = {"intel_power", "psys_power", "cpu_power", "dram_power", "uncore_power"};
    struct gt_energy_zone zone;
    PyObject *zones = PyDict_New(), *watts = PyDict_New();
    double seconds, time = gt_energy_sample_time(call->handle[0], &seconds);
    for (size_t i = 0; zones && gt_energy_sample_zone(call->handle[0], i, &zone) == 0; i++)
        core_put(&zones, zone.name, PyFloat_FromDouble(zone.joules));
    for (size_t i = 0; watts && i < sizeof names / sizeof *names; i++)
        core_put(&watts, names[i], PyFloat_FromDouble(gt_energy_sample_watts(call->handle[0], names[i])));
    return Py_BuildValue("(ddNN)", time, seconds, zones, watts);
}

/* ---- sources ---- */

static int doctor(struct core_call *call, struct gt_error *error)
{
    struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
    options.machine_root = call->text[0];
    return gt_doctor_report(&options, &call->report, error);
}

const struct core_function core_power_functions[] = {
    {"power_table", "p", power_table, core_table,
     "power_table(path, /)\n--\n\nReturn power and use of a recording between its samples, with dates and windows."},
    {"report_of_rows", "so", NULL, report_of_rows,
     "report_of_rows(type, rows, /)\n--\n\nReturn a report of rows (key, title, value, unit). A value is a number, a text, None, or "
     "rows of its own."},
    {"energy_sample", "z", energy_sample, give_energy,
     "energy_sample(machine_root, /)\n--\n\nRead the processors' energy counters."},
    {"energy_between", "33", energy_between, give_energy,
     "energy_between(earlier, later, /)\n--\n\nReturn the difference of two samples."},
    {"energy_values", "3", NULL, energy_values,
     "energy_values(sample, /)\n--\n\nReturn (seconds since the epoch, seconds between two samples or NaN, joules by zone, watts by "
     "name).\n\nZones are like package-0, package-0/dram, psys. Values are NaN if unreadable."},
    {"doctor", "z", doctor, core_report,
     "doctor(machine_root, /)\n--\n\nReturn the report of the sources of all metrics on this machine."},
    {NULL, NULL, NULL, NULL, NULL},
};
