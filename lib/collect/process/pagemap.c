#include "collect/process/pagemap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/process/process_file.h"

/* ---- The set of page frames --------------------------------------------------------------------------------------- */

/* 2^40 frames of 4 KiB are 4 PiB, the most that x86-64 and arm64 can address. Frames of shared libraries lie scattered: small blocks,
 * of a third of a cache line, touch few pages for them. */
enum { FRAME_BITS = 40, BLOCK_BITS = 6, FRAMES_PER_BYTE = 4, FIRST_SIZE = 512 };

struct gt_pagemap_block {
    uint64_t number; /* of the block, and one; 0: unused */
    uint8_t marks[(1 << BLOCK_BITS) / FRAMES_PER_BYTE];
};

static struct gt_pagemap_block *find_block(const struct gt_pagemap_set *set, uint64_t number)
{
    size_t at = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20);
    for (;; at++) {
        struct gt_pagemap_block *block = &set->block[at & (set->size - 1)];
        if (!block->number || block->number == number)
            return block;
    }
}

static int grow_set(struct gt_pagemap_set *set)
{
    struct gt_pagemap_set larger = {.size = set->size ? set->size * 2 : FIRST_SIZE, .count = set->count};
    void *block = mmap(NULL, larger.size * sizeof *set->block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);
    if (block == MAP_FAILED)
        return -ENOMEM;
    larger.block = block;
    for (size_t i = 0; i < set->size; i++)
        if (set->block[i].number)
            *find_block(&larger, set->block[i].number) = set->block[i];
    gt_pagemap_set_clear(set);
    *set = larger;
    return 0;
}

int gt_pagemap_set_add(struct gt_pagemap_set *set, uint64_t frame, enum gt_pagemap_mark mark)
{
    uint64_t number = (frame >> BLOCK_BITS) + 1;
    if (frame >> FRAME_BITS)
        return -ERANGE;
    if (set->count >= set->size / 4 * 3 && grow_set(set) < 0)
        return -ENOMEM;
    struct gt_pagemap_block *block = find_block(set, number);
    set->count += block->number == 0;
    block->number = number;
    uint8_t *marks = &block->marks[(frame & ((1 << BLOCK_BITS) - 1)) / FRAMES_PER_BYTE];
    unsigned shift = 2 * (frame % FRAMES_PER_BYTE);
    int before = *marks >> shift & 3;
    *marks |= (uint8_t)(mark << shift);
    return before;
}

void gt_pagemap_set_clear(struct gt_pagemap_set *set)
{
    if (set->block)
        munmap(set->block, set->size * sizeof *set->block);
    *set = (struct gt_pagemap_set){0};
}

#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define FILE_OR_SHARED (UINT64_C(1) << 61)
#define EXCLUSIVE (UINT64_C(1) << 56)
#define FRAME ((UINT64_C(1) << 55) - 1)

/* struct pm_scan_arg and struct page_region of <linux/fs.h>, which older headers lack. */
struct scan_region {
    uint64_t start, end, categories;
};

struct scan {
    uint64_t size, flags, start, end, walk_end, regions, region_count, page_limit;
    uint64_t inverted, all_of, any_of, returned;
};

#define SCAN _IOWR('f', 16, struct scan)
/* A scan holds the lock of the address space, for as long as 8192 pages take: some 50 us. Reading pagemap holds it for 512 at a time. */
enum { SCAN_PRESENT = 1 << 3, SCAN_SWAPPED = 1 << 4, REGIONS = 128, PAGES_A_SCAN = 8192 };

/* When the process maps memory itself, whoever reads its page tables is in its way: then each piece is followed by a rest. */
static const int64_t PIECE_NS = 2000000, REST_NS = 10000000;

/* Small mappings lie side by side: so many entries are read at once. */
enum { READ_AHEAD = 512 };

struct mapping {
    uint64_t start, end;
    bool is_shared;  /* MAP_SHARED */
    bool is_special; /* pages the kernel does not count as resident */
};

struct pass {
    struct gt_pagemap_walk *walk;
    int pagemap;
    enum gt_pagemap_mark mark;
    uint64_t read_at, read_count; /* the entries in `walk` begin with that of this address */
    long rests;
    int64_t rested_ns;
    uint64_t private_pages, anonymous_pages, file_pages, shared_pages, side_pages, job_pages, new_files, swapped_pages;
};

