/* Power: recordings of experiments, samples of the energy counters, and measurements. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "api/python.h"
#include "analyse/experiment/experiment.h"
#include "record/aipowermeter.h"

/* ---- points: {"date": seconds, "value": number or None} ---- */

/* A converter of PyArg_ParseTuple: None is NaN. */
static int number_or_nan(PyObject *object, void *place)
{
    *(double *)place = object == Py_None ? NAN : PyFloat_AsDouble(object);
    return !PyErr_Occurred();
}

static int number_in(PyObject *item, const char *key, double *ret)
{
    PyObject *value = PyMapping_GetItemString(item, key);
    int is_read = value && number_or_nan(value, ret);
    Py_XDECREF(value);
    return is_read ? 0 : -1;
}

static Py_ssize_t points_of(PyObject *list, struct gt_experiment_point **ret)
{
    Py_ssize_t count = PySequence_Size(list);
    struct gt_experiment_point *points = count < 0 ? NULL : calloc((size_t)count + 1, sizeof *points);
    if (!points)
        return count < 0 ? -1 : (PyErr_NoMemory(), -1);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        int status = item ? number_in(item, "date", &points[i].date) : -1;
        if (status == 0)
            status = number_in(item, "value", &points[i].value);
        Py_XDECREF(item);
        if (status < 0) {
            free(points);
            return -1;
        }
    }
    *ret = points;
    return count;
}

static PyObject *number_or_none(double value)
{
    return isnan(value) ? Py_NewRef(Py_None) : PyFloat_FromDouble(value);
}

static PyObject *point_list(const struct gt_experiment_point *points, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++)
        core_append(&list,
                    Py_BuildValue("{s:d,s:N}", "date", points[i].date, "value", number_or_none(points[i].value)));
    return list;
}

/* ---- recordings ---- */

static struct gt_experiment *experiment_of(PyObject *self)
{
    return ((struct core_holder *)self)->held;
}

static int open_path(PyObject *argument, struct gt_experiment **ret)
{
    PyObject *path = NULL;
    struct gt_error error = {0};
    int status;
    if (!PyUnicode_FSConverter(argument, &path))
        return -1;
    Py_BEGIN_ALLOW_THREADS status = gt_experiment_open(ret, PyBytes_AsString(path), &error);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (status < 0)
        core_raise(status == -ENODATA ? -EINVAL : status, &error);
    return status;
}

/* ---- recordings from curves ---- */

static int put_segment(struct gt_experiment *experiment, const struct gt_experiment_curve *curve, size_t segment,
                       PyObject *list)
{
    struct gt_experiment_point *points;
    struct gt_error error = {0};
    Py_ssize_t count = points_of(list, &points);
    int status = count < 0 ? -1 : 0;
    for (Py_ssize_t i = 0; i < count && status == 0; i++)
        if ((status = gt_experiment_put(experiment, curve, segment, &points[i], NAN, &error)) < 0)
            core_raise(status, &error);
    if (count >= 0)
        free(points);
    return status;
}

static int put_curve(struct gt_experiment *experiment, PyObject *item)
{
    struct gt_experiment_curve curve;
    PyObject *segments;
    int status = 0;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a curve must be (group, name, device, segments)");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "sszO:curve", &curve.group, &curve.name, &curve.device, &segments))
        return -1;
    Py_ssize_t count = PySequence_Size(segments);
    for (Py_ssize_t i = 0; i < count && status == 0; i++) {
        PyObject *segment = PySequence_GetItem(segments, i);
        status = segment ? put_segment(experiment, &curve, (size_t)i, segment) : -1;
        Py_XDECREF(segment);
    }
    return count < 0 ? -1 : status;
}

static int put_together(PyObject *list, struct gt_experiment **ret)
{
    struct gt_error error = {0};
    int status = gt_experiment_new(ret, &error);
    if (status < 0) {
        core_raise(status, &error);
        return status;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(list) && status == 0; i++)
        status = put_curve(*ret, PyList_GetItem(list, i));
    if (status == 0 && (status = gt_experiment_complete(*ret, "the driver", &error)) < 0)
        core_raise(status == -ENODATA ? -EINVAL : status, &error);
    if (status < 0)
        gt_experiment_free(*ret);
    return status;
}

