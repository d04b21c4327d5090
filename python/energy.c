/* Samples of the processors' energy counters. */
#include <math.h>
#include <string.h>

#include "core.h"
#include "api/python.h"

static struct gt_energy_sample *sample_of(PyObject *self)
{
    return ((struct core_holder *)self)->held;
}

static PyObject *wrapped(PyTypeObject *type, struct gt_energy_sample *sample)
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
    return status < 0 ? core_raise(status, &error) : wrapped(type, sample);
}

static PyObject *since(PyObject *self, PyObject *earlier)
{
    struct gt_error error = {0};
    struct gt_energy_sample *difference;
    if (Py_TYPE(earlier) != Py_TYPE(self))
        return PyErr_Format(PyExc_TypeError, "the argument must be a sample");
    int status = gt_energy_sample_between(&difference, sample_of(earlier), sample_of(self), &error);
    return status < 0 ? core_raise(status, &error) : wrapped(Py_TYPE(self), difference);
}

static PyObject *zones(PyObject *self, PyObject *Py_UNUSED(unused))
{
    struct gt_energy_zone zone;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && gt_energy_sample_zone(sample_of(self), i, &zone) == 0; i++)
        core_append(&list, PyUnicode_FromString(zone.name));
    return list;
}

/* Joules of the zone that the arguments name, in the unit they name, over a number of seconds. */
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