/* maps: "START-END PERMISSIONS OFFSET DEVICE INODE   NAME"; smaps has the same line before each mapping's figures. */
static bool parse_mapping(const char *line, struct mapping *ret)
{
    char *rest;
    ret->start = strtoull(line, &rest, 16);
    if (rest == line || *rest != '-')
        return false;
    ret->end = strtoull(rest + 1, &rest, 16);
    if (*rest != ' ' || strlen(rest) < 5)
        return false;
    ret->is_shared = rest[4] == 's';
    ret->is_special = strstr(rest, " [vvar") || strstr(rest, " [vsyscall]");
    return ret->end > ret->start;
}

static bool is_zero_page(const struct gt_pagemap_walk *walk, uint64_t frame)
{
    return (frame == walk->zero_frame && frame) || frame - walk->huge_zero_frame < walk->huge_zero_count;
}

static int count_shared(struct pass *pass, uint64_t entry)
{
    int before = gt_pagemap_set_add(&pass->walk->set, entry & FRAME, pass->mark);
    if (before == -ENOMEM)
        return before;
    pass->shared_pages++;
    pass->side_pages += before < 0 || !(before & (int)pass->mark);
    pass->job_pages += before <= 0;
    pass->new_files += before <= 0 && entry & FILE_OR_SHARED;
    return 0;
}

/* A page of a shared mapping that one process has may be another's as well before that one is read: it is counted by its frame.
 *
 * A page that a driver mapped without a struct page has neither of the two flags; so in a shared mapping, whose ordinary
 * pages all carry FILE_OR_SHARED, one without it is not memory of the process. In a private one it is anonymous. */
static int count_entries(struct pass *pass, const struct mapping *mapping, const uint64_t *entry, size_t count,
                         size_t *ret_used)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(entry[i] & (PRESENT | SWAPPED)))
            continue;
        used++;
        if (entry[i] & SWAPPED) {
            pass->swapped_pages++;
        } else if (entry[i] & EXCLUSIVE && !mapping->is_shared) {
            pass->private_pages++;
            pass->anonymous_pages += !(entry[i] & FILE_OR_SHARED);
            pass->file_pages += !!(entry[i] & FILE_OR_SHARED);
            pass->new_files += !!(entry[i] & FILE_OR_SHARED);
        } else if (((entry[i] & FILE_OR_SHARED) || !mapping->is_shared) &&
                   !is_zero_page(pass->walk, entry[i] & FRAME)) {
            int result = count_shared(pass, entry[i]);
            if (result < 0)
                return result;
            pass->file_pages += !!(entry[i] & FILE_OR_SHARED);
        }
    }
    *ret_used = used;
    return 0;
}

static int64_t now_ns(void)
{
    return gt_clock_monotonic(&gt_clock_system);
}

long gt_pagemap_walk_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) < 0 ? 0 : usage.ru_nvcsw;
}

static void begin_piece(struct gt_pagemap_walk *walk)
{
    walk->piece_ns = now_ns();
    walk->switches = gt_pagemap_walk_switches();
}

/* Before the lock of the address space is asked for again. */
static void rest_if_due(struct pass *pass)
{
    int64_t now = now_ns();
    if (now - pass->walk->piece_ns < PIECE_NS)
        return;
    if (gt_pagemap_walk_switches() > pass->walk->switches) {
        nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
        pass->rests++;
        pass->rested_ns += now_ns() - now;
    }
    begin_piece(pass->walk);
}

/* The entries from `address` on, at most `wanted`; how many, or negative errno. -ESRCH: it has exited or executed another program. */
static ssize_t read_entries(struct pass *pass, uint64_t address, uint64_t wanted, const uint64_t **ret)
{
    struct gt_pagemap_walk *walk = pass->walk;
    uint64_t at = (address - pass->read_at) / walk->page_size;
    if (address < pass->read_at || at >= pass->read_count) {
        uint64_t count = wanted > GT_PAGEMAP_ENTRIES ? GT_PAGEMAP_ENTRIES : wanted > READ_AHEAD ? wanted : READ_AHEAD;
        ssize_t got;
        rest_if_due(pass);
        do
            got = pread(pass->pagemap, walk->entry, count * sizeof *walk->entry,
                        (off_t)(address / walk->page_size * sizeof *walk->entry));
        while (got < 0 && errno == EINTR);
        at = 0;
        pass->read_at = address;
        pass->read_count = got < 0 ? 0 : (uint64_t)got / sizeof *walk->entry;
        if (!pass->read_count)
            return got < 0 ? -errno : -ESRCH;
    }
    *ret = walk->entry + at;
    return (ssize_t)(wanted < pass->read_count - at ? wanted : pass->read_count - at);
}

