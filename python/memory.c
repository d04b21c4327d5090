/* The memory of this process, for notebooks: resident now, and the kernel's high-water mark, which may be set back. */
#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number of kB behind `key` in /proc/PID/status, in bytes; NaN without. */
static double bytes_of(const char *status, const char *key)
{
    const char *line = strstr(status, key);
    return line ? strtod(line + strlen(key), NULL) * 1024 : Py_NAN;
}

static PyObject *own_memory(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    char status[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, status, sizeof status - 1);
    if (fd >= 0)
        close(fd);
    if (length < 0)
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, "/proc/self/status");
    status[length] = '\0';
    return Py_BuildValue("(dd)", bytes_of(status, "\nVmRSS:"), bytes_of(status, "\nVmHWM:"));
}

/* proc(5): writing 5 to clear_refs sets the high-water mark to what is resident now, and does nothing else. */
static PyObject *reset_own_peak(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    int done = fd >= 0 && write(fd, "5", 1) == 1;
    if (fd >= 0)
        close(fd);
    return PyBool_FromLong(done);
}

PyMethodDef core_memory_methods[] = {
    {"own_memory", own_memory, METH_NOARGS,
     "own_memory()\n--\n\n(resident memory, its high-water mark) of this process in bytes."},
    {"reset_own_peak", reset_own_peak, METH_NOARGS,
     "reset_own_peak()\n--\n\nSet the high-water mark to what is resident now; False where the kernel refuses."},
    {NULL, NULL, 0, NULL},
};
