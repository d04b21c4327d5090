/* Files that no format reads: what they are, and what to use instead. */
#include <fnmatch.h>
#include <string.h>

#include "trace/format.h"

#define ROCPROF "output of rocprof: `rocprofv3 --output-format pftrace` records a trace that is read"
#define MEMRAY "output of memray: `memray transform speedscope RECORDING` makes stacks that are read"
#define PPROF "a profile of pprof: open it in speedscope.app and export it there: that file is read"
#define CHAKRA \
    "an execution trace of PyTorch or Chakra: use the trace that torch.profiler exports (export_chrome_trace)"

enum { ANYWHERE = 65535 };

static const struct signature {
    const char *name;     /* a pattern of file names; NULL: any */
    const char *bytes;    /* "": none */
    size_t length, place; /* of the bytes */
    const char *about;
} signatures[] = {
#define BYTES(name, place, bytes, about)            \
    {                                               \
        name, bytes, sizeof bytes - 1, place, about \
    }
    BYTES(NULL, 0, "PERFILE2", "a recording of perf: `perf script -i FILE > FILE.txt` makes text that is read"),
    BYTES("*.nsys-rep", 0, "",
          "a report of Nsight Systems: `nsys export --type sqlite FILE` makes a database that is read"),
    BYTES("*.ncu-rep", 0, "",
          "a report of Nsight Compute, which holds counters of kernels and no timeline: `ncu --import FILE` shows it"),
    BYTES("*.tfevents.*", 0, "",
          "TensorBoard's summaries, which hold no timeline: the profiler's files lie in plugins/profile beside them"),
    BYTES("*.xplane.pb", 0, "", "a profile of XLA: use HOST.trace.json.gz, which JAX and TensorFlow write beside it"),
    BYTES("*.et", 0, "", CHAKRA),
    BYTES(NULL, ANYWHERE, "-chakra.", CHAKRA),
    BYTES("*.pb.gz", 0, "", PPROF),
    BYTES(NULL, 0, "\x0a\x04\x08\x01\x10\x02", PPROF), /* the first sample type, of texts 1 and 2 */
    BYTES(NULL, 0, "\"Kind\",\"", ROCPROF),
    BYTES(NULL, 0, "\"Domain\",\"Function\",", ROCPROF),
    BYTES(NULL, ANYWHERE, "\"rocprofiler-sdk-tool\"", ROCPROF),
    BYTES(
        NULL, ANYWHERE, "rocpd_",
        "a database of rocprofv3 (rocpd): `rocpd convert -i FILE --output-format pftrace` makes a trace that is read"),
    BYTES(NULL, 0, "memray", MEMRAY),
    BYTES("*.bin", 0, "\x04\x22\x4d\x18", MEMRAY),
    BYTES(NULL, 257, "ustar", "a tar archive: unpack it"),
    BYTES(NULL, 0, "SQLite format 3", "a SQLite database that is neither a recording nor an export of Nsight Systems"),
    BYTES(
        NULL, 0, "\x80",
        "a pickle of something else than a memory snapshot or a dump of NCCL's flight recorder; nothing of it is run"),
    BYTES(NULL, ANYWHERE, "<html", "a page, whose figures cannot be read back"),
#undef BYTES
};

static bool fits(const struct gt_trace_probe *probe, const struct signature *signature)
{
    if (signature->name && fnmatch(signature->name, probe->name, 0) != 0)
        return false;
    if (signature->place == ANYWHERE)
        return memmem(probe->head, probe->length, signature->bytes, signature->length);
    return probe->length >= signature->place + signature->length &&
           memcmp(probe->head + signature->place, signature->bytes, signature->length) == 0;
}

const char *gt_unread_about(const struct gt_trace_probe *probe)
{
    if (!probe->length)
        return probe->size ? "it is cut off before its data begin, or holds none" : "it is empty";
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (fits(probe, &signatures[i]))
            return signatures[i].about;
    return NULL;
}
