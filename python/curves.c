/* Arithmetic of curves that Python holds: lists of dates and values. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core.h"
#include "analyse/experiment/experiment.h"

int core_number(PyObject *object, void *place)
{
    *(double *)place = object == Py_None ? NAN : PyFloat_AsDouble(object);
    return !PyErr_Occurred();
}

static int number_in(PyObject *item, const char *key, double *ret)
{
    PyObject *value = PyMapping_GetItemString(item, key);
    int is_read = value && core_number(value, ret);
    Py_XDECREF(value);
    return is_read ? 0 : -1;
}

Py_ssize_t core_points(PyObject *list, struct gt_experiment_point **ret)
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

PyObject *core_point_list(const struct gt_experiment_point *points, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *item = Py_BuildValue("{s:d,s:N}", "date", points[i].date, "value", number_or_none(points[i].value));
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *list_of(const double *values, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++)
        if (PyList_SetItem(list, (Py_ssize_t)i, number_or_none(values[i])) < 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *integrate(PyObject *module, PyObject *arguments)
{
    (void)module;
    struct gt_experiment_point *points;
    PyObject *list;
    double start, end;
    if (!PyArg_ParseTuple(arguments, "OO&O&:integrate", &list, core_number, &start, core_number, &end))
        return NULL;
    Py_ssize_t count = core_points(list, &points);
    double *sums = count < 0 ? NULL : calloc((size_t)count + 1, sizeof *sums);
    if (!sums) {
        if (count >= 0)
            free(points);
        return count < 0 ? NULL : PyErr_NoMemory();
    }
    size_t kept = gt_points_integrate(points, (size_t)count, isnan(start) ? -INFINITY : start,
                                      isnan(end) ? INFINITY : end, sums);
    PyObject *ret = list_of(sums, kept);
    free(points);
    free(sums);
    return ret;
}

static PyObject *running_sums(PyObject *module, PyObject *list)
{
    (void)module;
    struct gt_experiment_point *points;
    double sum = 0;
    Py_ssize_t count = core_points(list, &points);
    PyObject *ret = count < 0 ? NULL : PyList_New(count);
    for (Py_ssize_t i = 0; ret && i < count; i++) {
        sum += points[i].value;
        if (PyList_SetItem(ret, i, number_or_none(sum)) < 0)
            Py_CLEAR(ret);
    }
    if (count >= 0)
        free(points);
    return ret;
}

/* ---- one time for two curves ------------------------------------------------------------------------------------- */

static int by_date(const void *left, const void *right)
{
    double a = ((const struct gt_experiment_point *)left)->date, b = ((const struct gt_experiment_point *)right)->date;
    return (a > b) - (a < b);
}

static int by_number(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static size_t unite(double *times, size_t count)
{
    size_t kept = 0;
    qsort(times, count, sizeof *times, by_number);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || times[kept - 1] != times[i])
            times[kept++] = times[i];
    return kept;
}

static PyObject *at_times(struct gt_experiment_point *points, size_t count, const double *times, double *values,
                          size_t time_count)
{
    struct gt_experiment_point *curve = calloc(time_count + 1, sizeof *curve);
    if (!curve)
        return PyErr_NoMemory();
    gt_points_interpolate(points, count, times, time_count, values);
    for (size_t i = 0; i < time_count; i++)
        curve[i] = (struct gt_experiment_point){times[i], values[i]};
    PyObject *ret = core_point_list(curve, time_count);
    free(curve);
    return ret;
}

static PyObject *align_points(struct gt_experiment_point *const points[2], const Py_ssize_t count[2])
{
    size_t total = (size_t)(count[0] + count[1]), at = 0;
    double *times = calloc(total * 2 + 1, sizeof *times);
    if (!times)
        return PyErr_NoMemory();
    for (int curve = 0; curve < 2; curve++) {
        qsort(points[curve], (size_t)count[curve], sizeof **points, by_date);
        for (Py_ssize_t i = 0; i < count[curve]; i++)
            times[at++] = points[curve][i].date;
    }
    size_t kept = unite(times, total);
    PyObject *ret = Py_BuildValue("(NN)", at_times(points[0], (size_t)count[0], times, times + total, kept),
                                  at_times(points[1], (size_t)count[1], times, times + total, kept));
    free(times);
    return ret;
}

static PyObject *align(PyObject *module, PyObject *arguments)
{
    (void)module;
    struct gt_experiment_point *points[2] = {NULL, NULL};
    PyObject *list[2], *ret = NULL;
    Py_ssize_t count[2];
    if (!PyArg_ParseTuple(arguments, "OO:align", &list[0], &list[1]))
        return NULL;
    count[0] = core_points(list[0], &points[0]);
    count[1] = count[0] < 0 ? -1 : core_points(list[1], &points[1]);
    if (count[1] >= 0 && (count[0] == 0 || count[1] == 0))
        PyErr_SetString(PyExc_ValueError, "a curve without points has no values at other times");
    else if (count[1] >= 0)
        ret = align_points(points, count);
    free(points[0]);
    free(points[1]);
    return ret;
}

