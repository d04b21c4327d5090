/* Functions of other libraries before which ours stand when the library is preloaded. */
#ifndef INJECT_NEXT_H
#define INJECT_NEXT_H

typedef void gt_next_function(void);

/* The function of this name that the program would have called, also of a library that only a part of the program sees and whose name
 * begins so; NULL: there is none. */
gt_next_function *gt_next(const char *name, const char *library);

#endif
