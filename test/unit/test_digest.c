#include "base/digest.h"
#include "support/test.h"

static void assert_digest(const char *bytes, size_t length, const char *wanted)
{
    uint8_t digest[GT_SHA256_SIZE];
    char text[2 * GT_SHA256_SIZE + 1];
    gt_sha256(digest, bytes, length);
    for (int i = 0; i < GT_SHA256_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, wanted);
}

/* The examples of the standard, and a million letters: every length of the last block. */
TEST(test_sha256)
{
    assert_digest("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *letters = malloc(1000000);
    memset(letters, 'a', 1000000);
    assert_digest(letters, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(letters);
}

TEST(test_base64)
{
    static const char *const wanted[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    for (size_t length = 0; length <= 6; length++) {
        struct gt_buffer text = {0};
        gt_base64_append(&text, "foobar", length);
        assert_string_equal(text.data ? text.data : "", wanted[length]);
        gt_buffer_release(&text);
    }
    struct gt_buffer text = {0};
    gt_base64_append(&text, "\xff\xfe\x00\xfb", 4);
    assert_string_equal(text.data, "//4A+w==");
    gt_buffer_release(&text);
}
