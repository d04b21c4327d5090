/* Starting `gpu-tracker agent` and talking with it; see cli/agent.h for the protocol. */
#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "base/system_calls.h"

enum { LARGEST_MESSAGE = 64 * 1024 * 1024 };

struct sampler {
    PyObject_HEAD int control; /* the socket, or -1 */
    int process;               /* pidfd, or -1 */
    pid_t pid;                 /* the same for kernels without pidfds; 0 if unknown */
    struct agent_message head; /* of the message that is being received */
    char *data;                /* data after the complete head */
    size_t received;           /* bytes of head and data */
};

static struct sampler *sampler_of(PyObject *self)
{
    return (struct sampler *)self;
}

/* ---- starting ---- */

/* The program gets its socket, no signal mask and no ignored signals. It closes other descriptors itself.
 * Returns 0 or a negative errno. */
static int spawn(const char *const *words, int socket)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    pid_t pid;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    int code = posix_spawn(&pid, words[0], &actions, &attributes, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    /* The process forks and ends at once. A signal handler may have waited for it already. */
    while (!code && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return -code;
}

/* `words`: program, "agent", AGENT_VERSION, the items of the caller. */
static int start(struct sampler *sampler, const char *const *words)
{
    int pair[2];
    int status = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? -errno : 0;
    if (status == 0) {
        Py_BEGIN_ALLOW_THREADS status = spawn(words, pair[1]);
        Py_END_ALLOW_THREADS close(pair[1]);
        sampler->control = pair[0];
    }
    if (status == 0)
        return 0;
    errno = -status;
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, words[0]);
    return -1;
}

static PyObject *sampler_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *program, *items;
    struct core_paths words = {0};
    if (!core_arguments(arguments, keywords, "OO!:Sampler", &program, &PyList_Type, &items))
        return NULL;
    PyObject *list = Py_BuildValue("[Oss]", program, "agent", AGENT_VERSION);
    PyObject *all = list ? PySequence_Concat(list, items) : NULL;
    PyObject *self = all && core_paths(all, &words) ? core_object(type) : NULL;
    if (self) {
        sampler_of(self)->control = sampler_of(self)->process = -1;
        if (start(sampler_of(self), words.path) < 0)
            Py_CLEAR(self);
    }
    Py_XDECREF(words.keep);
    Py_XDECREF(all);
    Py_XDECREF(list);
    return self;
}

/* ---- talking ---- */

static int64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000) + time.tv_nsec / 1000000;
}

/* Returns 1 if readable, 0 at the deadline, -1 with an exception of a signal handler. */
static int wait_readable(int fd, int64_t deadline)
{
    for (;;) {
        struct pollfd source = {fd, POLLIN, 0};
        int64_t left = deadline - now_ms();
        int ready;
        Py_BEGIN_ALLOW_THREADS ready = poll(&source, 1, left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left);
        Py_END_ALLOW_THREADS if (ready >= 0) return ready > 0;
        if (errno != EINTR || PyErr_CheckSignals() < 0)
            return PyErr_Occurred() ? -1 : 0;
    }
}

static PyObject *ready_of(struct sampler *sampler, const char *data, size_t length)
{
    uint32_t pid = 0;
    memcpy(&pid, data, length < sizeof pid ? length : sizeof pid);
    if (sampler->process < 0)
        sampler->process = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    sampler->pid = (pid_t)pid;
    return Py_BuildValue("(sI)", "ready", (unsigned)pid);
}

static PyObject *window_of(const char *data, size_t length)
{
    struct agent_window window = {NAN, NAN, NAN, {NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0}};
    if (length == sizeof window)
        memcpy(&window, data, sizeof window);
    const struct gt_energy_drawn *energy = &window.energy;
    return Py_BuildValue("(s(ddd(dddddddO)))", "window", window.gpu_ram, window.gpu_ram_peak, window.descendants_ram,
                         energy->total, energy->job, energy->other, energy->idle, energy->unattributed, energy->error,
                         energy->job_error, energy->is_estimated ? Py_True : Py_False);
}

