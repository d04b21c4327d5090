/* Extension module that makes functions of an unchanged Python program blocks.
 * share/gpu-tracker/python/sitecustomize.py loads it into any CPython from 3.8 on.
 * It never raises an exception into the program: an error turns it off.
 *
 * From 3.12 on, sys.monitoring asks once for each function if it is a block. In older versions, the module replaces the
 * function that evaluates frames (PEP 523) and looks up the code of each frame. Open calls are found by their frames,
 * which generators keep. */
#define Py_LIMITED_API 0x03080000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../entries.h"
#include "base/grow.h"
#include "base/map.h"
#include "hooks.h"

/* The limited API of 3.8 lacks these, but they are the same in every version. */
extern const char *PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *size);
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif

enum {
    IS_OPTIMIZED = 0x1,                 /* co_flags: functions, not bodies of modules and classes */
    IS_GENERATOR = 0x20 | 0x80 | 0x200, /* also coroutines and asynchronous generators */
    MOST_FUNCTIONS = 100000,            /* limit: a program can make new functions all the time */
    RECENT = 4096,
};

/* A code object with a known answer. The reference keeps its address from being used again. */
struct function {
    PyObject *code;
    const char *name; /* of the block, or NULL if the function is not a block */
    bool is_generator;
};

/* Python has one set of hooks, and its callbacks get no object of the module. The interpreter's lock guards it. */
static struct {
    struct function *function;
    size_t function_count, function_capacity;
    struct gt_map numbers; /* of functions, by the address of their code */
    struct entries open;
    PyObject *reader; /* of PyTorch's allocator, or NULL: see share/gpu-tracker/python/memory.py */
    PyObject *monitoring, *tool, *disable, *local_events; /* from 3.12 on */
    bool has_begun, is_off;
    /* Before 3.12: the former evaluation of frames (3.8, later versions), and addresses of code without a block. */
    PyObject *(*evaluate_of_3_8)(void *frame, int thrown);
    PyObject *(*evaluate)(void *state, void *frame, int thrown);
    bool has_inner; /* struct inner_frame, from 3.11 on */
    PyInterpreterState *interpreter;
    void (*set_evaluation)(PyInterpreterState *interpreter,
                           PyObject *(*evaluate)(void *, void *, int)); /* from 3.9 on */
    const PyObject *recent[RECENT];
} hook;

static PyObject *new_reference(PyObject *object)
{
    Py_INCREF(object);
    return object;
}

/* ---- failures ---- */

/* The run reports the failure, and the program continues. */
static void note_failure(const char *where)
{
    char line[300];
    PyObject *type = NULL, *value = NULL, *trace = NULL, *text = NULL;
    PyErr_Fetch(&type, &value, &trace);
    text = value ? PyObject_Str(value) : NULL;
    const char *cause = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    snprintf(line, sizeof line, "off %s: %s", where, cause ? cause : "it failed");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    gt_hook_note(line);
}

static void turn_off(const char *where)
{
    if (hook.is_off)
        PyErr_Clear();
    else
        note_failure(where);
    hook.is_off = true;
}

/* ---- names ---- */

/* Returns a text member in UTF-8; the caller releases *keep, which holds it. NULL without an exception if missing. */
static const char *text_of(PyObject *object, const char *member, PyObject **keep)
{
    *keep = object ? PyObject_GetAttrString(object, member) : NULL;
    const char *text = *keep && PyUnicode_Check(*keep) ? PyUnicode_AsUTF8AndSize(*keep, NULL) : NULL;
    PyErr_Clear();
    return text;
}

static const char *text_in(PyObject *globals, const char *key)
{
    PyObject *value = PyDict_GetItemString(globals, key);
    const char *text = value && PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
    PyErr_Clear();
    return text;
}

static void put(char *ret, size_t size, const char *text, size_t length)
{
    snprintf(ret, size, "%.*s", (int)(length < size ? length : size - 1), text);
}

/* "train" for "/home/me/train.py", "package" for "/home/me/package/__main__.py". */
static void put_stem(char *ret, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t length = dot && dot != name ? (size_t)(dot - name) : strlen(name);
    if (slash && length == 8 && strncmp(name, "__main__", length) == 0) {
        const char *end = slash;
        for (name = end; name > path && name[-1] != '/';)
            name--;
        length = (size_t)(end - name);
    }
    put(ret, size, name, length);
}

