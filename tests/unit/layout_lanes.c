/* Lanes: the rule against a slow copy of its definition, its balance against
 * the bound that is known for it, and that dp never decides who adds what. */
#include "engine/base/philox.h"
#include "engine/layout/lanes.h"
#include "tests/tap.h"

#define MAX_N 60

/* The definition, word by word: choose the longest left, then the lane. */
static void
by_definition(const int64_t *lengths, int n, int lanes, int *lane)
{
    int64_t tokens[MAX_N] = {0}, samples[MAX_N] = {0};
    for (int i = 0; i < n; i++)
        lane[i] = -1;
    for (int step = 0; step < n; step++) {
        int pick = -1, to = 0;
        for (int i = 0; i < n; i++)
            if (lane[i] < 0 && (pick < 0 || lengths[i] > lengths[pick]))
                pick = i;
        for (int l = 1; l < lanes; l++)
            if (tokens[l] < tokens[to] ||
                (tokens[l] == tokens[to] && samples[l] < samples[to]))
                to = l;
        lane[pick] = to;
        tokens[to] += lengths[pick];
        samples[to]++;
    }
}

static int64_t
heaviest(const int64_t *lengths, int n, int lanes, const int *lane)
{
    int64_t tokens[MAX_N] = {0}, most = 0;
    for (int i = 0; i < n; i++)
        tokens[lane[i]] += lengths[i];
    for (int l = 0; l < lanes; l++)
        most = tokens[l] > most ? tokens[l] : most;
    return most;
}

/* The best maximum over all lanes^n ways to deal. */
static int64_t
best_possible(const int64_t *lengths, int n, int lanes)
{
    int lane[MAX_N] = {0};
    int64_t best = INT64_MAX;
    for (;;) {
        int64_t most = heaviest(lengths, n, lanes, lane);
        best = most < best ? most : best;
        int i = 0;
        while (i < n && ++lane[i] == lanes)
            lane[i++] = 0;
        if (i == n)
            return best;
    }
}

static void
draw_lengths(uint64_t seed, int n, int64_t most, int64_t *lengths)
{
    rlf_random_key key = {.seed = seed};
    for (int i = 0; i < n; i++)
        lengths[i] = (int64_t)rlf_draw_below(&key, (uint64_t)i, (uint64_t)most);
}

/* The lanes that a sum has, as the text of the tree that made it. */
typedef struct sum {
    char text[512];
} sum;

/* ((0+1)+(2+3))+..., an odd last one goes up: how members of a group add. */
static sum
add_all(const sum *in, int n)
{
    sum level[16];
    for (int i = 0; i < n; i++)
        level[i] = in[i];
    for (; n > 1; n = (n + 1) / 2)
        for (int i = 0; i < n; i += 2) {
            sum pair = level[i];
            if (i + 1 < n)
                snprintf(pair.text, sizeof pair.text, "(%.200s+%.200s)",
                         level[i].text, level[i + 1].text);
            level[i / 2] = pair;
        }
    return level[0];
}

/* Checks that dp members add the tree of all lanes, that each lane has one
 * owner, and that the members' rows are the lanes' rows in their order. */
static bool
adds_alike(const int *lane, int n, int lanes, int dp)
{
    sum all[16], members[16];
    int64_t rows[MAX_N], mine[MAX_N], seen = 0, next = 0;
    for (int l = 0; l < lanes; l++)
        snprintf(all[l].text, sizeof all[l].text, "%d", l);
    rlf_lanes_rows(lane, n, (rlf_range){0, lanes}, rows);
    for (int d = 0; d < dp; d++) {
        rlf_range r = rlf_lanes_part(lanes, dp, d);
        if (r.first != next || r.last <= r.first)
            return false;
        next = r.last;
        members[d] = add_all(all + r.first, (int)(r.last - r.first));
        int64_t count = rlf_lanes_rows(lane, n, r, mine);
        if (memcmp(mine, rows + seen, sizeof *mine * (size_t)count) != 0)
            return false;
        seen += count;
    }
    return next == lanes && seen == n &&
           strcmp(add_all(members, dp).text, add_all(all, lanes).text) == 0;
}

