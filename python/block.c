/* SubTracker: the context manager that marks a block of code. One object can be entered again before it is left:
 * recursively, by several threads, by asyncio tasks and generators in any order. */
#include "core.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocks/block.h"
#include "entries.h"

struct sub_tracker {
    PyObject_HEAD PyObject *name; /* the argument */
    PyObject *bytes;              /* its text in UTF-8, which blocks borrow */
    PyObject *former;             /* a list of former texts while blocks borrow them, or NULL */
    PyObject *path;               /* the argument, or NULL for the file of the process */
    struct gt_block_file *file;
    struct entries open;
    long process;   /* that created the object */
    uint64_t total; /* expected number of calls, or 0 */
};

static struct sub_tracker *sub_tracker_of(PyObject *self)
{
    return (struct sub_tracker *)self;
}

/* ---- names ---- */

/* Returns "folder/script.py:12" for the executed line, relative to the current folder of the first call. */
static PyObject *default_name(PyObject *attribute)
{
    PyFrameObject *frame = PyEval_GetFrame();
    if (!frame) {
        PyErr_SetString(PyExc_RuntimeError, "SubTracker needs code_block_name: no Python code is running");
        return NULL;
    }
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *file = PyObject_GetAttrString((PyObject *)code, "co_filename");
    PyObject *module = file ? PyImport_ImportModule("gpu_tracker._names") : NULL;
    PyObject *name = !module     ? NULL
                     : attribute ? PyObject_CallMethod(module, "block_name", "OO", file, attribute)
                                 : PyObject_CallMethod(module, "block_name", "Oi", file, PyFrame_GetLineNumber(frame));
    Py_XDECREF(module);
    Py_XDECREF(file);
    Py_DECREF(code);
    return name;
}

/* Open blocks borrow the text of their name, so a former text is kept until they end. */
static int keep_former(struct sub_tracker *self)
{
    if (!self->open.count || !self->bytes)
        return 0;
    if (!self->former && !(self->former = PyList_New(0)))
        return -1;
    return PyList_Append(self->former, self->bytes);
}

/* Takes over the reference to `name`, which may be NULL with an exception. Files have str() of any object. */
static int take_name(struct sub_tracker *self, PyObject *name)
{
    PyObject *text = !name ? NULL : name == Py_None ? PyUnicode_FromString("") : PyObject_Str(name);
    PyObject *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
    Py_XDECREF(text);
    if (!bytes || keep_former(self) < 0) {
        Py_XDECREF(bytes);
        Py_XDECREF(name);
        return -1;
    }
    Py_XDECREF(self->name);
    Py_XDECREF(self->bytes);
    self->name = name;
    self->bytes = bytes;
    return 0;
}

static int set_name(struct sub_tracker *self, PyObject *name, PyObject *attribute)
{
    bool is_given = name && name != Py_None;
    return take_name(self, is_given ? Py_NewRef(name) : default_name(attribute == Py_None ? NULL : attribute));
}

static const char *folder_of_run(void)
{
    const char *folder = getenv(GT_BLOCKS_ENVIRONMENT);
    return folder && *folder ? folder : NULL;
}

/* Returns the default name of the process's own file. The library chooses another name if it exists. */
static PyObject *default_path(void)
{
    const char *folder = folder_of_run();
    if (folder)
        return PyBytes_FromFormat("%s/%ld.csv", folder, (long)getpid());
    return PyBytes_FromFormat("%ld.csv", (long)getpid());
}

/* Processes of multiprocessing share the files of their parent, with every start method. */
static int declare_parent(void)
{
    PyObject *module = PyImport_ImportModule("gpu_tracker._names");
    PyObject *pid = module ? PyObject_CallMethod(module, "parent_process", NULL) : NULL;
    long number = pid ? PyLong_AsLong(pid) : -1;
    Py_XDECREF(module);
    Py_XDECREF(pid);
    if (number > 0)
        gt_block_parent((pid_t)number);
    return number < 0 ? -1 : 0;
}

static int set_file(struct sub_tracker *self, PyObject *path, int overwrite)
{
    struct gt_error error = {0};
    PyObject *bytes = NULL;
    if (path == Py_None && !overwrite)
        return 0;
    if (path == Py_None)
        bytes = default_path();
    else if (!PyUnicode_FSConverter(path, &bytes)) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "sub_tracking_file must be a str or a path, not %R", path);
        return -1;
    }
    if (!bytes || declare_parent() < 0) {
        Py_XDECREF(bytes);
        return -1;
    }
    int status = gt_block_file_open(&self->file, PyBytes_AsString(bytes), overwrite, &error);
    Py_DECREF(bytes);
    if (status < 0) {
        core_raise(status, &error);
        return -1;
    }
    self->path = path == Py_None ? NULL : Py_NewRef(path);
    return 0;
}