/* The main module gets its own name (python -m), or the name of its file. At the end of the program, only its code has
 * the name of the file. */
static void put_module(char *ret, size_t size, PyObject *globals, PyObject *code)
{
    const char *name = text_in(globals, "__name__"), *file = text_in(globals, "__file__");
    PyObject *spec = PyDict_GetItemString(globals, "__spec__"), *keep = NULL, *keep_path = NULL;
    put(ret, size, name ? name : "", name ? strlen(name) : 0);
    if (!name || (strcmp(name, "__main__") != 0 && strcmp(name, "__mp_main__") != 0))
        return;
    const char *own = spec && spec != Py_None ? text_of(spec, "name", &keep) : NULL;
    size_t length = own && strcmp(own, "__main__") != 0 ? strlen(own) : 0, tail = strlen(".__main__");
    if (length > tail && strcmp(own + length - tail, ".__main__") == 0)
        length -= tail;
    if (!file && (file = text_of(code, "co_filename", &keep_path)) && *file == '<')
        file = NULL;
    if (length)
        put(ret, size, own, length);
    else if (file)
        put_stem(ret, size, file);
    Py_XDECREF(keep);
    Py_XDECREF(keep_path);
}

/* ---- functions ---- */

static bool is_function(const void *code, uint32_t number)
{
    return hook.function[number].code == code;
}

static uint32_t key_of(const PyObject *code)
{
    return (uint32_t)((uintptr_t)code >> 4) ^ (uint32_t)((uintptr_t)code >> 36);
}

static struct function *known(const PyObject *code)
{
    uint32_t number = gt_map_find(&hook.numbers, key_of(code), is_function, code);
    return number == GT_MAP_ABSENT ? NULL : &hook.function[number];
}

static long flags_of(PyObject *code)
{
    PyObject *flags = PyObject_GetAttrString(code, "co_flags");
    long bits = flags ? PyLong_AsLong(flags) : 0;
    Py_XDECREF(flags);
    PyErr_Clear();
    return bits;
}

static struct function *keep(PyObject *code, const char *name)
{
    struct function *function = GT_GROW(&hook, function);
    if (!function)
        return NULL;
    *function = (struct function){.name = name, .is_generator = flags_of(code) & IS_GENERATOR};
    if (gt_map_add(&hook.numbers, key_of(code), (uint32_t)(hook.function_count - 1)) < 0) {
        hook.function_count--;
        return NULL;
    }
    function->code = new_reference(code);
    return function;
}

/* Reading an attribute of an object of a static type runs no code of the program. */
static PyObject *attribute_of_builtin(PyObject *object, const char *name)
{
    bool is_builtin = object && !(PyType_GetFlags(Py_TYPE(object)) & Py_TPFLAGS_HEAPTYPE);
    PyObject *found = is_builtin ? PyObject_GetAttrString(object, name) : NULL;
    PyErr_Clear();
    return found;
}

/* Returns the name of a function, class method or property of the class with this code; otherwise NULL. */
static PyObject *name_in_class(PyObject *kind, PyObject *own_name, PyObject *code)
{
    PyObject *members = PyObject_GetAttrString(kind, "__dict__");
    PyObject *member = members ? PyObject_GetItem(members, own_name) : NULL, *function, *its_code, *name;
    if (!(function = attribute_of_builtin(member, "__func__")) && !(function = attribute_of_builtin(member, "fget")))
        function = member ? new_reference(member) : NULL;
    its_code = attribute_of_builtin(function, "__code__");
    name = its_code == code ? attribute_of_builtin(function, "__qualname__") : NULL;
    Py_XDECREF(members);
    Py_XDECREF(member);
    Py_XDECREF(function);
    Py_XDECREF(its_code);
    PyErr_Clear();
    return name;
}

static PyObject *first_argument(PyObject *code, PyObject *frame)
{
    PyObject *count = PyObject_GetAttrString(code, "co_argcount"), *names = PyObject_GetAttrString(code, "co_varnames");
    bool has = frame && count && names && PyLong_AsLong(count) > 0;
    PyObject *variables = has ? PyObject_GetAttrString(frame, "f_locals") : NULL;
    PyObject *first = variables ? PyObject_GetItem(variables, PyTuple_GetItem(names, 0)) : NULL;
    Py_XDECREF(count);
    Py_XDECREF(names);
    Py_XDECREF(variables);
    PyErr_Clear();
    return first;
}

