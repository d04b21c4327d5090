/* Options of functions on traces, from dicts of keywords: which there are stands in three tables. */
#include <stddef.h>

#include "core.h"

enum kind { TEXT, LIST, FLAG, COUNT, NUMBER };

struct option {
    const char *name;
    enum kind kind;
    size_t offset;
};

static int store(const struct option *option, PyObject *value, void *options, PyObject *keep)
{
    void *place = (char *)options + option->offset;
    long number;
    switch (option->kind) {
    case TEXT: return (*(const char **)place = core_text(value, keep)) ? 0 : -1;
    case LIST: return core_texts(value, place, keep);
    case FLAG: return (*(int *)place = PyObject_IsTrue(value)) < 0 ? -1 : 0;
    case NUMBER: *(double *)place = PyFloat_AsDouble(value); return PyErr_Occurred() ? -1 : 0;
    case COUNT: break;
    }
    number = PyLong_AsLong(value);
    *(int *)place = number > INT_MAX ? INT_MAX : number < INT_MIN ? INT_MIN : (int)number;
    return PyErr_Occurred() ? -1 : 0;
}

static const struct option *find(const struct option *option, size_t count, PyObject *name)
{
    for (size_t i = 0; i < count; i++)
        if (PyUnicode_CompareWithASCIIString(name, option[i].name) == 0)
            return &option[i];
    PyErr_Format(PyExc_TypeError, "there is no option '%S'", name);
    return NULL;
}

/* None leaves the default. */
static int fill(const struct option *option, size_t count, PyObject *keywords, void *options, PyObject *keep)
{
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(keywords, &position, &name, &value)) {
        const struct option *found = find(option, count, name);
        if (!found || (value != Py_None && store(found, value, options, keep) < 0))
            return -1;
    }
    return 0;
}

int core_trace_request(PyObject *keywords, struct gt_trace_request *ret, PyObject *keep)
{
    static const struct option options[] = {
        {"start", TEXT, offsetof(struct gt_trace_request, start)},
        {"end", TEXT, offsetof(struct gt_trace_request, end)},
        {"by_step", FLAG, offsetof(struct gt_trace_request, by_step)},
        {"suffixes", LIST, offsetof(struct gt_trace_request, suffixes)},
        {"select", TEXT, offsetof(struct gt_trace_request, select)},
        {"node", TEXT, offsetof(struct gt_trace_request, node)},
        {"threads", COUNT, offsetof(struct gt_trace_request, threads)},
    };
    *ret = GT_INIT(struct gt_trace_request);
    return fill(options, sizeof options / sizeof *options, keywords, ret, keep);
}

int core_profile_options(PyObject *keywords, struct gt_profile_options *ret, PyObject *keep)
{
    static const struct option options[] = {
        {"by", TEXT, offsetof(struct gt_profile_options, by)},
        {"phases", LIST, offsetof(struct gt_profile_options, phases)},
        {"device", TEXT, offsetof(struct gt_profile_options, device)},
        {"ranges", TEXT, offsetof(struct gt_profile_options, ranges)},
        {"key", TEXT, offsetof(struct gt_profile_options, key)},
        {"top", COUNT, offsetof(struct gt_profile_options, top)},
        {"carbon_intensity", TEXT, offsetof(struct gt_profile_options, carbon_intensity)},
        {"carbon_file", TEXT, offsetof(struct gt_profile_options, carbon_file)},
        {"price", TEXT, offsetof(struct gt_profile_options, price)},
    };
    *ret = GT_INIT(struct gt_profile_options);
    return fill(options, sizeof options / sizeof *options, keywords, ret, keep);
}

int core_merge_request(PyObject *keywords, struct gt_merge_request *ret, PyObject *keep)
{
    static const struct option options[] = {
        {"low_gpu", NUMBER, offsetof(struct gt_merge_request, low_gpu)},
        {"metrics", TEXT, offsetof(struct gt_merge_request, metrics)},
        {"align", TEXT, offsetof(struct gt_merge_request, align)},
        {"output", TEXT, offsetof(struct gt_merge_request, output)},
        {"overwrite", FLAG, offsetof(struct gt_merge_request, overwrite)},
    };
    *ret = GT_INIT(struct gt_merge_request);
    return fill(options, sizeof options / sizeof *options, keywords, ret, keep);
}