static PyObject *recording_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *from;
    struct gt_experiment *experiment = NULL;
    if (!core_arguments(arguments, keywords, "O:Experiment", &from))
        return NULL;
    if ((PyList_Check(from) ? put_together(from, &experiment) : open_path(from, &experiment)) < 0)
        return NULL;
    PyObject *self = core_hold(type, experiment);
    if (!self)
        gt_experiment_free(experiment);
    return self;
}

static PyObject *curves(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *list = PyList_New(0);
    struct gt_experiment_curve curve;
    for (size_t i = 0; list && gt_experiment_curve(experiment_of(self), i, &curve) == 0; i++)
        core_append(&list, Py_BuildValue("(ssz)", curve.group, curve.name, curve.device));
    return list;
}

/* Returns the number of the curve, or -1 with an exception. */
static Py_ssize_t curve_of(PyObject *self, Py_ssize_t index, struct gt_experiment_curve *ret)
{
    if (index >= 0 && gt_experiment_curve(experiment_of(self), (size_t)index, ret) == 0)
        return index;
    PyErr_Format(PyExc_IndexError, "curve %zd does not exist", index);
    return -1;
}

static PyObject *segment_of(PyObject *self, size_t curve, size_t segment)
{
    const struct gt_experiment_point *point = NULL;
    size_t count = gt_experiment_points(experiment_of(self), curve, segment, &point);
    return point_list(point, count);
}

static PyObject *points(PyObject *self, PyObject *arguments)
{
    struct gt_experiment_curve curve;
    Py_ssize_t index;
    if (!PyArg_ParseTuple(arguments, "n:points", &index) || curve_of(self, index, &curve) < 0)
        return NULL;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < curve.segments; i++)
        core_append(&list, segment_of(self, (size_t)index, i));
    return list;
}

static PyObject *tuple_of(const struct gt_experiment_figures *figures)
{
    return Py_BuildValue("(dddddd)", figures->duration, figures->start, figures->end, figures->total, figures->average,
                         figures->maximum);
}

static PyObject *figures(PyObject *self, PyObject *arguments)
{
    struct gt_experiment_curve curve;
    struct gt_experiment_figures figures;
    Py_ssize_t index;
    double start, end;
    if (!PyArg_ParseTuple(arguments, "nO&O&:figures", &index, number_or_nan, &start, number_or_nan, &end) ||
        curve_of(self, index, &curve) < 0)
        return NULL;
    gt_experiment_figures(experiment_of(self), (size_t)index, start, end, &figures);
    return tuple_of(&figures);
}

static PyObject *span(PyObject *self, PyObject *arguments)
{
    struct gt_experiment_figures figures;
    double start, end;
    if (!PyArg_ParseTuple(arguments, "O&O&:span", number_or_nan, &start, number_or_nan, &end))
        return NULL;
    gt_experiment_span(experiment_of(self), start, end, &figures);
    return tuple_of(&figures);
}

static PyObject *interpolate(PyObject *self, PyObject *arguments)
{
    struct gt_experiment_curve curve;
    Py_ssize_t index;
    PyObject *list;
    int cumulative;
    if (!PyArg_ParseTuple(arguments, "nO!p:interpolate", &index, &PyList_Type, &list, &cumulative) ||
        curve_of(self, index, &curve) < 0)
        return NULL;
    Py_ssize_t count = PyList_Size(list);
    double *times = calloc((size_t)count * 2 + 1, sizeof *times);
    PyObject *ret = times ? PyList_New(count) : PyErr_NoMemory();
    for (Py_ssize_t i = 0; ret && i < count; i++)
        times[i] = PyFloat_AsDouble(PyList_GetItem(list, i));
    if (PyErr_Occurred())
        Py_CLEAR(ret);
    if (ret)
        gt_experiment_interpolate(experiment_of(self), (size_t)index, cumulative, times, (size_t)count, times + count);
    for (Py_ssize_t i = 0; ret && i < count; i++)
        if (PyList_SetItem(ret, i, PyFloat_FromDouble(times[count + i])) < 0)
            Py_CLEAR(ret);
    free(times);
    return ret;
}