static PyObject *state_of(const char *data, size_t length)
{
    struct agent_state state = {NAN, NAN, NAN, NAN, NAN};
    if (length == sizeof state)
        memcpy(&state, data, sizeof state);
    return Py_BuildValue("(s(ddddd))", "state", state.ram, state.cpu, state.gpu_ram, state.gpu_utilization,
                         state.processes);
}

static PyObject *error_of(const char *data, size_t length)
{
    struct gt_error error = {.code = EIO};
    if (length == sizeof error)
        memcpy(&error, data, sizeof error);
    return core_raise(-error.code, &error);
}

/* A sampler of another version sends only this sentence. */
static PyObject *refusal_of(const char *data, size_t length)
{
    struct gt_error error = {.code = EINVAL};
    snprintf(error.text, sizeof error.text, "%.*s", (int)length, data);
    return core_raise(-EINVAL, &error);
}

static PyObject *sentence_of(const char *data, size_t length)
{
    char *text = strndup(data, length);
    PyObject *ret = text ? core_shown(text) : PyErr_NoMemory();
    free(text);
    return ret;
}

static PyObject *text_of(const char *name, const char *data, size_t length)
{
    return Py_BuildValue("(sN)", name, PyUnicode_DecodeUTF8(data, (Py_ssize_t)length, "surrogateescape"));
}

static PyObject *translate(struct sampler *sampler, uint32_t kind, const char *data, size_t length)
{
    switch (kind) {
    case AGENT_REFUSAL: return refusal_of(data, length);
    case AGENT_READY: return ready_of(sampler, data, length);
    case AGENT_WINDOW: return window_of(data, length);
    case AGENT_STATE: return state_of(data, length);
    case AGENT_ERROR: return error_of(data, length);
    case AGENT_WARNING: return Py_BuildValue("(sN)", "warning", sentence_of(data, length));
    case AGENT_RECORD: return text_of("record", data, length);
    case AGENT_JSON: return text_of("json", data, length);
    case AGENT_SUMMARY: return text_of("summary", data, length);
    case AGENT_TEXT: return text_of("text", data, length);
    default: return PyErr_Format(PyExc_RuntimeError, "the sampler sent a message of unknown kind %u", kind);
    }
}

static PyObject *gone(void)
{
    PyErr_SetString(PyExc_EOFError, "the sampler has ended");
    return NULL;
}

/* Reads the received part of a message without waiting. Returns 1 if it is complete, 0 if not, -1 if the sampler has
 * ended, or -2 without memory. */
