/* Functions of power: recordings of experiments, samples of the energy counters, and sources. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/experiment/experiment.h"
#include "api/python.h"
#include "base/error.h"
#include "core.h"

/* ---- recordings ---- */

static int experiment(struct core_call *call, struct gt_error *error)
{
    int status = gt_experiment_open(&call->experiment, call->text[0], error);
    return status == -ENODATA ? -EINVAL : status;
}

/* Adds a point (group, name, device, number of the segment, date, value). */
static int put_point(struct gt_experiment *experiment, PyObject *item)
{
    struct gt_experiment_curve curve;
    struct gt_experiment_point point;
    struct gt_error error = {0};
    Py_ssize_t segment;
    if (!PyArg_ParseTuple(item, "sszndd:point", &curve.group, &curve.name, &curve.device, &segment, &point.date,
                          &point.value))
        return -1;
    int status = gt_experiment_put(experiment, &curve, (size_t)segment, &point, NAN, &error);
    return status < 0 ? (core_raise(status, &error), -1) : 0;
}

static PyObject *experiment_of_points(struct core_call *call)
{
    struct gt_experiment *experiment;
    struct gt_error error = {0};
    int status = gt_experiment_new(&experiment, &error);
    if (status < 0)
        return core_raise(status, &error);
    PyObject *ret = core_handle_object(CORE_EXPERIMENT, experiment);
    for (Py_ssize_t i = 0; ret && i < PyList_Size(call->object[0]); i++)
        if (put_point(experiment, PyList_GetItem(call->object[0], i)) < 0)
            Py_CLEAR(ret);
    if (ret && (status = gt_experiment_complete(experiment, "the driver", &error)) < 0) {
        Py_CLEAR(ret);
        core_raise(status == -ENODATA ? -EINVAL : status, &error);
    }
    return ret;
}

static PyObject *give_experiment(struct core_call *call)
{
    return core_handle_object(CORE_EXPERIMENT, call->made);
}

static PyObject *curves(struct core_call *call)
{
    PyObject *list = PyList_New(0);
    struct gt_experiment_curve curve;
    for (size_t i = 0; list && gt_experiment_curve(call->handle[0], i, &curve) == 0; i++)
        core_append(&list, Py_BuildValue("(ssz)", curve.group, curve.name, curve.device));
    return list;
}

static PyObject *number_or_none(double value)
{
    return isnan(value) ? Py_NewRef(Py_None) : PyFloat_FromDouble(value);
}

static PyObject *segment_of(const struct gt_experiment *experiment, size_t curve, size_t segment)
{
    const struct gt_experiment_point *point = NULL;
    size_t count = gt_experiment_points(experiment, curve, segment, &point);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++)
        core_append(&list, Py_BuildValue("{s:d,s:N}", "date", point[i].date, "value", number_or_none(point[i].value)));
    return list;
}

static PyObject *points(struct core_call *call)
{
    struct gt_experiment_curve curve;
    if (gt_experiment_curve(call->handle[0], (size_t)call->integer[1], &curve) < 0)
        return PyErr_Format(PyExc_IndexError, "curve %lld does not exist", (long long)call->integer[1]);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < curve.segments; i++)
        core_append(&list, segment_of(call->handle[0], (size_t)call->integer[1], i));
    return list;
}

static PyObject *tuple_of(const struct gt_experiment_figures *figures)
{
    return Py_BuildValue("(dddddd)", figures->duration, figures->start, figures->end, figures->total, figures->average,
                         figures->maximum);
}

static PyObject *figures(struct core_call *call)
{
    struct gt_experiment_figures figures;
    gt_experiment_figures(call->handle[0], (size_t)call->integer[1], call->number[2], call->number[3], &figures);
    return tuple_of(&figures);
}

static PyObject *span(struct core_call *call)
{
    struct gt_experiment_figures figures;
    gt_experiment_span(call->handle[0], call->number[1], call->number[2], &figures);
    return tuple_of(&figures);
}

/* Takes and returns doubles as bytes. */
static int interpolate(struct core_call *call, struct gt_error *error)
{
    call->length = call->count[2];
    call->data = malloc(call->length + 1);
    if (!call->data)
        return gt_error_system(error, ENOMEM, "interpolation");
    gt_experiment_interpolate(call->handle[0], (size_t)call->integer[1], call->flag[3], call->array[2],
                              call->length / sizeof(double), (double *)(void *)call->data);
    return 0;
}

static int summary(struct core_call *call, struct gt_error *error)
{
    return gt_experiment_summary(call->handle[0], call->number[1], call->number[2], &call->report, error);
}

static PyObject *total_power(struct core_call *call)
{
    return PyFloat_FromDouble(gt_experiment_total_power(call->handle[0], call->number[1], call->number[2]));
}

static int listing(struct core_call *call, struct gt_error *error)
{
    return gt_experiment_listing(call->handle[0], &call->data, error);
}

static int set_model(struct core_call *call, struct gt_error *error)
{
    return gt_experiment_set_model(call->handle[0], call->text[1], error);
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
    {"experiment", "p", experiment, give_experiment,
     "experiment(path, /)\n--\n\nRead a recording of power: a folder or a tracking file."},
    {"experiment_of_points", "o", NULL, experiment_of_points,
     "experiment_of_points(points, /)\n--\n\nMake a recording of (group, name, device or None, segment, date, value)."},
    {"experiment_curves", "3", NULL, curves,
     "experiment_curves(experiment, /)\n--\n\nReturn (group, name, device or None) of each curve."},
    {"experiment_points", "3i", NULL, points,
     "experiment_points(experiment, curve, /)\n--\n\nReturn the segments of a curve: lists of dates and values."},
    {"experiment_figures", "3inn", NULL, figures,
     "experiment_figures(experiment, curve, start, end, /)\n--\n\nReturn (duration, start, end, total, average, maximum)."},
    {"experiment_span", "3nn", NULL, span,
     "experiment_span(experiment, start, end, /)\n--\n\nReturn figures of the recording; only the first three are used."},
    {"experiment_interpolate", "3iyb", interpolate, core_bytes,
     "experiment_interpolate(experiment, curve, times, cumulative, /)\n--\n\nReturn values, or totals, at given times, all as "
     "bytes of doubles."},
    {"experiment_total_power", "3nn", NULL, total_power,
     "experiment_total_power(experiment, start, end, /)\n--\n\nReturn the joules of processors and GPUs."},
    {"experiment_listing", "3", listing, core_text,
     "experiment_listing(experiment, /)\n--\n\nReturn the names of the curves by group."},
    {"experiment_set_model", "3s", set_model, core_none,
     "experiment_set_model(experiment, json, /)\n--\n\nSet the part of the summary about the model."},
    {"experiment_summary", "3nn", summary, core_report,
     "experiment_summary(experiment, start, end, /)\n--\n\nReturn the report of durations, totals and averages."},
    {"energy_sample", "z", energy_sample, give_energy,
     "energy_sample(machine_root, /)\n--\n\nRead the processors' energy counters."},
    {"energy_between", "44", energy_between, give_energy,
     "energy_between(earlier, later, /)\n--\n\nReturn the difference of two samples."},
    {"energy_values", "4", NULL, energy_values,
     "energy_values(sample, /)\n--\n\nReturn (seconds since the epoch, seconds between two samples or NaN, joules by zone, watts by "
     "name).\n\nZones are like package-0, package-0/dram, psys. Values are NaN if unreadable."},
    {"doctor", "z", doctor, core_report,
     "doctor(machine_root, /)\n--\n\nReturn the report of the sources of all metrics on this machine."},
    {NULL, NULL, NULL, NULL, NULL},
};
