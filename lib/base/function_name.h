/* Names of functions in C++ as people read them. */
#ifndef GT_BASE_FUNCTION_NAME_H
#define GT_BASE_FUNCTION_NAME_H

#include "base/buffer.h"

/* Appends the name of a template's instance without result, namespaces and parameters, and with `ellipsis` for the arguments of
 * its arguments: "void at::native::reduce<512, at::F<float, 4> >(int)" is "reduce<512, F<…>>". Names that are no such
 * instance are appended as they are. */
void gt_function_name(struct gt_buffer *out, const char *name, const char *ellipsis);

#endif
