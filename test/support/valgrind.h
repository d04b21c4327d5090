/* Under valgrind the kernel's figures are valgrind's own, forks take 20 ms, and clone3 is refused. */
#ifndef TEST_SUPPORT_VALGRIND_H
#define TEST_SUPPORT_VALGRIND_H

#include <stdlib.h>
#include <string.h>

#define SKIP_UNDER_VALGRIND()                            \
    do {                                                 \
        const char *preloaded = getenv("LD_PRELOAD");    \
        if (preloaded && strstr(preloaded, "vgpreload")) \
            skip();                                      \
    } while (0)

#endif
