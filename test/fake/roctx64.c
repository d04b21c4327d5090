/* ROCm's roctx: numbers its ranges, and prints what it was called for at the end. */
#include <stdint.h>
#include <stdio.h>

static int depth, pushed;
static uint64_t number = 1000, stopped;

int roctxRangePushA(const char *text);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char *text);
void roctxRangeStop(uint64_t id);

int roctxRangePushA(const char *text)
{
    pushed += *text != '\0';
    return depth++;
}

int roctxRangePop(void)
{
    return --depth;
}

uint64_t roctxRangeStartA(const char *text)
{
    return *text ? ++number : 0;
}

void roctxRangeStop(uint64_t id)
{
    stopped += id;
}

__attribute__((destructor)) static void tell(void)
{
    printf("%d %llu\n", pushed, (unsigned long long)stopped);
}
