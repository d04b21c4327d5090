/* The list of runs: what is kept of a command, and what has changed. */
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "analyse/past_runs.h"
#include "base/os/secret.h"
#include "support/test.h"

static void expect_hidden(char *const words[], const char *expected)
{
    struct gt_buffer out = {0};
    assert_int_equal(gt_secret_hide(&out, words), 0);
    assert_string_equal(out.data, expected);
    gt_buffer_release(&out);
}

#define HIDDEN(expected, ...) expect_hidden((char *[]){__VA_ARGS__, NULL}, expected)

/* a plain table */
TEST(test_secrets)
{
    HIDDEN("train --token ***", "train", "--token", "abc");
    HIDDEN("train --api-key=*** --epochs=3", "train", "--api-key=abc", "--epochs=3");
    HIDDEN("train --wandb_api_key *** x", "train", "--wandb_api_key", "abc", "x");
    HIDDEN("env AWS_SECRET_ACCESS_KEY=*** A=1 x", "env", "AWS_SECRET_ACCESS_KEY=abc", "A=1", "x");
    HIDDEN("sh -c HF_TOKEN=*** python a.py", "sh", "-c", "HF_TOKEN=abc python a.py");
    HIDDEN("git clone https://me:***@host/x.git", "git", "clone", "https://me:pass@host/x.git");
    HIDDEN("git clone https://***@host/x.git", "git", "clone", "https://0123abc@host/x.git");
    HIDDEN("curl -u me:*** host", "curl", "-u", "me:pass", "host");
    HIDDEN("curl -H Authorization: Bearer *** host", "curl", "-H", "Authorization: Bearer abc", "host");
    HIDDEN("curl -H Authorization: Bearer *** host", "curl", "-H", "Authorization:", "Bearer", "abc", "host");
    HIDDEN("x bearer *** y", "x", "bearer", "abc", "y");
    HIDDEN("curl -H Cookie: *** *** host", "curl", "-H", "Cookie: a=b; c=d", "host");
    HIDDEN("curl -H Cookie: *** *** host", "curl", "-H", "Cookie:", "a=b;", "c=d", "host");
    HIDDEN("curl -H X-Api-Key: *** host", "curl", "-H", "X-Api-Key:", "abc", "host");
    HIDDEN("curl --cookie *** host", "curl", "--cookie", "a=b", "host");
    HIDDEN("docker login -u me -p ***", "docker", "login", "-u", "me", "-p", "pw");
    HIDDEN("/usr/bin/mysqldump -u me -p*** base", "/usr/bin/mysqldump", "-u", "me", "-ppw", "base");
    HIDDEN("openssl rsa -passin pass:*** -in key.pem", "openssl", "rsa", "-passin", "pass:hunter15", "-in", "key.pem");
    HIDDEN("sh -c echo password *** | login", "sh", "-c", "echo password hunter18 | login");
    HIDDEN("sh -c true mysql -p***", "sh", "-c", "true", "mysql", "-phunter3");
    HIDDEN("sh -c /usr/bin/mysql -u me -p*** base", "sh", "-c", "/usr/bin/mysql -u me -phunter3 base");
    HIDDEN("curl --data {\"user\":\"me\",\"password\":\"***\"} host", "curl", "--data",
           "{\"user\":\"me\",\"password\":\"zzz\"}", "host");
    HIDDEN("curl -d {'api_key' : ***, \"token\": \"***\", \"n\": 3}", "curl", "-d",
           "{'api_key' : 12, \"token\": \"a b\", \"n\": 3}");
    HIDDEN("curl --json {\"password\":\"***", "curl", "--json", "{\"password\":\"zzz");
    HIDDEN("x ***", "x", "ghp_abcdefghijkl");
    HIDDEN("x a=***", "x", "a=aK3j9XmP2qLs8VbN4wRt7YzC");
    HIDDEN("x ***", "x", "0123456789abcdef0123456789abcdef");
    HIDDEN("x --key *** y", "x", "--key", "hunter2", "y");
    HIDDEN("x --key=*** --pass=*** -pwd=***", "x", "--key=hunter2", "--pass=hunter2", "-pwd=hunter2");
    HIDDEN("x --pass *** --db-pwd ***", "x", "--pass", "hunter2", "--db-pwd", "1234");
    HIDDEN("env DB_PASS=*** MYSQL_PWD=*** STRIPE_KEY=*** x", "env", "DB_PASS=abc", "MYSQL_PWD=abc", "STRIPE_KEY=abc",
           "x");
    HIDDEN("client -p*** host", "client", "-phunter2", "host");
    HIDDEN("7z a -p*** x.7z", "7z", "a", "-psecret", "x.7z");
    HIDDEN("docker login -p***", "docker", "login", "-psecret");
    HIDDEN("curl -H Authorization:*** host", "curl", "-H", "Authorization:BearerX", "host");
    HIDDEN("curl -H Authorization:Bearer *** host", "curl", "-H", "Authorization:Bearer abc", "host");
    HIDDEN("curl --header=Authorization:*** host", "curl", "--header=Authorization:BearerX", "host");
    HIDDEN("curl --header=Authorization: Bearer *** host", "curl", "--header=Authorization: Bearer abc", "host");
    HIDDEN("curl --header=Authorization: *** host", "curl", "--header=Authorization: abc", "host");
    HIDDEN("sh -c curl -H \"X-Api-Key:*** ***", "sh", "-c", "curl -H \"X-Api-Key:abc\" host");
    HIDDEN("http PUT host token:*** a=b", "http", "PUT", "host", "token:abc", "a=b");
    HIDDEN("curl https://h/x?a=1&password=***", "curl", "https://h/x?a=1&password=abc");
    HIDDEN("curl https://h/x?sig=*** https://h/x?a=1&sig=***", "curl", "https://h/x?sig=abc",
           "https://h/x?a=1&sig=abc");
    HIDDEN("curl https://h/x?X-Amz-Date=1&X-Amz-Signature=***", "curl", "https://h/x?X-Amz-Date=1&X-Amz-Signature=abc");
    HIDDEN("curl https://bucket.storage.example.org/a/long/path/with/many/folders/file.bin?password=***", "curl",
           "https://bucket.storage.example.org/a/long/path/with/many/folders/file.bin?password=abc");
    HIDDEN("x server=h;Password=***", "x", "server=h;Password=abc;a=b");
    HIDDEN("x server=h;Pwd=***", "x", "server=h;Pwd=abc;a=b");
    HIDDEN("x --auth *** --auth=*** y", "x", "--auth", "abc", "--auth=abc", "y");
    HIDDEN("x --auth *** y", "x", "--auth", "me:abc", "y");
    HIDDEN("train.py +wandb.key=*** lr=1", "train.py", "+wandb.key=abc", "lr=1");
    HIDDEN("curl -b *** host", "curl", "-b", "sid=abc", "host");
    HIDDEN("sh -c curl -b *** host", "sh", "-c", "curl -b sid=abc host");
    HIDDEN("x --otp *** --pin *** --pin=*** y", "x", "--otp", "123456", "--pin", "1234", "--pin=1234", "y");
    HIDDEN("xfreerdp /u:me /p:*** /v:host", "xfreerdp", "/u:me", "/p:abc", "/v:host");
    HIDDEN("wandb login ***", "wandb", "login", "0123456789abcdef0123456789abcdef01234567");
    HIDDEN("x -p *** host", "x", "-p", "hunter2", "host");
    HIDDEN("sshpass -p *** ssh host", "sshpass", "-p", "abc", "ssh", "host");
    HIDDEN("env TOKEN_GITHUB=*** --token-value *** x", "env", "TOKEN_GITHUB=abc", "--token-value", "abc", "x");
}