static PyObject *summary(PyObject *self, PyObject *arguments)
{
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    double start, end;
    if (!PyArg_ParseTuple(arguments, "O&O&:summary", number_or_nan, &start, number_or_nan, &end))
        return NULL;
    int status = gt_experiment_summary(experiment_of(self), start, end, &report, &error);
    if (status < 0)
        return core_raise(status, &error);
    PyObject *json = core_render(report, "json"), *text = json ? core_render(report, "text") : NULL;
    gt_report_free(report);
    return Py_BuildValue("(NN)", json, text);
}

static PyObject *total_power(PyObject *self, PyObject *arguments)
{
    double start, end;
    if (!PyArg_ParseTuple(arguments, "O&O&:total_power", number_or_nan, &start, number_or_nan, &end))
        return NULL;
    return PyFloat_FromDouble(gt_experiment_total_power(experiment_of(self), start, end));
}

static PyObject *listing(PyObject *self, PyObject *Py_UNUSED(unused))
{
    struct gt_error error = {0};
    char *text;
    int status = gt_experiment_listing(experiment_of(self), &text, &error);
    if (status < 0)
        return core_raise(status, &error);
    PyObject *ret = PyUnicode_FromString(text);
    free(text);
    return ret;
}

static PyObject *set_model(PyObject *self, PyObject *arguments)
{
    struct gt_error error = {0};
    const char *json;
    if (!PyArg_ParseTuple(arguments, "s:set_model", &json))
        return NULL;
    int status = gt_experiment_set_model(experiment_of(self), json, &error);
    if (status < 0)
        return core_raise(status, &error);
    Py_RETURN_NONE;
}

static void recording_free(PyObject *self)
{
    gt_experiment_free(experiment_of(self));
    core_object_free(self);
}

static PyMethodDef recording_methods[] = {
    {"curves", curves, METH_NOARGS, "curves($self, /)\n--\n\nReturn (group, name, device or None) of each curve."},
    {"points", points, METH_VARARGS,
     "points($self, curve, /)\n--\n\nReturn the segments of a curve: lists of dates and values."},
    {"figures", figures, METH_VARARGS,
     "figures($self, curve, start, end, /)\n--\n\nReturn (duration, start, end, total, average, maximum) of a curve."},
    {"span", span, METH_VARARGS,
     "span($self, start, end, /)\n--\n\nReturn `figures` of the recording; only the first three are used."},
    {"interpolate", interpolate, METH_VARARGS,
     "interpolate($self, curve, times, cumulative, /)\n--\n\nReturn values, or totals, at given times."},
    {"total_power", total_power, METH_VARARGS,
     "total_power($self, start, end, /)\n--\n\nReturn the joules of processors and GPUs."},
    {"listing", listing, METH_NOARGS, "listing($self, /)\n--\n\nReturn the names of the curves by group."},
    {"set_model", set_model, METH_VARARGS,
     "set_model($self, json, /)\n--\n\nSet the part of the summary about the model."},
    {"summary", summary, METH_VARARGS, "summary($self, start, end, /)\n--\n\n(JSON, text)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot recording_slots[] = {
    {Py_tp_doc, (void *)"Experiment(source, /)\n--\n\nA recording of power: a folder, a tracking file, or curves."},
    {Py_tp_new, (void *)recording_new},
    {Py_tp_dealloc, (void *)recording_free},
    {Py_tp_methods, recording_methods},
    {0, NULL},
};

PyType_Spec core_experiment_spec = {
    .name = "gpu_tracker._core.Experiment",
    .basicsize = sizeof(struct core_holder),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = recording_slots,
};

/* ---- samples of the processors' energy counters ---- */

static struct gt_energy_sample *sample_of(PyObject *self)
{
    return ((struct core_holder *)self)->held;
}

static PyObject *sample_object(PyTypeObject *type, struct gt_energy_sample *sample)
{
    PyObject *self = core_hold(type, sample);
    if (!self)
        gt_energy_sample_free(sample);
    return self;
}

static PyObject *sample_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    struct gt_error error = {0};
    struct gt_energy_sample *sample;
    const char *root;
    if (!core_arguments(arguments, keywords, "z:EnergySample", &root))
        return NULL;
    int status = gt_energy_sample_take(&sample, root, &error);
    return status < 0 ? core_raise(status, &error) : sample_object(type, sample);
}