/* Sets the expected number of calls, or None. */
static int set_total(struct sub_tracker *self, PyObject *total)
{
    self->total = 0;
    if (total == Py_None)
        return 0;
    PyObject *number = PyNumber_Index(total);
    long long count = number ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    if (count < 1)
        PyErr_Format(number ? PyExc_ValueError : PyExc_TypeError,
                     "total must be the number of calls, an integer of at least 1, not %R", total);
    self->total = count < 1 ? 0 : (uint64_t)count;
    return count < 1 ? -1 : 0;
}

static int flag_of(const char *name, PyObject *value)
{
    for (int flag = 0; flag < 2; flag++) {
        int is_equal = PyObject_RichCompareBool(value, flag ? Py_True : Py_False, Py_EQ);
        if (is_equal)
            return is_equal < 0 ? -1 : flag;
    }
    PyErr_Format(PyExc_TypeError, "%s=%R is neither True nor False", name, value);
    return -1;
}

static int sub_tracker_init(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"code_block_name", "code_block_attribute", "sub_tracking_file", "overwrite", "total", NULL};
    struct sub_tracker *self = sub_tracker_of(object);
    PyObject *name = NULL, *attribute = Py_None, *path = Py_None, *total = Py_None, *overwrite = Py_False;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OOOO$O:SubTracker", names, &name, &attribute, &path,
                                     &overwrite, &total))
        return -1;
    int replaces = flag_of("overwrite", overwrite);
    if (replaces < 0)
        return -1;
    if (self->open.count) {
        PyErr_SetString(PyExc_RuntimeError, "the block is running");
        return -1;
    }
    Py_CLEAR(self->name);
    Py_CLEAR(self->bytes);
    Py_CLEAR(self->path);
    self->file = NULL;
    self->process = (long)getpid();
    return set_total(self, total) < 0 ? -1 : set_name(self, name, attribute) < 0 ? -1 : set_file(self, path, replaces);
}

static PyObject *sub_tracker_file(PyObject *object, void *Py_UNUSED(unused))
{
    struct sub_tracker *self = sub_tracker_of(object);
    const char *path = self->path ? NULL : gt_block_file_path(self->file);
    if (self->path)
        return Py_NewRef(self->path);
    if (!path)
        Py_RETURN_NONE;
    return PyUnicode_DecodeFSDefault(path);
}

static PyObject *sub_tracker_name(PyObject *object, void *Py_UNUSED(unused))
{
    PyObject *name = sub_tracker_of(object)->name;
    return Py_NewRef(name ? name : Py_None);
}

static int sub_tracker_set_name(PyObject *object, PyObject *name, void *Py_UNUSED(unused))
{
    if (!name) {
        PyErr_SetString(PyExc_AttributeError, "cannot delete the name of a block");
        return -1;
    }
    return take_name(sub_tracker_of(object), Py_NewRef(name));
}

static PyObject *sub_tracker_process(PyObject *object, void *Py_UNUSED(unused))
{
    return PyLong_FromLong(sub_tracker_of(object)->process);
}

/* ---- copies and pickles use the same file, and in another process a file beside it ---- */

static const char state_key[] = "_SubTracker";

/* Includes the dict of a subclass. */
static PyObject *new_state(PyObject *object)
{
    PyObject *own = PyObject_GetAttrString(object, "__dict__");
    if (!own)
        PyErr_Clear();
    PyObject *state = own ? PyDict_Copy(own) : PyDict_New();
    Py_XDECREF(own);
    return state;
}

static PyObject *sub_tracker_getstate(PyObject *object, PyObject *Py_UNUSED(unused))
{
    struct sub_tracker *self = sub_tracker_of(object);
    if (!self->name)
        return PyErr_Format(PyExc_RuntimeError, "SubTracker.__init__ has not been called");
    const char *file = self->file ? gt_block_file_path(self->file) : NULL;
    PyObject *path = self->path ? self->path : Py_None;
    PyObject *parts = Py_BuildValue("(OlOzK)", self->name, self->process, path, file, (unsigned long long)self->total);
    PyObject *state = parts ? new_state(object) : NULL;
    if (state && PyDict_SetItemString(state, state_key, parts) < 0)
        Py_CLEAR(state);
    Py_XDECREF(parts);
    return state;
}

static PyObject *sub_tracker_reduce(PyObject *object, PyObject *Py_UNUSED(unused))
{
    PyObject *module = PyImport_ImportModule("copyreg");
    PyObject *make = module ? PyObject_GetAttrString(module, "__newobj__") : NULL;
    PyObject *state = make ? PyObject_CallMethod(object, "__getstate__", NULL) : NULL;
    PyObject *ret = state ? Py_BuildValue("O(O)O", make, (PyObject *)Py_TYPE(object), state) : NULL;
    Py_XDECREF(state);
    Py_XDECREF(make);
    Py_XDECREF(module);
    return ret;
}