TEST(test_what_is_no_secret)
{
    HIDDEN("python train.py --epochs 20 --tokenizer-path", "python", "train.py", "--epochs", "20", "--tokenizer-path");
    HIDDEN("ls /usr/lib/x86_64-linux-gnu/libexample.so.0", "ls", "/usr/lib/x86_64-linux-gnu/libexample.so.0");
    HIDDEN("run my_long_experiment_name_with_seed_42", "run", "my_long_experiment_name_with_seed_42");
    HIDDEN("curl http://host:80/x?a=b", "curl", "http://host:80/x?a=b");
    HIDDEN("curl -d {\"max_tokens\": 512}", "curl", "-d", "{\"max_tokens\": 512}");
    HIDDEN("python -pl it's", "python", "-pl", "it's");
    HIDDEN("sk-learn --help", "sk-learn", "--help");
    HIDDEN("a --no-password --verbose", "a", "--no-password", "--verbose");
    HIDDEN("  a  b ", " ", "a  b", "");
    HIDDEN("ssh -p 2222 host", "ssh", "-p", "2222", "host");
    HIDDEN("mkdir -p /data/x -p", "mkdir", "-p", "/data/x", "-p");
    HIDDEN("pytest -p no:cacheprovider -pl", "pytest", "-p", "no:cacheprovider", "-pl");
    HIDDEN("sort --key 2 --key=3,3n x", "sort", "--key", "2", "--key=3,3n", "x");
    HIDDEN("curl --key /a/key.pem --pass", "curl", "--key", "/a/key.pem", "--pass");
    HIDDEN("env PWD=/a OLDPWD=/b KEY=c x", "env", "PWD=/a", "OLDPWD=/b", "KEY=c", "x");
    HIDDEN("docker run -v /run/secrets:/run/secrets:ro", "docker", "run", "-v", "/run/secrets:/run/secrets:ro");
    HIDDEN("pytest test_token.py::test_x", "pytest", "test_token.py::test_x");
    HIDDEN("gcc -pthread -p8080 -p/a/b2 -pipe", "gcc", "-pthread", "-p8080", "-p/a/b2", "-pipe");
    HIDDEN("t --max-tokens 512 --tokenizer=fast", "t", "--max-tokens", "512", "--tokenizer=fast");
    HIDDEN("t --token-dropout 0.1 --token_dim=64", "t", "--token-dropout", "0.1", "--token_dim=64");
    HIDDEN("t --commit 0123456789abcdef0123456789abcdef01234567", "t", "--commit",
           "0123456789abcdef0123456789abcdef01234567");
    HIDDEN("t GIT_COMMIT=0123456789abcdef0123456789abcdef01234567", "t",
           "GIT_COMMIT=0123456789abcdef0123456789abcdef01234567");
    HIDDEN("mkdir -p dir", "mkdir", "-p", "dir");
    HIDDEN("t --pin-memory yes --author me pin=3", "t", "--pin-memory", "yes", "--author", "me", "pin=3");
    HIDDEN("dotnet build /p:Configuration=Release", "dotnet", "build", "/p:Configuration=Release");
    HIDDEN("grep -b x file", "grep", "-b", "x", "file");
}