/* Count the entries from `*address` on, one buffer or up to `end`, and move on behind them. */
static int count_some(struct pass *pass, const struct mapping *mapping, uint64_t *address, uint64_t end,
                      size_t *ret_empty)
{
    const uint64_t *entry = NULL;
    size_t used = 0;
    ssize_t count = read_entries(pass, *address, (end - *address) / pass->walk->page_size, &entry);
    if (atomic_load_explicit(&pass->walk->is_cancelled, memory_order_relaxed))
        return -ECANCELED;
    if (count < 0)
        return (int)count;
    int result = count_entries(pass, mapping, entry, (size_t)count, &used);
    *address += (uint64_t)count * pass->walk->page_size;
    *ret_empty = (size_t)count - used;
    return result;
}

/* One of no size is refused, as wrong or as unknown. */
bool gt_pagemap_can_scan(int pagemap)
{
    struct scan nothing = {0};
    return ioctl(pagemap, SCAN, &nothing) >= 0 || errno != ENOTTY;
}

/* The next ranges with pages from `*address` on, at most REGIONS; `*address` moves behind what was searched. */
static int find_regions(struct pass *pass, uint64_t *address, uint64_t end, struct scan_region *region)
{
    struct scan scan = {
        .size = sizeof scan,
        .start = *address,
        .end = end,
        .regions = (uintptr_t)region,
        .region_count = REGIONS,
        .page_limit = PAGES_A_SCAN,
        .any_of = SCAN_PRESENT | SCAN_SWAPPED,
        .returned = SCAN_PRESENT | SCAN_SWAPPED,
    };
    rest_if_due(pass);
    int found = ioctl(pass->pagemap, SCAN, &scan);
    if (found < 0)
        return -errno;
    *address = scan.walk_end > *address ? scan.walk_end : end;
    return found;
}

/* Visit only the ranges that have pages. -ENOTTY where the kernel cannot tell them. */
static int count_regions(struct pass *pass, const struct mapping *mapping, uint64_t address)
{
    struct scan_region region[REGIONS];
    while (address < mapping->end) {
        int found = find_regions(pass, &address, mapping->end, region);
        if (found < 0)
            return found;
        for (int i = 0; i < found; i++)
            for (uint64_t at = region[i].start; at < region[i].end;) {
                size_t ignored;
                int result = count_some(pass, mapping, &at, region[i].end, &ignored);
                if (result < 0)
                    return result;
            }
    }
    return 0;
}

static int count_mapping(struct pass *pass, const struct mapping *mapping)
{
    struct gt_pagemap_walk *walk = pass->walk;
    uint64_t address = mapping->start, empty = 0;
    while (address < mapping->end && empty < walk->empty_limit) {
        size_t empty_now;
        int result = count_some(pass, mapping, &address, mapping->end, &empty_now);
        if (result < 0)
            return result;
        empty += empty_now;
        if (empty_now > GT_PAGEMAP_ENTRIES / 2 && !walk->cannot_scan) {
            result = count_regions(pass, mapping, address);
            walk->cannot_scan = result == -ENOTTY || result == -EINVAL;
            if (!walk->cannot_scan)
                return result;
        }
    }
    return 0;
}

/* `text` is maps or smaps. In smaps a mapping's page size comes after its line, so each is counted when the next begins. */
static int count_mappings(struct pass *pass, int text)
{
    struct gt_line_reader reader = {.fd = text, .buffer = pass->walk->line, .size = sizeof pass->walk->line};
    struct mapping mapping, pending = {0};
    char *line;
    int result;
    while ((result = gt_line_reader_next(&reader, &line)) > 0) {
        if (parse_mapping(line, &mapping)) {
            int counted = pending.is_special ? 0 : count_mapping(pass, &pending);
            if (counted < 0)
                return counted;
            pending = mapping;
        } else if (!strncmp(line, "KernelPageSize:", 15)) {
            pending.is_special |= strtoull(line + 15, NULL, 10) * 1024 != pass->walk->page_size;
        }
    }
    return result < 0 || pending.is_special ? result : count_mapping(pass, &pending);
}

