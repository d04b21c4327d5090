/* Files that no format reads: what they are, and what to use instead. */
#include <fnmatch.h>
#include <string.h>

#include "trace/format.h"

struct signature {
    const char *bytes; /* NULL: the name tells */
    size_t place, length;
    const char *name; /* a pattern of file names; NULL: the bytes tell; else both do, where there are bytes */
    const char *about;
};
#define BYTES(place, bytes) bytes, place, sizeof(bytes) - 1, NULL
#define NAME(pattern) NULL, 0, 0, pattern
#define UTF16 "text in UTF-16: `iconv -f UTF-16 -t UTF-8 FILE > FILE.utf8` makes text that is read"
#define SPEEDSCOPE "open it in speedscope.app and export it there: that file is read"
#define NSYS "a report of Nsight Systems: `nsys export --type sqlite FILE` makes a database that is read"
#define ROCPROF "output of rocprof: `rocprofv3 --output-format pftrace` records a trace that is read"
#define MEMRAY "output of memray: `memray transform speedscope RECORDING` makes stacks that are read"
#define PPROF "a profile of pprof: " SPEEDSCOPE
#define CHAKRA \
    "an execution trace of PyTorch or Chakra: use the trace that torch.profiler exports (export_chrome_trace)"

static const struct signature signatures[] = {
    {BYTES(0, "PERFILE2"), "a recording of perf: `perf script -i FILE > FILE.txt` makes text that is read"},
    {NAME("*.nsys-rep"), NSYS},
    {NAME("*.qdrep"), NSYS},
    {NAME("*.ncu-rep"),
     "a report of Nsight Compute, which holds counters of kernels and no timeline: `ncu --import FILE` shows it"},
    {NAME("*.tfevents.*"),
     "TensorBoard's summaries, which hold no timeline: the profiler's files lie in plugins/profile beside them"},
    {NAME("*.xplane.pb"), "a profile of XLA: use HOST.trace.json.gz, which JAX and TensorFlow write beside it"},
    {NAME("*.cpuprofile"), "a CPU profile of Chrome or Node.js: " SPEEDSCOPE},
    {NAME("*.heapprofile"), "a heap profile of Chrome or Node.js: " SPEEDSCOPE},
    {NAME("heaptrack.*"),
     "a recording of heaptrack: `heaptrack_print -f FILE -F FILE.collapsed` makes stacks that are read"},
    {BYTES(0, "FLR\0"),
     "a recording of Java's Flight Recorder: `jfrconv -o collapsed FILE FILE.collapsed` (async-profiler) makes stacks "
     "that are read"},
    {BYTES(0, "# callgrind format"), "a profile of callgrind: " SPEEDSCOPE},
    {BYTES(0, "version: 1\ncreator: callgrind"), "a profile of callgrind: " SPEEDSCOPE},
    {BYTES(0, "desc: "), "heap snapshots of massif, which no tool makes stacks of: `ms_print FILE` shows them"},
    {BYTES(0, "gmon"), "a profile of gprof, which no tool makes stacks of: `gprof PROGRAM FILE` shows it"},
    {BYTES(0, "--- symbol\n"),
     "a profile of gperftools with its symbols: `google-pprof --collapsed FILE > FILE.collapsed` makes stacks that are "
     "read"},
    {BYTES(0, "[["), "lists of numbers, as torch.profiler's memory timeline (export_memory_timeline): the trace with "
                     "profile_memory=True (export_chrome_trace) has the allocations"},
    {NAME("*.et"), CHAKRA},
    {NAME("*.pprof"), PPROF},
    {NAME("*.pb.gz"), PPROF},
    {BYTES(0, "\x0a\x04\x08\x01\x10\x02"), PPROF}, /* the first sample type, of texts 1 and 2 */
    {BYTES(0, "\"Kind\",\""), ROCPROF},
    {BYTES(0, "\"Domain\",\"Function\","), ROCPROF},
    {BYTES(0, "allocator,num_allocations,size,"), MEMRAY},
    {BYTES(0, "memray"), MEMRAY},
    {"\x04\x22\x4d\x18", 0, 4, "*.bin", MEMRAY},
    {NAME("*.pyisession"),
     "a session of pyinstrument: `pyinstrument --load FILE -r json -o FILE.json` makes a profile that is read"},
    {BYTES(0, "TACH"),
     "a recording of Python's sampling profiler: `python -m profiling.sampling replay --collapsed FILE` makes "
     "stacks that are read"},
    {BYTES(0, "\xff\xfe"), UTF16},
    {BYTES(0, "\xfe\xff"), UTF16},
    {BYTES(257, "ustar"), "a tar archive: unpack it"},
    {BYTES(0, "\x04\x22\x4d\x18"), "compressed by lz4: unpack it (lz4 -d)"},
    {BYTES(0, "\x89HDF\r\n\x1a\n"), "an HDF5 file, which holds arrays and no timeline"},
    {BYTES(0, "ARROW1"), "an Arrow file: traces are read from the files that it was made of"},
    {BYTES(0, "SQLite format 3"), "a SQLite database that is neither a recording nor an export of Nsight Systems"},
};