/* Before 3.11, code has no qualified name. The first argument finds the class of a method; other functions have only
 * their own name. */
static PyObject *qualified_name(PyObject *code, PyObject *frame)
{
    PyObject *name = PyObject_GetAttrString(code, "co_qualname");
    if (name)
        return name;
    PyErr_Clear();
    PyObject *own_name = PyObject_GetAttrString(code, "co_name"), *first = first_argument(code, frame);
    PyObject *kind = first && !PyType_Check(first) ? (PyObject *)Py_TYPE(first) : first;
    PyObject *kinds = kind ? PyObject_GetAttrString(kind, "__mro__") : NULL;
    for (Py_ssize_t i = 0; kinds && PyTuple_Check(kinds) && i < PyTuple_Size(kinds) && !name; i++)
        name = name_in_class(PyTuple_GetItem(kinds, i), own_name, code);
    Py_XDECREF(kinds);
    Py_XDECREF(first);
    if (!name)
        return own_name;
    Py_XDECREF(own_name);
    return name;
}

/* The name of the block, or NULL. */
static const char *name_of(PyObject *code, PyObject *globals, PyObject *frame)
{
    char module[1001] = "";
    if (!(flags_of(code) & IS_OPTIMIZED))
        return NULL;
    PyObject *qualified = qualified_name(code, frame);
    const char *text = qualified && PyUnicode_Check(qualified) ? PyUnicode_AsUTF8AndSize(qualified, NULL) : NULL;
    const char *name = NULL;
    PyErr_Clear();
    if (text && globals && PyDict_Check(globals)) {
        put_module(module, sizeof module, globals, code);
        name = gt_hook_function(module, text);
    }
    Py_XDECREF(qualified);
    return name;
}

/* ---- memory at borders ---- */

/* (allocated, reserved, peak) in bytes. */
static bool read_memory(long long figures[3])
{
    PyObject *read = hook.reader ? PyObject_CallFunctionObjArgs(hook.reader, NULL) : NULL;
    bool is_read = read && PyArg_ParseTuple(read, "LLL", &figures[0], &figures[1], &figures[2]);
    Py_XDECREF(read);
    if (hook.reader && !is_read && PyErr_ExceptionMatches(PyExc_RecursionError)) {
        PyErr_Clear(); /* the program is at its recursion limit: only this border is unknown */
    } else if (hook.reader && !is_read) {
        Py_CLEAR(hook.reader);
        note_failure("PyTorch's allocator");
    }
    return is_read;
}

static void *begin_memory(const char *name)
{
    long long figures[3];
    return read_memory(figures) ? gt_hook_memory_begin(name, figures[0], figures[1], figures[2]) : NULL;
}

static void end_memory(void *memory)
{
    long long figures[3];
    if (memory && read_memory(figures))
        gt_hook_memory_end(memory, figures[0], figures[1], figures[2]);
    else
        free(memory);
}

/* ---- calls ---- */

static void begin_call(const struct function *function, const void *frame)
{
    struct entry *entry = hook.open.count ? entries_find_frame(&hook.open, frame) : NULL;
    if (entry) { /* of a deleted generator, whose frame address is used again */
        free(entry->memory);
        entries_remove(&hook.open, entry);
    }
    void *memory = hook.reader ? begin_memory(function->name) : NULL;
    entry = entries_add(&hook.open, frame, 0);
    if (entry) {
        entry->memory = memory;
        entry->block = gt_hook_begin(function->name);
    }
}

static void end_call(const void *frame)
{
    struct entry *entry = entries_find_frame(&hook.open, frame);
    if (!entry)
        return;
    void *memory = entry->memory;
    gt_hook_end(&entry->block);
    entries_remove(&hook.open, entry);
    if (memory)
        end_memory(memory);
}

/* ---- sys.monitoring ---- */

static PyObject *disable(void)
{
    return new_reference(hook.disable);
}

/* PY_START: (code, offset). If the function is a block, events of its end are enabled. */
static PyObject *on_start(PyObject *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count)
{
    if (hook.is_off || count < 1)
        return disable();
    PyObject *code = arguments[0];
    const struct function *function = known(code);
    if (!function) {
        const char *name = name_of(code, PyEval_GetGlobals(), NULL);
        if (!name)
            return disable();
        PyObject *done = PyObject_CallMethod(hook.monitoring, "set_local_events", "OOO", hook.tool, code,
                                             hook.local_events);
        Py_XDECREF(done);
        if (!done || !(function = keep(code, name))) {
            turn_off("sys.monitoring.set_local_events");
            return disable();
        }
    }
    begin_call(function, PyEval_GetFrame());
    Py_RETURN_NONE;
}

