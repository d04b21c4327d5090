#include "base/digest.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 64, ROUNDS = 64, LENGTH_AT = BLOCK - 8 };

/* The constants of the standard: fractions of the square and cube roots of the first primes. */
struct constants {
    uint32_t state[8], round[ROUNDS];
};

static int is_prime(int number)
{
    for (int i = 2; i * i <= number; i++)
        if (number % i == 0)
            return 0;
    return 1;
}

static uint32_t fraction(long double value)
{
    return (uint32_t)((value - floorl(value)) * 0x1p32L);
}

static void fill(struct constants *constants)
{
    for (int prime = 2, i = 0; i < ROUNDS; prime++) {
        if (!is_prime(prime))
            continue;
        if (i < 8)
            constants->state[i] = fraction(sqrtl(prime));
        constants->round[i++] = fraction(cbrtl(prime));
    }
}

static uint32_t turn(uint32_t word, int bits)
{
    return word >> bits | word << (32 - bits);
}

static void expand(uint32_t word[ROUNDS], const uint8_t *block)
{
    for (int i = 0; i < 16; i++, block += 4)
        word[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
    for (int i = 16; i < ROUNDS; i++) {
        uint32_t a = word[i - 15], b = word[i - 2];
        word[i] = word[i - 16] + word[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) +
                  (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
}

static void mix(uint32_t state[8], const uint32_t round[ROUNDS], const uint8_t *block)
{
    uint32_t word[ROUNDS], s[8];
    expand(word, block);
    memcpy(s, state, sizeof s);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]), majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + choice + round[i] + word[i];
        uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + majority;
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

/* Takes in what does not fill a block, the bit 1, zeros, and the length in bits. */
static void finish(uint32_t state[8], const uint32_t round[ROUNDS], const uint8_t *rest, size_t length)
{
    uint8_t block[2 * BLOCK] = {0};
    size_t left = length % BLOCK, size = left < LENGTH_AT ? BLOCK : 2 * BLOCK;
    memcpy(block, rest, left);
    block[left] = 0x80;
    for (size_t i = 0; i < 8; i++)
        block[size - 1 - i] = (uint8_t)((uint64_t)length * 8 >> 8 * i);
    for (size_t i = 0; i < size; i += BLOCK)
        mix(state, round, block + i);
}

void gt_sha256(uint8_t ret[GT_SHA256_SIZE], const void *bytes, size_t length)
{
    struct constants constants;
    const uint8_t *from = bytes;
    size_t whole = length / BLOCK * BLOCK;
    fill(&constants);
    for (size_t i = 0; i < whole; i += BLOCK)
        mix(constants.state, constants.round, from + i);
    finish(constants.state, constants.round, from + whole, length);
    for (int i = 0; i < GT_SHA256_SIZE; i++)
        ret[i] = (uint8_t)(constants.state[i / 4] >> (24 - i % 4 * 8));
}

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_group(char ret[4], const uint8_t *bytes, size_t count)
{
    uint32_t bits = (uint32_t)bytes[0] << 16;
    if (count > 1)
        bits |= (uint32_t)bytes[1] << 8;
    if (count > 2)
        bits |= bytes[2];
    for (size_t i = 0; i < 4; i++)
        ret[i] = i <= count ? DIGITS[bits >> (18 - 6 * i) & 63] : '=';
}

void gt_base64_append(struct gt_buffer *out, const void *bytes, size_t length)
{
    const uint8_t *from = bytes;
    char group[4];
    if (gt_buffer_reserve(out, (length + 2) / 3 * 4) < 0)
        return;
    gt_buffer_text(out, ""); /* nothing is a string, too */
    for (size_t i = 0; i < length; i += 3) {
        put_group(group, from + i, length - i < 3 ? length - i : 3);
        gt_buffer_append(out, group, sizeof group);
    }
}
