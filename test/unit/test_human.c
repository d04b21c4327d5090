/* Figures at a glance: one unit chosen by the size, three digits. */
#include "schema/human.h"
#include "support/test.h"

struct example {
    double value;
    const char *text;
};

static void check(char *(*human)(char *, double), const struct example *examples, size_t count)
{
    char text[GT_HUMAN_SIZE];
    for (size_t i = 0; i < count; i++)
        assert_string_equal(human(text, examples[i].value), examples[i].text);
}

#define CHECK(human, ...)                                  \
    do {                                                   \
        static const struct example all[] = {__VA_ARGS__}; \
        check(human, all, sizeof all / sizeof *all);       \
    } while (0)

TEST(test_sizes)
{
    CHECK(gt_human_bytes, {0, "0 B"}, {1, "1 B"}, {999, "999 B"}, {1000, "1.00 kB"}, {412e6, "412 MB"},
          {13.94e9, "13.9 GB"}, {999.6e6, "1.00 GB"}, {9.996e9, "10.0 GB"}, {99.96e9, "100 GB"}, {2e12, "2.00 TB"},
          {NAN, "n/a"});
    CHECK(gt_human_binary, {0, "0 B"}, {1000, "1000 B"}, {1.5 * (1 << 20), "1.50 MiB"}, {180. * (1 << 20), "180 MiB"},
          {12.9 * (1 << 30), "12.9 GiB"}, {NAN, "n/a"});
    CHECK(gt_human_round_bytes, {64e9, "64 GB"}, {68719476736., "64G"}, {536870912., "512M"}, {300e6, "300 MB"},
          {100e9, "100 GB"});
    char text[2 * GT_HUMAN_SIZE];
    assert_string_equal(gt_human_part(text, 31.2e9, 80e9), "31.2 of 80 GB");
    assert_string_equal(gt_human_part(text, 5e8, 80e9), "0.50 of 80 GB");
    assert_string_equal(gt_human_part(text, 5e8, NAN), "500 MB");
}

TEST(test_times)
{
    CHECK(gt_human_seconds, {0, "0 ms"}, {0.0004, "0.4 ms"}, {0.0012, "1 ms"}, {0.412, "412 ms"}, {0.9996, "1.0 s"},
          {4.25, "4.2 s"}, {41.3, "41 s"}, {59.6, "1 min"}, {72, "1 min 12 s"}, {3599.7, "1 h"}, {4320, "1 h 12 min"},
          {86399, "1 d"}, {183600, "2 d 3 h"}, {NAN, "n/a"});
    CHECK(gt_human_clock, {0, "0:00"}, {41.9, "0:41"}, {1872, "31:12"}, {7200, "2:00:00"}, {NAN, "n/a"});
    CHECK(gt_human_about, {41, "~41 s"}, {2280, "~38 min"}, {5400, "~1.5 h"}, {NAN, "n/a"});
}

TEST(test_the_rest)
{
    CHECK(gt_human_energy, {3.2, "3.20 J"}, {0.004, "4.00 mJ"}, {1500, "1.50 kJ"}, {90e3, "25.0 Wh"},
          {1.872e6, "0.52 kWh"}, {NAN, "n/a"});
    char text[GT_HUMAN_SIZE];
    assert_string_equal(gt_human_energy_part(text, 108e3, 1.872e6), "0.03");
    CHECK(gt_human_percent, {0.81, "81 %"}, {0.004, "0.4 %"}, {0.0003, "0 %"}, {0, "0 %"}, {1, "100 %"}, {NAN, "n/a"});
    CHECK(gt_human_power, {306, "306 W"}, {1900, "1.90 kW"}, {0.25, "250 mW"});
    CHECK(gt_human_mass, {29, "29 g"}, {0.0031, "3.1 mg"}, {1200, "1.2 kg"});
    CHECK(gt_human_number, {1.52, "1.52"}, {0.61, "0.61"}, {128, "128"});
    CHECK(gt_human_round_number, {2, "2"}, {1.5, "1.5"});
}

TEST(amounts_beside_others_have_their_unit)
{
    static const struct {
        double value, greatest;
        const char *unit, *shown;
    } cases[] = {
        {9e8, 16e9, "bytes", "0.90 GB"},    {16e9, 16e9, "bytes", "16.0 GB"}, {0, 16e9, "bytes", "0 GB"},
        {41e6, 16e9, "bytes", "0.041 GB"},  {4e6, 16e9, "bytes", "4.00 MB"},  {-9e8, 16e9, "bytes", "-0.90 GB"},
        {4000, 52000, "joules", "1.11 Wh"}, {100, 2000, "watts", "0.10 kW"},  {5e8, 5e8, "bytes/s", "500 MB/s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gt_buffer text = {0};
        assert_true(gt_human_amount_beside(&text, cases[i].value, cases[i].greatest, cases[i].unit));
        assert_string_equal(text.data, cases[i].shown);
        gt_buffer_release(&text);
    }
}