/* PY_RETURN of blocks, and PY_UNWIND of everything. */
static PyObject *on_end(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self, (void)arguments, (void)count;
    if (hook.open.count)
        end_call(PyEval_GetFrame());
    Py_RETURN_NONE;
}

static PyMethodDef start_method = {"on_start", (PyCFunction)(void (*)(void))on_start, METH_FASTCALL, NULL};
static PyMethodDef end_method = {"on_end", (PyCFunction)(void (*)(void))on_end, METH_FASTCALL, NULL};

static long event(PyObject *events, const char *name)
{
    PyObject *number = PyObject_GetAttrString(events, name);
    long value = number ? PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    return value;
}

static int call_back(long number, PyMethodDef *method)
{
    PyObject *function = PyCFunction_New(method, NULL);
    PyObject *former = function ? PyObject_CallMethod(hook.monitoring, "register_callback", "OlO", hook.tool, number,
                                                      function)
                                : NULL;
    Py_XDECREF(function);
    Py_XDECREF(former);
    return former ? 0 : -1;
}

/* Takes the first free number of the two unassigned tools. */
static int take_tool(void)
{
    for (long number = 3; number <= 4; number++) {
        PyObject *taken = PyObject_CallMethod(hook.monitoring, "use_tool_id", "ls", number, "gpu-tracker");
        Py_XDECREF(taken);
        if (taken)
            return (hook.tool = PyLong_FromLong(number)) ? 0 : -1;
        if (number == 3)
            PyErr_Clear();
    }
    return -1;
}