/* Returns NAME-<pid>.csv for NAME.csv, for a process that does not share the file. */
static PyObject *path_beside(const char *file)
{
    char path[PATH_MAX];
    const char *suffix = strrchr(file, '.'); /* files without a suffix cannot be opened */
    snprintf(path, sizeof path, "%.*s-%ld%s", (int)(suffix - file), file, (long)getpid(), suffix);
    return PyBytes_FromString(path);
}

/* Keeps an existing file. */
static int open_again(struct sub_tracker *self, const char *file)
{
    PyObject *path = PyBytes_FromString(file);
    int status = path ? set_file(self, path, 0) : -1;
    Py_XDECREF(path);
    if (status == 0 || !PyErr_ExceptionMatches(PyExc_FileExistsError))
        return status;
    PyErr_Clear();
    path = path_beside(file);
    status = path ? set_file(self, path, 0) : -1;
    Py_XDECREF(path);
    return status;
}

static int restore_file(struct sub_tracker *self, PyObject *path, const char *file)
{
    bool is_own = path == Py_None && self->process != (long)getpid(); /* each process has its own default file */
    if (file && !is_own && open_again(self, file) < 0)
        return -1;
    Py_XDECREF(self->path);
    self->path = path == Py_None ? NULL : Py_NewRef(path);
    return 0;
}

static int restore(PyObject *object, PyObject *state)
{
    struct sub_tracker *self = sub_tracker_of(object);
    PyObject *parts = PyDict_GetItemString(state, state_key), *name, *path;
    const char *file;
    unsigned long long total = 0;
    if (!parts || self->name) {
        PyErr_SetString(PyExc_TypeError,
                        parts ? "the SubTracker is already initialized" : "the state is not from a SubTracker");
        return -1;
    }
    if (!PyArg_ParseTuple(parts, "OlOz|K", &name, &self->process, &path, &file, &total))
        return -1;
    self->total = total;
    return take_name(self, Py_NewRef(name)) < 0 ? -1 : restore_file(self, path, file);
}

static PyObject *sub_tracker_setstate(PyObject *object, PyObject *state)
{
    if (!PyDict_Check(state))
        return PyErr_Format(PyExc_TypeError, "the state of a SubTracker must be a dict, not %R", state);
    if (restore(object, state) < 0)
        return NULL;
    PyObject *own = PyObject_GetAttrString(object, "__dict__");
    if (!own) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    int status = PyDict_Update(own, state) < 0 ? -1 : PyDict_DelItemString(own, state_key);
    Py_DECREF(own);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- entering and leaving ---- */

/* The warning is per file, not per object. */
static bool was_told(const char *path)
{
    static PyObject *told;
    PyObject *text = PyUnicode_DecodeFSDefault(path ? path : "");
    if (!told)
        told = PySet_New(NULL);
    int status = text && told ? PySet_Contains(told, text) : -1;
    if (status == 0)
        status = PySet_Add(told, text) < 0 ? -1 : 0;
    Py_XDECREF(text);
    PyErr_Clear();
    return status != 0;
}

/* A full disk must not end the program, so it is one warning for each file. If a surrounding run has ended and removed
 * the files of its processes, there is no warning. Returns whether there is an exception. */
static bool raise_trouble(struct sub_tracker *self)
{
    struct gt_error error = {0};
    int status = gt_block_file_status(self->file, &error);
    if (status >= 0 || (status == -ENOENT && !self->file && folder_of_run()))
        return false;
    if (status == -ENOENT) {
        PyObject *arguments = Py_BuildValue("(iss)", ENOENT, error.text, gt_block_file_path(self->file));
        if (arguments)
            PyErr_SetObject(PyExc_FileNotFoundError, arguments);
        Py_XDECREF(arguments);
        return true;
    }
    if (was_told(gt_block_file_path(self->file)))
        return false;
    return PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "code blocks are no longer recorded: %s", error.text) < 0;
}

static PyObject *sub_tracker_enter(PyObject *object, PyObject *Py_UNUSED(unused))
{
    struct sub_tracker *self = sub_tracker_of(object);
    if (!self->bytes) {
        PyErr_SetString(PyExc_RuntimeError, "SubTracker.__init__ has not been called");
        return NULL;
    }
    struct entry *entry = entries_add(&self->open, PyEval_GetFrame(), PyThread_get_thread_ident());
    if (!entry)
        return PyErr_NoMemory();
    const char *name = PyBytes_AsString(self->bytes);
    entry->block = self->file ? gt_block_begin_in(self->file, name, self->total) : gt_block_begin_of(name, self->total);
    if (raise_trouble(self)) {
        entries_remove(&self->open, entry);
        return NULL;
    }
    return Py_NewRef(object);
}

