/* Addresses of servers: what they may say, and what they are told apart from. */
#include "store/address.h"
#include "support/test.h"

TEST(test_parts)
{
    struct gt_address address;
    assert_int_equal(gt_address_read(&address, "clickhouse://host/db", NULL), 0);
    assert_string_equal(address.host, "host");
    assert_string_equal(address.database, "db");
    assert_string_equal(address.user, "");
    assert_string_equal(address.jobs, "");
    assert_int_equal(address.port, 8123);
    assert_false(address.is_encrypted);
    assert_true(address.flush == 60 && address.wait == 10 && !address.keep);
    assert_int_equal(
        gt_address_read(&address, "clickhouses://me@h.example:9/db/alps:4242.0+1,43?flush=5&keep=1&ca=/a/b", NULL), 0);
    assert_string_equal(address.user, "me");
    assert_string_equal(address.jobs, "alps:4242.0+1,43");
    assert_int_equal(address.port, 9);
    assert_true(address.is_encrypted && address.flush == 5 && address.keep);
    assert_string_equal(address.ca, "/a/b");
    assert_int_equal(gt_address_read(&address, "clickhouses://[::1]/db", NULL), 0);
    assert_string_equal(address.host, "[::1]");
    assert_int_equal(address.port, 8443);
    assert_int_equal(gt_address_read(&address, "clickhouse://[::1]:77/db", NULL), 0);
    assert_int_equal(address.port, 77);
}

TEST(test_mistakes)
{
    static const struct {
        const char *text, *said;
    } mistakes[] = {
        {"clickhouse://me:secret@host/db", "a password in the address"},
        {"clickhouse://me%3Asecret@host/db", "the user in the address of a server has a '%'"},
        {"clickhouse://me:secret/2@host/db", "a password in the address"},
        {"clickhouse://me:secret?2@host/db", "a password in the address"},
        {"clickhouse:///db", "names no host"},
        {"clickhouse://host", "names no database"},
        {"clickhouse://host/", "names no database"},
        {"clickhouse://host:0/db", "\"0\" in the address of a server is not a port"},
        {"clickhouse://host:70000/db", "not a port"},
        {"clickhouse://host/d'b", "has a '''"},
        {"clickhouse://host/db/4 2", "has a ' '"},
        {"clickhouse://host/db/a/b", "has a '/'"},
        {"clickhouse://host/db?flash=5", "\"flash\" is not an option"},
        {"clickhouse://host/db?flush=soon", "\"flush=soon\""},
        {"clickhouse://host/db?keep=yes", "\"keep=yes\""},
        {"clickhouse://host/db?wait=-1", "\"wait=-1\""},
        {"http://host/db", "is not the address of a server"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct gt_address address;
        struct gt_error error = {0};
        assert_int_equal(gt_address_read(&address, mistakes[i].text, &error), -22);
        if (!strstr(error.text, mistakes[i].said))
            fail_msg("%s: %s", mistakes[i].text, error.text);
        assert_null(strstr(error.text, "secret"));
    }
}