/* ---- small things ------------------------------------------------------------------------------------------------ */

static PyObject *bytes_text(PyObject *module, PyObject *arguments)
{
    (void)module;
    const char *suffix;
    char text[128];
    double bytes;
    if (!PyArg_ParseTuple(arguments, "ds:bytes_text", &bytes, &suffix))
        return NULL;
    if (gt_bytes_text(bytes, suffix, text, sizeof text) < 0)
        return PyErr_Format(PyExc_ValueError, "the suffix is too long");
    return PyUnicode_FromString(text);
}

static PyObject *scaled_items(PyObject *values, double factor, double divisor)
{
    PyObject *ret = PyDict_New(), *items = PyMapping_Items(values);
    for (Py_ssize_t i = 0; items && ret && i < PyList_Size(items); i++) {
        PyObject *item = PyList_GetItem(items, i), *value = NULL;
        double number = PyFloat_AsDouble(PyTuple_GetItem(item, 1));
        if (!PyErr_Occurred())
            value = PyFloat_FromDouble(number * factor / divisor);
        if (!value || PyDict_SetItem(ret, PyTuple_GetItem(item, 0), value) < 0)
            Py_CLEAR(ret);
        Py_XDECREF(value);
    }
    if (!items)
        Py_CLEAR(ret);
    Py_XDECREF(items);
    return ret;
}

static PyObject *scaled(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *values;
    double factor, divisor;
    if (!PyArg_ParseTuple(arguments, "Odd:scaled", &values, &factor, &divisor))
        return NULL;
    if (PyDict_Check(values))
        return scaled_items(values, factor, divisor);
    if (!PySequence_Check(values)) {
        double number = PyFloat_AsDouble(values);
        return PyErr_Occurred() ? NULL : PyFloat_FromDouble(number * factor / divisor);
    }
    Py_ssize_t count = PySequence_Size(values);
    PyObject *ret = count < 0 ? NULL : PyList_New(count);
    for (Py_ssize_t i = 0; ret && i < count; i++) {
        PyObject *item = PySequence_GetItem(values, i);
        double number = item ? PyFloat_AsDouble(item) : 0;
        Py_XDECREF(item);
        if (PyErr_Occurred() || PyList_SetItem(ret, i, PyFloat_FromDouble(number * factor / divisor)) < 0)
            Py_CLEAR(ret);
    }
    return ret;
}

/* A new list at the end of `lists`; borrowed, NULL with an exception. */
static PyObject *append_list(PyObject *lists)
{
    PyObject *list = PyList_New(0);
    int status = list ? PyList_Append(lists, list) : -1;
    Py_XDECREF(list);
    return status < 0 ? NULL : list;
}

static int append_point(PyObject *list, double date, PyObject *value)
{
    PyObject *item = list ? Py_BuildValue("{s:d,s:O}", "date", date, "value", value) : NULL;
    int status = item ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return status;
}

/* A date after ends[i] lies in segment i + 1 or a later one. */
static int fill_segments(PyObject *segments, PyObject *dates, PyObject *values, PyObject *ends)
{
    Py_ssize_t number = 0, filled = -1;
    PyObject *segment = NULL;
    for (Py_ssize_t i = 0; i < PyList_Size(dates) && i < PyList_Size(values); i++) {
        PyObject *value = PyList_GetItem(values, i);
        double date = PyFloat_AsDouble(PyList_GetItem(dates, i));
        while (!PyErr_Occurred() && number < PyList_Size(ends) && date > PyFloat_AsDouble(PyList_GetItem(ends, number)))
            number++;
        if (PyErr_Occurred())
            return -1;
        if (value == Py_None)
            continue;
        if (number != filled)
            segment = append_list(segments);
        filled = number;
        if (append_point(segment, date, value) < 0)
            return -1;
    }
    return 0;
}

static PyObject *split(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *dates, *values, *ends;
    if (!PyArg_ParseTuple(arguments, "O!O!O!:split", &PyList_Type, &dates, &PyList_Type, &values, &PyList_Type, &ends))
        return NULL;
    PyObject *segments = PyList_New(0);
    if (segments && fill_segments(segments, dates, values, ends) < 0)
        Py_CLEAR(segments);
    return segments;
}

PyMethodDef core_curve_methods[] = {
    {"integrate", integrate, METH_VARARGS,
     "integrate(points, start, end, /)\n--\n\nThe integral up to each point between the bounds."},
    {"running_sums", running_sums, METH_O, "running_sums(points, /)\n--\n\nSums of the values up to each point."},
    {"align", align, METH_VARARGS, "align(points, other_points, /)\n--\n\nBoth at the dates of both."},
    {"split", split, METH_VARARGS, "split(dates, values, ends, /)\n--\n\nSegments, lists of dates and values."},
    {"bytes_text", bytes_text, METH_VARARGS, "bytes_text(bytes, suffix, /)\n--\n\n\"4.6GiB\""},
    {"scaled", scaled, METH_VARARGS,
     "scaled(values, factor, divisor, /)\n--\n\nA number, a list or the values of a dict, times factor / divisor."},
    {NULL, NULL, 0, NULL},
};