static struct gt_past_run run_of(double peak, double elapsed)
{
    return (struct gt_past_run){
        .ram_peak = peak, .elapsed = elapsed, .cpu_time = NAN, .gpu_ram_peak = NAN, .energy = NAN};
}

static char *change(struct gt_past_run now, const double *peaks, size_t count)
{
    static char text[200];
    struct gt_past_run runs[20];
    struct gt_buffer out = {0};
    for (size_t i = 0; i < count; i++)
        runs[i] = run_of(peaks[i], 10 + (double)i / 10);
    assert_int_equal(gt_past_runs_change(&out, &now, &(struct gt_past_runs){.run = runs, .count = count}), 0);
    snprintf(text, sizeof text, "%s", out.data ? out.data : "");
    gt_buffer_release(&out);
    return text;
}

TEST(test_changes)
{
    static const double calm[] = {1e9, 1.01e9, 0.99e9, 1e9, 1e9}, noisy[] = {1e9, 1.5e9, 0.7e9, 1.2e9, 0.9e9};
    assert_string_equal(change(run_of(1.12e9, 10), calm, 5), "peak memory +12 % against your last 5 runs");
    assert_string_equal(change(run_of(0.5e9, 20), calm, 3), "peak memory -50 %, time +98 % against your last 3 runs");
    assert_string_equal(change(run_of(1.12e9, 10), calm, 2), "");
    assert_string_equal(change(run_of(1.03e9, 10), calm, 5), "");
    assert_string_equal(change(run_of(1.6e9, 10), noisy, 5), "");
    assert_string_equal(change(run_of(NAN, 10), calm, 5), "");
}