static PyObject *since(PyObject *self, PyObject *earlier)
{
    struct gt_error error = {0};
    struct gt_energy_sample *difference;
    if (Py_TYPE(earlier) != Py_TYPE(self))
        return PyErr_Format(PyExc_TypeError, "the argument must be a sample");
    int status = gt_energy_sample_between(&difference, sample_of(earlier), sample_of(self), &error);
    return status < 0 ? core_raise(status, &error) : sample_object(Py_TYPE(self), difference);
}

static PyObject *zones(PyObject *self, PyObject *Py_UNUSED(unused))
{
    struct gt_energy_zone zone;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && gt_energy_sample_zone(sample_of(self), i, &zone) == 0; i++)
        core_append(&list, PyUnicode_FromString(zone.name));
    return list;
}

/* Returns the energy of a zone in a unit, divided by a number of seconds. The arguments are zone and unit. */
static PyObject *energy_over(PyObject *self, PyObject *arguments, double seconds)
{
    static const double joules[] = {1e-6, 1, 3600}; /* AIPowerMeter's units: microjoules, joules, watt-hours */
    struct gt_energy_zone zone;
    const char *name;
    int unit;
    if (!PyArg_ParseTuple(arguments, "si:energy", &name, &unit))
        return NULL;
    if (unit < 1 || unit > 3)
        return PyErr_Format(PyExc_ValueError, "the unit must be UJOULES, JOULES or WATT_HOURS");
    for (size_t i = 0; gt_energy_sample_zone(sample_of(self), i, &zone) == 0; i++)
        if (!strcmp(zone.name, name))
            return PyFloat_FromDouble(zone.joules / joules[unit - 1] / seconds);
    return PyErr_Format(PyExc_KeyError, "%s", name);
}

static PyObject *energy(PyObject *self, PyObject *arguments)
{
    return energy_over(self, arguments, 1);
}

static PyObject *average_power(PyObject *self, PyObject *arguments)
{
    double seconds;
    gt_energy_sample_time(sample_of(self), &seconds);
    return energy_over(self, arguments, seconds);
}