static int64_t
busiest(int lanes, int dp)
{
    int64_t most = 0;
    for (int d = 0; d < dp; d++) {
        int64_t n = rlf_range_size(rlf_lanes_part(lanes, dp, d));
        most = n > most ? n : most;
    }
    return most;
}

/* The most replicas of which none has more than with a power of two of them. */
static bool
replicas_pay(int dp)
{
    int power = 1, got = rlf_lanes_replicas(dp), want = 0;
    while (2 * power <= dp)
        power *= 2;
    for (int n = power; n <= dp; n++)
        if (busiest(128, n) == 128 / power)
            want = n;
    return got == want;
}

int
main(void)
{
    bool same = true, parts = true, balanced = true, pays = true;
    rlf_err err = RLF_ERR_NONE;
    for (uint64_t seed = 0; seed < 400; seed++) {
        int64_t lengths[MAX_N], most = seed % 3 == 0 ? 3 : 1000;
        int got[MAX_N], want[MAX_N], n = (int)(seed % MAX_N);
        int lanes = 1 + (int)(seed / 7 % 12), power = 1 << seed % 5;
        draw_lengths(seed, n, most, lengths);
        rlf_lanes_deal(lengths, n, lanes, &err, got);
        by_definition(lengths, n, lanes, want);
        same &= !memcmp(got, want, sizeof(int) * (size_t)n);
        rlf_lanes_deal(lengths, n, power, &err, got);
        for (int dp = 1; dp <= power; dp++)
            parts &= adds_alike(got, n, power, dp);
    }
    for (int dp = 1; dp <= 128; dp++)
        pays &= replicas_pay(dp);
    ok(same, "400 minibatches: assigned as defined");
    ok(parts, "every dp up to L adds whole lanes in the tree of all");
    ok(pays, "replicas that would only make others wait are left out");
    for (uint64_t seed = 0; seed < 60; seed++) {
        int64_t lengths[MAX_N];
        int lane[MAX_N], n = 8, lanes = 2 + (int)(seed % 2);
        draw_lengths(1000 + seed, n, 100, lengths);
        rlf_lanes_deal(lengths, n, lanes, &err, lane);
        balanced &= 3 * lanes * heaviest(lengths, n, lanes, lane) <=
                    (4 * lanes - 1) * best_possible(lengths, n, lanes);
    }
    ok(balanced, "the heaviest lane is within 4/3 - 1/3L of the best");
    int64_t equal[6] = {5, 5, 5, 5, 5, 5}, none[4] = {0, 0, 0, 0};
    int lane[6];
    rlf_lanes_deal(equal, 6, 3, &err, lane);
    ok(lane[0] == 0 && lane[1] == 1 && lane[2] == 2 && lane[3] == 0 &&
           lane[5] == 2,
       "equal lengths go round");
    rlf_lanes_deal(none, 4, 2, &err, lane);
    ok(lane[0] == 0 && lane[1] == 1 && lane[2] == 0 && lane[3] == 1,
       "empty samples go round too");
    is_int(rlf_lanes_check(2, 4, &err), RLF_USER, "dp beyond the lanes");
    is_str(err.sentence,
           "dp 4 is more than the 2 lanes of the model, so some ranks would "
           "have no samples",
           "says so");
    is_str(err.hint, "write dp: 2 or less, or lanes: 4",
           "and what is possible");
    err = (rlf_err)RLF_ERR_NONE;
    rlf_lanes_check(2, 3, &err);
    is_str(err.hint, "write dp: 2 or less, or lanes: 4", "a power of two");
    is_int(rlf_lanes_check(6, 3, &err), RLF_USER, "lanes in no tree");
    is_int(rlf_lanes_check(2 * RLF_MOST_LANES, 3, &err), RLF_USER,
           "more lanes than a tree has");
    is_int(rlf_lanes_check(RLF_MOST_LANES, 129, &err), RLF_USER,
           "more ranks than lanes");
    is_int(rlf_lanes_check(RLF_MOST_LANES, 128, &err), RLF_OK, "just enough");
    return done();
}