static int take_part(struct sampler *sampler)
{
    struct agent_message *head = &sampler->head;
    for (;;) {
        bool has_head = sampler->received >= sizeof *head;
        size_t whole = sizeof *head + (has_head ? head->length : 0);
        if (has_head && !sampler->data && !(sampler->data = malloc(head->length + 1)))
            return -2;
        if (has_head && sampler->received == whole)
            return 1;
        char *to = has_head ? sampler->data + sampler->received - sizeof *head : (char *)head + sampler->received;
        ssize_t got = recv(sampler->control, to, whole - sampler->received, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : -1;
        sampler->received += (size_t)got;
        if (sampler->received == sizeof *head && head->length > LARGEST_MESSAGE)
            return -1;
    }
}

/* An incomplete message is kept for the next call, because the sampler can be stopped in the middle of it. */
static PyObject *sampler_receive(PyObject *self, PyObject *arguments)
{
    struct sampler *sampler = sampler_of(self);
    double timeout;
    if (!PyArg_ParseTuple(arguments, "d:receive", &timeout))
        return NULL;
    int64_t deadline = now_ms() + (int64_t)(fmin(timeout, 1e9) * 1000);
    int status = 0;
    while (status == 0) {
        int ready = sampler->control < 0 ? 1 : wait_readable(sampler->control, deadline);
        if (ready < 0)
            return NULL;
        if (ready == 0)
            Py_RETURN_NONE;
        status = sampler->control < 0 ? -1 : take_part(sampler);
    }
    if (status < 0)
        return status == -2 ? PyErr_NoMemory() : gone();
    char *data = sampler->data;
    sampler->data = NULL;
    sampler->received = 0;
    PyObject *ret = translate(sampler, sampler->head.kind, data, sampler->head.length);
    free(data);
    return ret;
}

static PyObject *say(PyObject *self, const char *message, size_t length)
{
    struct sampler *sampler = sampler_of(self);
    if (sampler->control < 0 || send(sampler->control, message, length, MSG_NOSIGNAL) != (ssize_t)length)
        return gone();
    Py_RETURN_NONE;
}

static PyObject *request(PyObject *self, char request)
{
    return say(self, &request, 1);
}

static PyObject *sampler_stop(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return request(self, AGENT_STOP);
}

static PyObject *sampler_begin(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return request(self, AGENT_BEGIN);
}

static PyObject *sampler_own_peak(PyObject *self, PyObject *number)
{
    char message[1 + sizeof(double)] = {AGENT_OWN_PEAK};
    double bytes = PyFloat_AsDouble(number);
    if (bytes == -1 && PyErr_Occurred())
        return NULL;
    memcpy(message + 1, &bytes, sizeof bytes);
    return say(self, message, sizeof message);
}

static PyObject *sampler_next_window(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return request(self, AGENT_NEXT_WINDOW);
}

static PyObject *sampler_now(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return request(self, AGENT_NOW);
}

/* While its end of the socket is open, the sampler lives, and its PID is valid. */
static bool is_there(const struct sampler *sampler)
{
    struct pollfd source = {sampler->control, 0, 0};
    return sampler->pid > 0 && sampler->control >= 0 && poll(&source, 1, 0) == 0;
}

static PyObject *sampler_kill(PyObject *self, PyObject *Py_UNUSED(unused))
{
    const struct sampler *sampler = sampler_of(self);
    if (sampler->process >= 0)
        syscall(SYS_pidfd_send_signal, sampler->process, SIGKILL, NULL, 0);
    else if (is_there(sampler))
        kill(sampler->pid, SIGKILL);
    Py_RETURN_NONE;
}

static void close_both(struct sampler *sampler)
{
    if (sampler->control >= 0)
        close(sampler->control);
    if (sampler->process >= 0)
        close(sampler->process);
    sampler->control = sampler->process = -1;
}

static PyObject *sampler_close(PyObject *self, PyObject *Py_UNUSED(unused))
{
    close_both(sampler_of(self));
    Py_RETURN_NONE;
}

static void sampler_free(PyObject *self)
{
    close_both(sampler_of(self));
    free(sampler_of(self)->data);
    core_object_free(self);
}

static PyMethodDef methods[] = {
    {"receive", sampler_receive, METH_VARARGS,
     "receive($self, timeout, /)\n--\n\nReturn the next message as (kind, value), None after `timeout` seconds. "
     "Raise the error that the sampler reports, and EOFError if it has ended."},
    {"stop", sampler_stop, METH_NOARGS, "stop($self, /)\n--\n\nRequest the final report."},
    {"begin", sampler_begin, METH_NOARGS,
     "begin($self, /)\n--\n\nStart again after a report. The sampler must have been started with `again`."},
    {"own_peak", sampler_own_peak, METH_O,
     "own_peak($self, bytes, /)\n--\n\nSend the peak resident memory of this process during tracking."},
    {"next_window", sampler_next_window, METH_NOARGS,
     "next_window($self, /)\n--\n\nRequest the values since the last call."},
    {"now", sampler_now, METH_NOARGS, "now($self, /)\n--\n\nRequest the present values."},
    {"kill", sampler_kill, METH_NOARGS, "kill($self, /)\n--\n\nKill the process."},
    {"close", sampler_close, METH_NOARGS, "close($self, /)\n--\n\nClose the connection. The sampler then ends."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)"Sampler(program, arguments, /)\n--\n\nA sampler in another process."},
    {Py_tp_new, (void *)sampler_new},
    {Py_tp_dealloc, (void *)sampler_free},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec core_sampler_spec = {
    .name = "gpu_tracker._core.Sampler",
    .basicsize = sizeof(struct sampler),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
