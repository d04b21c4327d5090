/* MPI of any kind: the library is preloaded, and stands before the functions of MPI that wait or move data. All that they take are
 * integers and pointers, and they return one, so on these machines a function of twelve integers passes on what it was given
 * without knowing what it is. */
#include <stdio.h>

#include "next.h"
#include "process.h"

#if defined __x86_64__ || defined __aarch64__

#include "base/clock.h"

#define EXPORT __attribute__((visibility("default")))
#define TAKEN long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l
#define PASSED a, b, c, d, e, f, g, h, i, j, k, l

typedef long any_function(TAKEN);

/* In C, in Fortran as most compilers name it, and by the module mpi_f08 of Open MPI. */
enum language { IN_C, IN_FORTRAN, IN_FORTRAN_2008, LANGUAGES };

enum call {
#define CALL(name, small) CALL_##name,
#include "mpi.def"
    CALLS
};

static const struct {
    const char *name, *small;
    bool is_summed;
} calls[CALLS] = {
#define CALL(name, small) {"MPI_" #name, "mpi_" #small, false},
#define SUM(name, small) {"MPI_" #name, "mpi_" #small, true},
#include "mpi.def"
};

/* A function that calls others of MPI for its own work is one call. */
static _Thread_local bool is_inside;

static struct gt_range_domain *domain(void)
{
    static _Atomic(struct gt_range_domain *) kept;
    if (!kept)
        kept = gt_ranges_begin(GT_BLOCK_SOURCE_mpi) ? gt_range_domain(GT_BLOCK_SOURCE_mpi, NULL) : NULL;
    return kept;
}

static struct gt_range_name *name_of(enum call call)
{
    static _Atomic(struct gt_range_name *) names[CALLS];
    if (!names[call])
        names[call] = gt_range_name(domain(), calls[call].name);
    return names[call];
}

/* The one the program would have called, else that which tools that measure MPI are meant to call. */
static any_function *find(enum call call, enum language language)
{
    static const char *const ends[LANGUAGES] = {"", "_", "_f08_"};
    char name[64];
    snprintf(name, sizeof name, "%c%s%s", language == IN_C ? 'P' : 'p',
             language == IN_C ? calls[call].name : calls[call].small, ends[language]);
    gt_next_function *function = gt_next(name + 1, "libmpi");
    return (any_function *)(function ? function : gt_next(name, "libmpi"));
}

static any_function *next_of(enum call call, enum language language)
{
    static _Atomic(any_function *) kept[CALLS][LANGUAGES];
    any_function *function = atomic_load_explicit(&kept[call][language], memory_order_relaxed);
    if (!function) {
        function = find(call, language);
        atomic_store_explicit(&kept[call][language], function, memory_order_relaxed);
    }
    return function;
}

enum { MPI_ERROR = 16 }; /* MPI_ERR_OTHER of some; nobody calls a function that is nowhere */

static __attribute__((noinline)) long pass_on(enum call call, enum language language, TAKEN)
{
    any_function *function = next_of(call, language);
    if (!function)
        return MPI_ERROR;
    struct gt_range_domain *kept = is_inside ? NULL : domain();
    if (!gt_range_domain_is_on(kept))
        return function(PASSED);
    is_inside = true;
    int64_t begin = 0;
    if (calls[call].is_summed)
        begin = gt_clock_ns(CLOCK_MONOTONIC);
    else
        gt_range_push(kept, name_of(call));
    long result = function(PASSED);
    if (calls[call].is_summed)
        gt_range_sum(kept, name_of(call), begin, gt_clock_ns(CLOCK_MONOTONIC));
    else
        gt_range_pop(kept);
    is_inside = false;
    return result;
}

#define STAND_BEFORE(symbol, call, language)    \
    EXPORT long symbol(TAKEN);                  \
    long symbol(TAKEN)                          \
    {                                           \
        return pass_on(call, language, PASSED); \
    }
#define CALL(name, small)                                 \
    STAND_BEFORE(MPI_##name, CALL_##name, IN_C)           \
    STAND_BEFORE(mpi_##small##_, CALL_##name, IN_FORTRAN) \
    STAND_BEFORE(mpi_##small##_f08_, CALL_##name, IN_FORTRAN_2008)
#include "mpi.def"

#endif
