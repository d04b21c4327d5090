/* Runs a fuzz target once over each file named, or over the files of each folder named: for compilers without libFuzzer.
 * Options of libFuzzer (-runs=...) are passed over. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_file(const char *path)
{
    FILE *file = fopen(path, "rbe");
    uint8_t *data = malloc(1 << 20);
    if (!file || !data) {
        perror(path);
        exit(1);
    }
    size_t size = fread(data, 1, 1 << 20, file);
    fclose(file);
    /* An exact copy, so that a read past the end is seen. */
    uint8_t *exact = malloc(size + !size);
    if (!exact)
        exit(1);
    memcpy(exact, data, size);
    free(data);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void try_folder(const char *path, DIR *folder)
{
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        try_file(name);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        DIR *folder = argv[i][0] == '-' ? NULL : opendir(argv[i]);
        if (folder)
            try_folder(argv[i], folder);
        else if (argv[i][0] != '-')
            try_file(argv[i]);
    }
    return 0;
}