static PyObject *sub_tracker_exit(PyObject *object, PyObject *Py_UNUSED(arguments))
{
    struct sub_tracker *self = sub_tracker_of(object);
    if (!self->open.count) {
        PyErr_SetString(PyExc_RuntimeError, "the block has not been entered");
        return NULL;
    }
    struct entry *entry = entries_find(&self->open, PyEval_GetFrame(), PyThread_get_thread_ident());
    gt_block_end(&entry->block);
    entries_remove(&self->open, entry);
    if (!self->open.count)
        Py_CLEAR(self->former);
    if (raise_trouble(self))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *sub_tracker_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *object = PyType_GenericNew(type, arguments, keywords);
    if (object)
        entries_init(&sub_tracker_of(object)->open);
    return object;
}

static void sub_tracker_free(PyObject *object)
{
    struct sub_tracker *self = sub_tracker_of(object);

    Py_XDECREF(self->name);
    Py_XDECREF(self->bytes);
    Py_XDECREF(self->former);
    Py_XDECREF(self->path);
    entries_release(&self->open);
    core_object_free(object);
}

static PyMethodDef methods[] = {
    {"__enter__", sub_tracker_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nStart a call of the block."},
    {"__exit__", sub_tracker_exit, METH_VARARGS,
     "__exit__($self, kind, exception, traceback, /)\n--\n\nStop the call of the block."},
    {"__getstate__", sub_tracker_getstate, METH_NOARGS,
     "__getstate__($self, /)\n--\n\nReturn the state for copies and pickles."},
    {"__setstate__", sub_tracker_setstate, METH_O,
     "__setstate__($self, state, /)\n--\n\nSet the state of a copy or pickle."},
    {"__reduce__", sub_tracker_reduce, METH_NOARGS,
     "__reduce__($self, /)\n--\n\nReturn the parts for copies and pickles."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"code_block_name", sub_tracker_name, sub_tracker_set_name, "Name of the block.", NULL},
    {"process_id", sub_tracker_process, NULL, "ID of the process that created the object.", NULL},
    {"sub_tracking_file", sub_tracker_file, NULL, "File that records the block.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const char documentation[] =
    "SubTracker(code_block_name=None, code_block_attribute=None, sub_tracking_file=None, overwrite=False, *, total=None)\n--\n\n"
    "Mark a block of code. Each use as a context manager is one call of the block.\n"
    "\n"
    "`SubTrackingAnalyzer` joins the calls with the tracking file of a `Tracker`. An object can be entered again before it is\n"
    "left, by recursion, threads and asyncio tasks. Copies record to the same file. If another process uses the file, an unpickled\n"
    "object records to NAME-<pid> beside it.\n"
    "\n"
    "Example:\n"
    "\n"
    "    with gpu_tracker.SubTracker(\"train\", sub_tracking_file=\"blocks.csv\"):\n"
    "        train()\n"
    "\n"
    "Args:\n"
    "    code_block_name: Name of the block. Values of other types are converted by str(). Default: \"FILE:ATTRIBUTE\" with the file that\n"
    "        creates the object, relative to the current folder.\n"
    "    code_block_attribute: Part after the colon of the default name. Default: the line number.\n"
    "    sub_tracking_file: A .csv or .sqlite file. All processes of a run share it, including forked processes and those of\n"
    "        multiprocessing. Default: <pid>.csv in the folder of the environment variable GPU_TRACKER_BLOCKS, or in the current\n"
    "        folder. If this file exists, <pid>-2.csv is used.\n"
    "    overwrite: Replace a file of an earlier run. A file of this run is never replaced.\n"
    "    total: Number of calls of this block. `gpu-tracker top` and `run --status` then show progress and remaining time. None if\n"
    "        unknown.\n"
    "\n"
    "Raises:\n"
    "    ValueError: The name of the file does not end in .csv or .sqlite, or `total` is less than 1.\n"
    "    FileExistsError: The file exists and `overwrite` is False.\n"
    "    FileNotFoundError: The file was removed (at the start or stop of a call).\n"
    "\n"
    "Attributes:\n"
    "    code_block_name: Name of the block. A new name applies to later calls.\n"
    "    process_id: ID of the process that created the object.\n"
    "    sub_tracking_file: File that records the block.\n";

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)documentation},
    {Py_tp_init, (void *)sub_tracker_init},
    {Py_tp_new, (void *)sub_tracker_new},
    {Py_tp_dealloc, (void *)sub_tracker_free},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, NULL},
};

PyType_Spec core_sub_tracker_spec = {
    .name = "gpu_tracker.sub_tracker.SubTracker",
    .basicsize = sizeof(struct sub_tracker),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};