static int begin_monitoring(void)
{
    PyObject *events = PyObject_GetAttrString(hook.monitoring, "events");
    if (!events || !(hook.disable = PyObject_GetAttrString(hook.monitoring, "DISABLE")) || take_tool() < 0) {
        Py_XDECREF(events);
        return -1;
    }
    long start = event(events, "PY_START"), end = event(events, "PY_RETURN"), unwind = event(events, "PY_UNWIND");
    Py_DECREF(events);
    hook.local_events = PyLong_FromLong(end);
    if (PyErr_Occurred() || call_back(start, &start_method) < 0 || call_back(end, &end_method) < 0 ||
        call_back(unwind, &end_method) < 0)
        return -1;
    PyObject *done = PyObject_CallMethod(hook.monitoring, "set_events", "Ol", hook.tool, start | unwind);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* ---- frame evaluation (PEP 523), before 3.12 ---- */

/* First members of an evaluated frame: an object before 3.11, and in 3.11 the structure to which the object refers. */
struct outer_frame {
    PyVarObject head;
    void *back;
    PyObject *code, *builtins, *globals;
};
struct inner_frame {
    PyObject *function, *globals, *builtins, *locals, *code, *object;
    void *previous;
    const unsigned char *instruction; /* executed last */
    int stack_top;
    bool is_entry;
    char owner;
};
/* The object of 3.11. */
struct frame_object {
    PyObject head;
    void *back;
    struct inner_frame *inner;
};

/* Opcodes up to 3.11; the last one exists only in 3.11. */
enum { YIELD_FROM = 72, YIELD_VALUE = 86, RETURN_GENERATOR = 75 };
enum { OWNED_BY_GENERATOR = 1 };

static PyObject *code_of(const void *frame)
{
    return hook.has_inner ? ((const struct inner_frame *)frame)->code : ((const struct outer_frame *)frame)->code;
}

/* Returns whether a call continues a generator, or whether a generator continues after this end. Before 3.11,
 * YIELD_FROM is executed again after each step. */
static bool goes_on(void *frame, PyObject *code, bool is_call)
{
    const struct inner_frame *inner = frame;
    if (hook.has_inner)
        return is_call ? inner->owner != OWNED_BY_GENERATOR || *inner->instruction != RETURN_GENERATOR
                       : *inner->instruction == YIELD_VALUE;
    PyObject *last = PyObject_GetAttrString(frame, "f_lasti"), *bytes = PyObject_GetAttrString(code, "co_code");
    Py_ssize_t at = last ? PyLong_AsSsize_t(last) : -1, size = bytes && PyBytes_Check(bytes) ? PyBytes_Size(bytes) : 0;
    const char *place = at >= 0 && at + 1 < size ? PyBytes_AsString(bytes) + at : NULL;
    bool does = place && (is_call || place[0] == YIELD_VALUE || (at + 2 < size && place[2] == YIELD_FROM));
    Py_XDECREF(last);
    Py_XDECREF(bytes);
    PyErr_Clear();
    return does;
}

static const struct function *look_up(void *frame, PyObject *code)
{
    PyObject *type, *value, *trace;
    if (hook.function_count >= MOST_FUNCTIONS)
        return NULL;
    PyErr_Fetch(&type, &value, &trace); /* the exception that is thrown into a generator */
    PyObject *globals = hook.has_inner ? ((struct inner_frame *)frame)->globals
                                       : ((struct outer_frame *)frame)->globals;
    const struct function *function = keep(code, name_of(code, globals, hook.has_inner ? NULL : frame));
    if (!function)
        turn_off("frame evaluation");
    PyErr_Restore(type, value, trace);
    return function;
}

/* In 3.11, only this hook makes calls between Python functions use the C stack. */
static bool is_stack_short(void)
{
    static _Thread_local __attribute__((tls_model("initial-exec"))) uintptr_t lowest;
    pthread_attr_t attributes;
    void *begin;
    size_t size;
    if (!lowest && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        lowest = pthread_attr_getstack(&attributes, &begin, &size) == 0 ? (uintptr_t)begin + size / 4 : 1;
        pthread_attr_destroy(&attributes);
    }
    return (uintptr_t)__builtin_frame_address(0) < lowest;
}

/* Returns the function of the frame if it is a block, otherwise NULL. Runs for each call and each generator step. */
static inline const struct function *block_of(void *frame)
{
    PyObject *code = code_of(frame);
    size_t place = ((uintptr_t)code >> 4 ^ (uintptr_t)code >> 16) % RECENT;
    if (hook.has_inner && !hook.is_off && is_stack_short()) {
        gt_hook_note("off its calls are nested too deep for the stack");
        hook.is_off = true;
        hook.set_evaluation(hook.interpreter, hook.evaluate);
    }
    if (hook.recent[place] == code || hook.is_off)
        return NULL;
    const struct function *function = known(code);
    if (!function && !(function = look_up(frame, code)))
        return NULL;
    if (function->name)
        return function;
    hook.recent[place] = code;
    return NULL;
}

static PyObject *evaluate_block(const struct function *function, void *state, void *frame, int thrown)
{
    PyObject *type, *value, *trace, *code = function->code; /* functions may move */
    bool is_generator = function->is_generator;
    PyErr_Fetch(&type, &value, &trace);
    if (!is_generator || !goes_on(frame, code, true))
        begin_call(function, frame);
    PyErr_Restore(type, value, trace);
    PyObject *result = state ? hook.evaluate(state, frame, thrown) : hook.evaluate_of_3_8(frame, thrown);
    PyErr_Fetch(&type, &value, &trace);
    if (hook.open.count && (!is_generator || !result || !goes_on(frame, code, false)))
        end_call(frame);
    PyErr_Restore(type, value, trace);
    return result;
}

static PyObject *evaluate(void *state, void *frame, int thrown)
{
    const struct function *function = block_of(frame);
    return function ? evaluate_block(function, state, frame, thrown) : hook.evaluate(state, frame, thrown);
}

static PyObject *evaluate_of_3_8(void *frame, int thrown)
{
    const struct function *function = block_of(frame);
    return function ? evaluate_block(function, NULL, frame, thrown) : hook.evaluate_of_3_8(frame, thrown);
}

/* 3.8 has no function that sets the evaluation. The member is found in the interpreter by its value; 2 KB of other
 * members follow it. */
static int begin_in_3_8(void *usual)
{
    PyObject *(*own)(void *, int) = evaluate_of_3_8;
    void **place = (void **)hook.interpreter, **end = place + 200;
    while (place < end && (!usual || *place != usual))
        place++;
    if (place == end)
        return -1;
    memcpy(&hook.evaluate_of_3_8, place, sizeof *place);
    memcpy(place, &own, sizeof own);
    return 0;
}

/* Checks with the running frame whether frames have the layout above. */
static bool has_known_frames(int minor)
{
    PyObject *frame = (PyObject *)PyEval_GetFrame(), *code = frame ? PyObject_GetAttrString(frame, "f_code") : NULL;
    hook.has_inner = minor >= 11;
    bool has = code && code_of(hook.has_inner ? (void *)((struct frame_object *)frame)->inner : frame) == code;
    Py_XDECREF(code);
    return has;
}

static int begin_evaluating(void)
{
    PyInterpreterState *(*interpreter)(void);
    PyObject *(*(*get)(PyInterpreterState *))(void *, void *, int);
    int minor = 0;
    void *symbols[] = {gt_hook_symbol("PyInterpreterState_Main"),
                       gt_hook_symbol("_PyInterpreterState_GetEvalFrameFunc"),
                       gt_hook_symbol("_PyInterpreterState_SetEvalFrameFunc")};
    memcpy(&interpreter, &symbols[0], sizeof interpreter);
    memcpy(&get, &symbols[1], sizeof get);
    memcpy(&hook.set_evaluation, &symbols[2], sizeof hook.set_evaluation);
    bool is_known = sscanf(Py_GetVersion(), "3.%d", &minor) == 1 && has_known_frames(minor) && interpreter;
    if (is_known)
        hook.interpreter = interpreter();
    if (is_known && minor > 8 && get && hook.set_evaluation) {
        hook.evaluate = get(hook.interpreter);
        hook.set_evaluation(hook.interpreter, evaluate);
        return 0;
    }
    if (is_known && minor == 8 && begin_in_3_8(gt_hook_symbol("_PyEval_EvalFrameDefault")) == 0)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "this build of Python is not known");
    return -1;
}