/* Only smaps tells which mappings consist of hugetlb pages, and it costs more than maps. */
static const char *mappings_file(struct gt_pagemap_walk *walk, pid_t pid)
{
    if (!walk->has_huge_pages || gt_root_read_process(walk->root, pid, "status", walk->line, sizeof walk->line) < 0)
        return "maps";
    const char *huge = strstr(walk->line, "\nHugetlbPages:");
    return huge && strtoull(huge + 14, NULL, 10) ? "smaps" : "maps";
}

void gt_pagemap_walk_begin(struct gt_pagemap_walk *walk)
{
    static const char none[] = "\nHugetlb:";
    bool is_read = gt_root_read(walk->root, "proc/meminfo", walk->line, sizeof walk->line) > 0;
    const char *huge = is_read ? strstr(walk->line, none) : NULL;
    walk->has_huge_pages = !huge || strtoull(huge + strlen(none), NULL, 10);
}

int gt_pagemap_walk_count(struct gt_pagemap_walk *walk, pid_t pid, uint64_t start, double cpu_time,
                          enum gt_pagemap_mark mark, struct gt_pagemap_count *ret)
{
    struct pass pass = {.walk = walk, .mark = mark};
    begin_piece(walk);
    pass.pagemap = gt_process_file_open(walk->root, pid, "pagemap");
    if (pass.pagemap < 0)
        return pass.pagemap;
    int text = gt_process_file_open(walk->root, pid, mappings_file(walk, pid));
    double faults;
    bool is_it = gt_process_file_is_of(walk->root, pid, start, cpu_time, &faults);
    int result = text < 0 ? text : is_it ? count_mappings(&pass, text) : -ESRCH;
    if (text >= 0)
        close(text);
    close(pass.pagemap);
    double size = (double)walk->page_size;
    *ret = (struct gt_pagemap_count){
        .private_bytes = (double)pass.private_pages * size,
        .anonymous = (double)pass.anonymous_pages * size,
        .file_bytes = (double)pass.file_pages * size,
        .shared_bytes = (double)pass.shared_pages * size,
        .new_to_side = (double)pass.side_pages * size,
        .new_to_job = (double)pass.job_pages * size,
        .new_files = (double)pass.new_files * size,
        .swap = (double)pass.swapped_pages * size,
        .faults = faults,
        .rests = pass.rests,
        .rested_ns = pass.rested_ns,
    };
    return result;
}

static uint64_t own_frame(int pagemap, const volatile char *address, uint64_t page_size)
{
    uint64_t entry = 0;
    off_t offset = (off_t)((uintptr_t)address / page_size * sizeof entry);
    (void)*address; /* reading maps the page, or a zero page when nothing was written there */
    if (pread(pagemap, &entry, sizeof entry, offset) != sizeof entry || !(entry & PRESENT))
        return 0;
    return entry & FRAME;
}

static void learn_huge_zero_page(struct gt_pagemap_walk *walk, int pagemap)
{
    const size_t huge = 2u << 20;
    char *memory = mmap(NULL, 2 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return;
    char *aligned = (char *)(((uintptr_t)memory + huge - 1) & ~(uintptr_t)(huge - 1));
    if (!madvise(aligned, huge, MADV_HUGEPAGE)) {
        uint64_t first = own_frame(pagemap, aligned, walk->page_size);
        if (first && own_frame(pagemap, aligned + huge - walk->page_size, walk->page_size) ==
                         first + huge / walk->page_size - 1) {
            walk->huge_zero_frame = first;
            walk->huge_zero_count = huge / walk->page_size;
        }
    }
    munmap(memory, 2 * huge);
}

bool gt_pagemap_walk_probe(struct gt_pagemap_walk *walk)
{
    walk->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
    walk->empty_limit = UINT64_C(1) << 22;
    if (!walk->root->is_machine)
        return true;
    int pagemap = gt_root_open_file(walk->root, "proc/self/pagemap");
    if (pagemap < 0)
        return false;
    char *page = mmap(NULL, walk->page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
        walk->zero_frame = own_frame(pagemap, page, walk->page_size);
        munmap(page, walk->page_size);
    }
    if (walk->zero_frame)
        learn_huge_zero_page(walk, pagemap);
    close(pagemap);
    return walk->zero_frame != 0;
}
