/* The kernel's high-water mark tells the largest resident memory of the calling process within windows of time.
 *
 * The kernel has one mark for each process (VmHWM), and lets the process set it back to what is resident now by writing 5 to
 * /proc/self/clear_refs (proc(5)). It is read and set back when a window begins, and read when one ends, and every window that is
 * open then takes it in: so windows may lie inside each other, overlap, and belong to several threads, and each is exact.
 *
 * Setting it back has one side effect: ru_maxrss of getrusage(2) and wait4(2) begins anew as well. The mark belongs to the process,
 * so what is open is kept here, for the process; after a fork(2) the child has no windows. */
#ifndef GT_COLLECT_PROCESS_OWN_PEAK_H
#define GT_COLLECT_PROCESS_OWN_PEAK_H

/* Read the resident memory of the calling process now and its mark, in bytes; NaN where the kernel tells none. Returns 0 or negative
 * errno. */
int gt_own_memory(double *ret_resident, double *ret_hwm);
/* Begin a window. Returns its number, above 0, or negative errno where the mark cannot be read or set back. */
int gt_own_peak_begin(void);
/* Returns the mark of the calling process now in bytes, or infinity where it cannot be read. */
double gt_own_hwm(void);
/* End a window. Returns bytes, or NaN where there is no such window or the mark cannot be read. */
double gt_own_peak_end(int window);

#endif
