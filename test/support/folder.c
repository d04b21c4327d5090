#include "support/folder.h"
#include "support/test.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>

char test_folder[64];

int folder_make(void **state)
{
    strcpy(test_folder, "/tmp/gpu-tracker-test-XXXXXX");
    *state = mkdtemp(test_folder);
    return *state ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *about, int flag, struct FTW *where)
{
    (void)about, (void)flag, (void)where;
    return remove(path);
}

int folder_remove(void **state)
{
    (void)state;
    chmod(test_folder, 0700);
    return nftw(test_folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *folder_path(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder, name);
    return path;
}

int folder_count(void)
{
    struct dirent **entry = NULL;
    int count = scandir(test_folder, &entry, NULL, NULL);
    for (int i = 0; i < count; i++)
        free(entry[i]);
    free(entry);
    return count - 2; /* without . and .. */
}

void folder_put(const char *folder, const char *path, const char *text)
{
    char name[300];
    snprintf(name, sizeof name, "%s/%s", folder, path);
    for (char *slash = strchr(name + strlen(folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(name, 0777);
        *slash = '/';
    }
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}