static PyObject *watts(PyObject *self, PyObject *name)
{
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    if (!bytes)
        return NULL;
    double value = gt_energy_sample_watts(sample_of(self), PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    return PyFloat_FromDouble(value);
}

static PyObject *get_times(PyObject *self, PyObject *Py_UNUSED(unused))
{
    double seconds, time = gt_energy_sample_time(sample_of(self), &seconds);
    return Py_BuildValue("(dd)", time, seconds);
}

static void sample_free(PyObject *self)
{
    gt_energy_sample_free(sample_of(self));
    core_object_free(self);
}

static PyMethodDef sample_methods[] = {
    {"since", since, METH_O, "since($self, earlier, /)\n--\n\nReturn the difference to an earlier sample."},
    {"zones", zones, METH_NOARGS, "zones($self, /)\n--\n\nNames: package-0, package-0/dram, psys."},
    {"energy", energy, METH_VARARGS,
     "energy($self, zone, unit, /)\n--\n\nReturn the energy of a zone; NaN if it is unreadable."},
    {"average_power", average_power, METH_VARARGS,
     "average_power($self, zone, unit, /)\n--\n\nReturn the energy per second of a difference."},
    {"watts", watts, METH_O,
     "watts($self, name, /)\n--\n\nReturn the watts of intel_power, psys_power, ... in a difference."},
    {"times", get_times, METH_NOARGS,
     "times($self, /)\n--\n\nReturn (seconds since the epoch, seconds between two samples or NaN)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot sample_slots[] = {
    {Py_tp_doc, (void *)"EnergySample(machine_root, /)\n--\n\nA sample of the processors' energy counters."},
    {Py_tp_new, (void *)sample_new},
    {Py_tp_dealloc, (void *)sample_free},
    {Py_tp_methods, sample_methods},
    {0, NULL},
};

PyType_Spec core_energy_sample_spec = {
    .name = "gpu_tracker._core.EnergySample",
    .basicsize = sizeof(struct core_holder),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = sample_slots,
};

/* ---- measurements ---- */

enum { MOST_PIDS = 4096 };

static int pids_of(PyObject *list, pid_t *pids)
{
    Py_ssize_t count = PyList_Size(list);
    if (count > MOST_PIDS) {
        PyErr_Format(PyExc_ValueError, "at most %d processes", MOST_PIDS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        pids[i] = (pid_t)PyLong_AsLong(PyList_GetItem(list, i));
    return PyErr_Occurred() ? -1 : (int)count;
}

static int wait_for(double seconds)
{
    PyObject *time = PyImport_ImportModule("time");
    PyObject *done = time ? PyObject_CallMethod(time, "sleep", "d", seconds) : NULL;
    Py_XDECREF(time);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Keeps the last record. */
static int keep(void *context, const char *metrics)
{
    char **kept = context;
    free(*kept);
    *kept = strdup(metrics);
    return *kept ? 0 : -ENOMEM;
}

static int measure(struct gt_tracker *tracker, const pid_t *pids, int count, double seconds, struct gt_error *error)
{
    int status = 0;
    for (int i = 1; i < count && status >= 0; i++)
        status = gt_tracker_add(tracker, pids[i], error);
    if (status >= 0)
        status = gt_tracker_sample(tracker, error);
    if (status >= 0 && wait_for(seconds) < 0)
        return -EINTR; /* with an exception */
    return status < 0 ? status : gt_tracker_finish(tracker, error);
}

static PyObject *measure_power(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
    struct gt_tracker *tracker = NULL;
    struct gt_error error = {0};
    char *metrics = NULL;
    pid_t pids[MOST_PIDS];
    PyObject *list;
    int all_gpu_users;
    double seconds;
    if (!PyArg_ParseTuple(arguments, "O!dzp:measure_power", &PyList_Type, &list, &seconds, &options.machine_root,
                          &all_gpu_users))
        return NULL;
    int count = pids_of(list, pids);
    if (count <= 0)
        return count < 0 ? NULL : PyErr_Format(PyExc_ValueError, "pids is empty: give at least one process");
    options.memory = "rss"; /* only records need shared pages */
    options.keep_high_water_mark = 1;
    /* The period is so long that there is one record, at the end. */
    const struct gt_experiment_options experiment = {1e9, all_gpu_users != 0, keep};
    options.experiment = &experiment;
    options.context = &metrics;
    int status = gt_tracker_open(&tracker, pids[0], &options, &error);
    if (status >= 0)
        status = measure(tracker, pids, count, seconds, &error);
    gt_tracker_close(tracker);
    if (status >= 0 && !metrics)
        status = -ESRCH;
    PyObject *ret = status < 0 || PyErr_Occurred() ? NULL : PyUnicode_FromString(metrics);
    if (!ret && !PyErr_Occurred())
        core_raise(status, &error);
    free(metrics);
    return ret;
}

static PyObject *power_source(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    struct gt_error error = {0};
    const char *device, *root;
    char *text = NULL;
    if (!PyArg_ParseTuple(arguments, "sz:power_source", &device, &root))
        return NULL;
    int status = gt_power_source(device, root, &text, &error);
    if (status < 0)
        return core_raise(status, &error);
    PyObject *ret = Py_BuildValue("(Ns)", PyBool_FromLong(status), text);
    free(text);
    return ret;
}

PyMethodDef core_power_methods[] = {
    {"measure_power", measure_power, METH_VARARGS,
     "measure_power(pids, seconds, machine_root, all_gpu_users, /)\n--\n\n"
     "Measure for `seconds` and return the metrics of a record as JSON."},
    {"power_source", power_source, METH_VARARGS,
     "power_source(device, machine_root, /)\n--\n\nReturn whether power of the \"cpu\" or the \"gpu\" can be measured, and a description."},
    {NULL, NULL, 0, NULL},
};