TEST(test_small_figures_are_not_compared)
{
    static const double small[] = {1e6, 1e6, 1e6};
    assert_string_equal(change(run_of(2e6, 10.2), small, 3), "");
    assert_string_equal(change(run_of(9e6, 10.2), small, 3), "peak memory +800 % against your last 3 runs");
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

static void add(const char *path, const char *command, double peak)
{
    struct gt_past_run run = run_of(peak, 1);
    run.command = (char *)command;
    run.folder = "/home/me";
    assert_int_equal(gt_past_runs_add(path, &run, NULL), 0);
}

static size_t count(const char *path, struct gt_past_runs_filter filter)
{
    struct gt_past_runs runs = {0};
    assert_int_equal(gt_past_runs_read(&runs, path, &filter, NULL), 0);
    size_t found = runs.count;
    gt_past_runs_release(&runs);
    return found;
}

static void leave_half_a_change(const char *path)
{
    pid_t child = fork();
    if (!child) {
        sqlite3 *database;
        if (sqlite3_open(path, &database) == SQLITE_OK)
            sqlite3_exec(database,
                         "PRAGMA cache_size=1; BEGIN; DELETE FROM runs; CREATE TABLE t(x);"
                         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
                         "INSERT INTO t SELECT randomblob(500) FROM n",
                         NULL, NULL, NULL);
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
}

TEST(test_a_killed_writer_takes_no_other_run_away)
{
    char folder[] = "/tmp/past-XXXXXX", path[64], journal[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/runs.sqlite", folder);
    snprintf(journal, sizeof journal, "%s-journal", path);
    add(path, "first", 1);
    leave_half_a_change(path);
    assert_int_equal(access(journal, F_OK), 0);
    assert_int_equal(count(path, (struct gt_past_runs_filter){0}), 1);
    add(path, "second", 1);
    assert_int_equal(count(path, (struct gt_past_runs_filter){0}), 2);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

TEST(test_the_file)
{
    char folder[] = "/tmp/gpu-tracker-runs-XXXXXX", path[100];
    struct stat facts;
    struct gt_past_runs runs = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a/b/runs.sqlite", folder);
    assert_int_equal(count(path, (struct gt_past_runs_filter){0}), 0);
    add(path, "make all", 1);
    add(path, "Train \x1b[31m\n\xff", NAN);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_int_equal(gt_past_runs_read(&runs, path, &(struct gt_past_runs_filter){0}, NULL), 0);
    assert_int_equal(runs.count, 2);
    assert_int_equal(runs.run[0].back, 1);
    assert_string_equal(runs.run[0].command, "Train \x1b[31m\n\xef\xbf\xbd");
    assert_true(isnan(runs.run[0].ram_peak) && runs.run[1].ram_peak == 1);
    assert_null(runs.run[0].recording);
    gt_past_runs_release(&runs);
    const char *words[] = {"TRAIN", "home"};
    assert_int_equal(count(path, (struct gt_past_runs_filter){.words = words, .word_count = 2}), 1);
    assert_int_equal(count(path, (struct gt_past_runs_filter){.most = 1}), 1);
    assert_int_equal(count(path, (struct gt_past_runs_filter){.back = 3}), 0);
    struct gt_past_run like = {.command = "make all", .folder = "/home/me"};
    assert_int_equal(count(path, (struct gt_past_runs_filter){.like = &like}), 1);
    like.exit_status = 1;
    assert_int_equal(count(path, (struct gt_past_runs_filter){.like = &like}), 0);
    unlink(path);
    snprintf(path, sizeof path, "%s/a/b", folder), rmdir(path);
    snprintf(path, sizeof path, "%s/a", folder), rmdir(path);
    rmdir(folder);
}