/* JSON and text are known by words near their begin. */
static const struct {
    const char *word, *other, *about; /* both occur; `other` may be NULL */
} words[] = {
    {"\"nodes\"", "\"schema\"", CHAKRA},
    {"\"rocprofiler-sdk-tool\"", NULL, ROCPROF},
    {"\"total_bytes_allocated\"", "\"allocation_size_histogram\"", MEMRAY},
    {"\"costs\"", "\"callchain\"", MEMRAY},
    {"\"stackTable\"", "\"threads\"",
     "a profile for profiler.firefox.com: export it from there, or record collapsed stacks or "
     "speedscope JSON"},
    {"\"elapsed_time_sec\"", "\"max_footprint_mb\"",
     "a profile of scalene, which has figures of lines and no stacks: py-spy records stacks that are read"},
    {"\"linux-perf-json-version\"", NULL,
     "a recording of perf as JSON: `perf script -i perf.data > FILE.txt` makes text that is read"},
    {"\"callFrame\"", "\"timeDeltas\"", "a CPU profile of Chrome or Node.js: " SPEEDSCOPE},
    {"<html", "memray", MEMRAY},
    {"<html", NULL, "a page, whose figures cannot be read back"},
    {"<svg", NULL, "a picture, whose figures cannot be read back: record collapsed stacks or speedscope JSON"},
};

static bool fits(const struct gt_trace_probe *probe, const struct signature *signature)
{
    if (signature->name && fnmatch(signature->name, probe->name, 0) != 0)
        return false;
    return !signature->bytes || (probe->length >= signature->place + signature->length &&
                                 memcmp(probe->head + signature->place, signature->bytes, signature->length) == 0);
}

static const char *about_text(const struct gt_trace_probe *probe)
{
    char first = *(probe->head + strspn(probe->head, " \t\r\n"));
    if (first != '{' && first != '<' && first != '[')
        return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(probe->head, words[i].word) && (!words[i].other || strstr(probe->head, words[i].other)))
            return words[i].about;
    return NULL;
}

/* Known by words within them. */
static const char *about_binary(const struct gt_trace_probe *probe)
{
    if (memcmp(probe->head, "SQLite format 3", probe->length < 15 ? probe->length : 15) == 0 &&
        memmem(probe->head, probe->length, "rocpd_", 6))
        return "a database of rocprofv3 (rocpd): `rocpd convert -i FILE --output-format pftrace` makes a trace that is read";
    return NULL;
}

const char *gt_unread_about(const struct gt_trace_probe *probe)
{
    if (!probe->length)
        return probe->size ? "it is cut off before its data begin, or holds none" : "it is empty";
    const char *about = about_binary(probe);
    if (about)
        return about;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (fits(probe, &signatures[i]))
            return signatures[i].about;
    if (probe->length > 2 && (unsigned char)probe->head[0] == 0x80 && probe->head[1] >= 2 && probe->head[1] <= 5)
        return "a pickle of something else than a memory snapshot or a dump of NCCL's flight recorder; nothing of it is run";
    return about_text(probe);
}
