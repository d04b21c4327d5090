/* A temporary folder, there for one test or for all of a program: cmocka's setup and teardown. */
#ifndef TEST_SUPPORT_FOLDER_H
#define TEST_SUPPORT_FOLDER_H

extern char test_folder[64];

/* Also *state, for tests that look there. */
int folder_make(void **state);
/* With all that is in it, also when the test has made it unreadable. */
int folder_remove(void **state);
/* "test_folder/name" in a buffer of its own: four are kept. */
const char *folder_path(const char *name);
/* How many files and folders lie in it. */
int folder_count(void);
/* Write a file below any folder, with the folders on its way. */
void folder_put(const char *folder, const char *path, const char *text);

#endif
