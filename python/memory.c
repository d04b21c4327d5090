/* The memory of this process: resident now, and the largest within a window of time. */
#include "core.h"

#include <errno.h>

#include "collect/process/own_peak.h"

static PyObject *own_memory(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    double resident, mark;
    int status = gt_own_memory(&resident, &mark);
    if (status < 0) {
        errno = -status;
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, "/proc/self/status");
    }
    return Py_BuildValue("(dd)", resident, mark);
}

static PyObject *own_peak_begin(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    int window = gt_own_peak_begin();
    return PyLong_FromLong(window < 0 ? 0 : window);
}

static PyObject *own_peak_end(PyObject *Py_UNUSED(module), PyObject *window)
{
    long number = PyLong_AsLong(window);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    return PyFloat_FromDouble(number > 0 && number <= INT_MAX ? gt_own_peak_end((int)number) : Py_NAN);
}

PyMethodDef core_memory_methods[] = {
    {"own_memory", own_memory, METH_NOARGS,
     "own_memory()\n--\n\nReturn (resident memory, its high-water mark) of this process in bytes."},
    {"own_peak_begin", own_peak_begin, METH_NOARGS,
     "own_peak_begin()\n--\n\nStart a window and reset the kernel's high-water mark of this process. Return its number; 0 if "
     "the kernel refuses."},
    {"own_peak_end", own_peak_end, METH_O,
     "own_peak_end(window, /)\n--\n\nEnd a window. Return its peak resident memory in bytes; NaN if unknown."},
    {NULL, NULL, 0, NULL},
};
