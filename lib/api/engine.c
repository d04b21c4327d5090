/* A server of recordings, for those who see only the public headers. */
#include <errno.h>
#include <stdlib.h>

#include "api/program.h"
#include "engine/push.h"
#include "engine/spool.h"
#include "engine/tables.h"

static int describe(struct gt_server *server, bool create, struct gt_buffer *sql, struct gt_error *error)
{
    struct gt_dialect dialect = gt_dialect_today;
    int status = server ? gt_server_dialect(server, &dialect, error) : 0;
    if (status >= 0)
        gt_engine_create_all(sql, &dialect);
    return status < 0 || !create ? status : gt_engine_make(server, error);
}

int gt_engine_schema(const char *address, const struct gt_login_files *files, bool create, char **ret,
                     struct gt_error *error)
{
    struct gt_address parts;
    struct gt_server *server = NULL;
    struct gt_buffer sql = {0};
    int status = address ? gt_address_read(&parts, address, error) : 0;
    if (status >= 0 && address)
        status = gt_server_open(&server, &parts, files, error);
    if (server)
        gt_server_watch(server);
    if (status >= 0)
        status = describe(server, create, &sql, error);
    if (status >= 0 && sql.failed)
        status = gt_error_system(error, ENOMEM, "schema");
    gt_server_close(server);
    return gt_buffer_give(&sql, status, ret, NULL);
}

int gt_engine_push(const char *const *paths, size_t count, const char *address, const struct gt_push_request *request,
                   struct gt_push_result *ret, struct gt_error *error)
{
    struct gt_push_figures figures = {0};
    const struct gt_push_options options = {
        .files = &request->files, .warn = request->warn, .context = request->context};
    int status = gt_push_files(paths, count, address, &options, request->patience, &figures, error);
    *ret = (struct gt_push_result){figures.rows, figures.requests, figures.bytes, figures.recordings, figures.shipped};
    return status;
}

int gt_engine_follow(const char *folder, const char *address, const struct gt_push_request *request,
                     const volatile sig_atomic_t *stop, struct gt_error *error)
{
    const struct gt_push_options options = {.files = &request->files,
                                            .is_live = true,
                                            .warn = request->warn,
                                            .settled = request->settled,
                                            .context = request->context};
    return gt_push_follow(folder, address, &options, stop, error);
}

int gt_engine_spool_open(struct gt_spool **ret, const char *address, struct gt_error *error)
{
    struct gt_spool *spool = malloc(sizeof *spool);
    if (!spool)
        return gt_error_system(error, ENOMEM, "%s", address);
    int status = gt_spool_begin(spool, address, error);
    if (status < 0)
        gt_engine_spool_close(spool);
    else
        *ret = spool;
    return status;
}

const char *gt_engine_spool_folder(const struct gt_spool *spool)
{
    return spool->folder;
}

const char *gt_engine_spool_recording(const struct gt_spool *spool)
{
    return spool->recording;
}

const char *gt_engine_spool_address(const struct gt_spool *spool)
{
    return spool->url;
}

int gt_engine_spool_end(struct gt_spool *spool, int shipper, char *saved, size_t size, struct gt_error *error)
{
    gt_spool_end(spool);
    if (gt_spool_wait(spool, spool->address.wait, shipper))
        return 1;
    return gt_spool_save(spool, saved, size, error);
}

void gt_engine_spool_close(struct gt_spool *spool)
{
    if (spool)
        gt_spool_end(spool);
    free(spool);
}
