/* Telling UTF-8 from other bytes. */
#ifndef GT_BASE_UTF8_H
#define GT_BASE_UTF8_H

/* Length of the valid sequence at `text`, which is not empty and ends in NUL; 0 when it is not one. */
int gt_utf8_length(const char *text);

#endif
