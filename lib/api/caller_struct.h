/* Structs of the caller's, who may know fewer members than we do, or more. */
#ifndef GT_API_CALLER_STRUCT_H
#define GT_API_CALLER_STRUCT_H

#include <stddef.h>
#include <string.h>

/* Copy the caller's struct; members it does not know of are zero. It begins with its size; 0 stands for ours. NULL: all
 * is zero. */
static inline void gt_own(void *ret, size_t size, const void *given)
{
    size_t known = 0;
    memset(ret, 0, size);
    if (given)
        memcpy(&known, given, sizeof known);
    if (given)
        memcpy(ret, given, known && known < size ? known : size);
    memcpy(ret, &size, sizeof size);
}

/* GT_OWN(struct gt_x, own, options): the same as a variable. */
#define GT_OWN(type, name, given) \
    type name;                    \
    gt_own(&(name), sizeof(name), given)

#endif