/* ---- the module ---- */

/* start(patterns): makes functions blocks. */
static PyObject *start(PyObject *Py_UNUSED(self), PyObject *patterns)
{
    const char *text = PyUnicode_AsUTF8AndSize(patterns, NULL);
    if (!text)
        return NULL;
    if (hook.has_begun ||
        gt_hook_patterns(text) < 1) /* subinterpreters have their own objects, and their calls are not measured */
        Py_RETURN_NONE;
    hook.has_begun = true;
    entries_init(&hook.open);
    hook.monitoring = PySys_GetObject("monitoring"); /* borrowed from sys, which stays */
    if ((hook.monitoring ? begin_monitoring() : begin_evaluating()) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *note(PyObject *Py_UNUSED(self), PyObject *line)
{
    const char *text = PyUnicode_AsUTF8AndSize(line, NULL);
    if (!text)
        return NULL;
    gt_hook_note(text);
    Py_RETURN_NONE;
}

/* memory(reader): reads the memory of allocators at borders. */
static PyObject *memory(PyObject *Py_UNUSED(self), PyObject *reader)
{
    if (!hook.reader && !hook.has_begun)
        hook.reader = new_reference(reader);
    Py_RETURN_NONE;
}

/* enter(name): returns the argument of leave. */
static PyObject *enter(PyObject *Py_UNUSED(self), PyObject *name)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    const char *kept = text ? gt_hook_name(text) : NULL;
    if (!kept) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    if (!hook.reader)
        return PyLong_FromVoidPtr(gt_hook_enter(kept));
    void *memory = begin_memory(kept);
    return Py_BuildValue("(NN)", PyLong_FromVoidPtr(gt_hook_enter(kept)), PyLong_FromVoidPtr(memory));
}

static PyObject *leave(PyObject *Py_UNUSED(self), PyObject *call)
{
    bool has_memory = PyTuple_Check(call);
    if (call != Py_None)
        gt_hook_leave(PyLong_AsVoidPtr(has_memory ? PyTuple_GetItem(call, 0) : call));
    void *begun = has_memory ? PyLong_AsVoidPtr(PyTuple_GetItem(call, 1)) : NULL;
    if (begun)
        end_memory(begun);
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", start, METH_O, NULL}, {"note", note, METH_O, NULL},     {"enter", enter, METH_O, NULL},
    {"leave", leave, METH_O, NULL}, {"memory", memory, METH_O, NULL}, {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "gpu_tracker_hook", .m_methods = methods,
                                        .m_slots = slots};

PyMODINIT_FUNC PyInit_gpu_tracker_hook(void)
{
    return PyModuleDef_Init(&definition);
}
