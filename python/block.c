/* Block: the context manager that marks a block of code, the base class of SubTracker. One object can be entered again
 * before it is left: recursively, by several threads, by asyncio tasks and generators in any order. */
#include "core.h"

#include "blocks/block.h"
#include "entries.h"

struct block {
    PyObject_HEAD PyObject *name; /* a text in UTF-8, which calls borrow; NULL before __init__ */
    PyObject *former;             /* a list of former names while calls borrow them, or NULL */
    struct gt_block_file *file;   /* NULL: the file of the process */
    struct entries open;
    uint64_t total; /* expected number of calls, or 0 */
};

static struct block *block_of(PyObject *self)
{
    return (struct block *)self;
}

/* ---- settings ---- */

static PyObject *block_set(PyObject *object, PyObject *arguments)
{
    struct block *self = block_of(object);
    PyObject *name;
    unsigned long long total;
    if (!PyArg_ParseTuple(arguments, "O!K:_set", &PyBytes_Type, &name, &total))
        return NULL;
    if (self->open.count && self->name) {
        if (!self->former && !(self->former = PyList_New(0)))
            return NULL;
        if (PyList_Append(self->former, self->name) < 0)
            return NULL;
    }
    Py_XDECREF(self->name);
    self->name = Py_NewRef(name);
    self->total = total;
    Py_RETURN_NONE;
}

static PyObject *block_record(PyObject *object, PyObject *arguments)
{
    struct gt_error error = {0};
    PyObject *name;
    char *path = NULL;
    int overwrite;
    long parent;
    if (!PyArg_ParseTuple(arguments, "Opl:_record", &name, &overwrite, &parent) ||
        (name != Py_None && PyBytes_AsStringAndSize(name, &path, NULL) < 0))
        return NULL;
    if (parent > 0)
        gt_block_parent((pid_t)parent);
    block_of(object)->file = NULL;
    int status = path ? gt_block_file_open(&block_of(object)->file, path, overwrite, &error) : 0;
    return status < 0 ? core_raise(status, &error) : Py_NewRef(Py_None);
}

/* Returns (path or None, whether it is a file of its own). */
static PyObject *block_path(PyObject *object, PyObject *Py_UNUSED(unused))
{
    struct gt_block_file *file = block_of(object)->file;
    return Py_BuildValue("(yO)", gt_block_file_path(file), file ? Py_True : Py_False);
}

static PyObject *block_is_open(PyObject *object, PyObject *Py_UNUSED(unused))
{
    return PyBool_FromLong(block_of(object)->open.count);
}

/* ---- entering and leaving ---- */

/* Returns whether there is an exception because calls cannot be recorded, of the method of SubTracker that decides. */
static bool raise_trouble(PyObject *object)
{
    struct gt_error error = {0};
    int status = gt_block_file_status(block_of(object)->file, &error);
    PyObject *done = status < 0 ? PyObject_CallMethod(object, "_judge", "iy", -status, error.text) : NULL;
    Py_XDECREF(done);
    return status < 0 && !done;
}

static PyObject *block_enter(PyObject *object, PyObject *Py_UNUSED(unused))
{
    struct block *self = block_of(object);
    if (!self->name)
        return PyErr_Format(PyExc_RuntimeError, "SubTracker.__init__ has not been called");
    struct entry *entry = entries_add(&self->open, PyEval_GetFrame(), PyThread_get_thread_ident());
    if (!entry)
        return PyErr_NoMemory();
    const char *name = PyBytes_AsString(self->name);
    entry->block = self->file ? gt_block_begin_in(self->file, name, self->total) : gt_block_begin_of(name, self->total);
    if (raise_trouble(object)) {
        entries_remove(&self->open, entry);
        return NULL;
    }
    return Py_NewRef(object);
}

static PyObject *block_exit(PyObject *object, PyObject *Py_UNUSED(arguments))
{
    struct block *self = block_of(object);
    if (!self->open.count)
        return PyErr_Format(PyExc_RuntimeError, "the block has not been entered");
    struct entry *entry = entries_find(&self->open, PyEval_GetFrame(), PyThread_get_thread_ident());
    gt_block_end(&entry->block);
    entries_remove(&self->open, entry);
    if (!self->open.count)
        Py_CLEAR(self->former);
    return raise_trouble(object) ? NULL : Py_NewRef(Py_None);
}

/* ---- the type ---- */

static PyObject *block_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *object = PyType_GenericNew(type, arguments, keywords);
    if (object)
        entries_init(&block_of(object)->open);
    return object;
}

static void block_free(PyObject *object)
{
    struct block *self = block_of(object);
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    Py_XDECREF(self->name);
    Py_XDECREF(self->former);
    entries_release(&self->open);
    release(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"__enter__", block_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nStart a call of the block."},
    {"__exit__", block_exit, METH_VARARGS,
     "__exit__($self, kind, exception, traceback, /)\n--\n\nStop the call of the block."},
    {"_set", block_set, METH_VARARGS,
     "_set($self, name, total, /)\n--\n\nSet the name of later calls, and their expected number; 0 if unknown."},
    {"_record", block_record, METH_VARARGS,
     "_record($self, path, overwrite, parent, /)\n--\n\nRecord to a file, which processes of a parent process share; None: to that "
     "of the process."},
    {"_path", block_path, METH_NOARGS,
     "_path($self, /)\n--\n\nReturn the path of the file, or None, and whether `_record` named it."},
    {"_is_open", block_is_open, METH_NOARGS, "_is_open($self, /)\n--\n\nReturn whether a call is running."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)"Marks of a block of code."},
    {Py_tp_new, (void *)block_new},
    {Py_tp_dealloc, (void *)block_free},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec core_block_spec = {
    .name = "gpu_tracker._core.Block",
    .basicsize = sizeof(struct block),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};
