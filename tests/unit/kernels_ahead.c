/* Whether weights are asked for ahead of their use: decided by trials of both
 * ways, whose times are made up here. */
#include "kernels/cpu/ahead.h"
#include "tests/tap.h"

/* Trials until the decision, with so many seconds a byte; every fifth takes ten
 * times as long. Returns how many there were. */
static int
decide(rlf_ahead *ahead, double without, double with)
{
    bool trial = true;
    int n = 0, with_n = 0;
    for (; n < 1000; n++) {
        bool way = rlf_ahead_ask(ahead, &trial);
        if (!trial)
            break;
        with_n += way;
        rlf_ahead_tell(ahead, way, (way ? with : without) * (n % 5 ? 1 : 10));
    }
    ok(with_n > n / 3 && with_n < 2 * n / 3, "both ways are tried: %d of %d",
       with_n, n);
    return n;
}

/* Parts of a head with an even number of them go both ways. */
static void
test_turns(void)
{
    enum { PARTS = 42, TIMES = 24 };
    rlf_ahead ahead = {0};
    int ways[PARTS] = {0}, both = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < PARTS; i++) {
            bool trial;
            ways[i] += rlf_ahead_ask(&ahead, &trial);
        }
    for (int i = 0; i < PARTS; i++)
        both += ways[i] > 0 && ways[i] < TIMES;
    is_int(both, PARTS, "each part goes both ways in time");
}

int
main(void)
{
    bool trial;
    rlf_ahead ahead = {0};
    ok(!rlf_ahead_way(&ahead), "at first they are not asked for");
    int n = decide(&ahead, 1.0, 0.8);
    ok(n >= 2 * RLF_AHEAD_TRIALS && n < 4 * RLF_AHEAD_TRIALS,
       "decided after %d trials", n);
    ok(rlf_ahead_way(&ahead) && rlf_ahead_ask(&ahead, &trial) && !trial,
       "what is faster when asked for is asked for");
    ahead = (rlf_ahead){0};
    decide(&ahead, 0.8, 1.0);
    ok(!rlf_ahead_way(&ahead) && !rlf_ahead_ask(&ahead, &trial) && !trial,
       "what is slower is not");
    ahead = (rlf_ahead){0};
    decide(&ahead, 1.0, 0.99);
    ok(!rlf_ahead_way(&ahead), "nor what is as fast");
    test_turns();
    return done();
}
