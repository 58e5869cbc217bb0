/* The cases that every transport passes: each is run by all ranks of a world
 * and counts what is wrong. The oracles make every rank's values themselves and
 * add them by the definition of the tree, level by level. */
#ifndef RLF_TESTS_COMM_CASES_H
#define RLF_TESTS_COMM_CASES_H

#include "engine/base/clock.h"
#include "engine/base/half.h"
#include "engine/base/hash.h"
#include "engine/base/vec.h"
#include "engine/comm/mail.h"
#include "tests/mistakes.h"
#include "tests/tap.h"

#define WORLD_MOST 8
#define LARGE 300007

/* A member of the world: a rank, or the controller, that runs the cases. */
typedef struct member {
    rlf_comm *comm;
    int rank, size;
    mistakes mistakes;
} member;

#define EXPECT_OK(s, call)                                           \
    do {                                                             \
        rlf_err err = RLF_ERR_NONE;                                  \
        rlf_status status_ = (call);                                 \
        expect(s, status_ == RLF_OK, "%s: %s", #call, err.sentence); \
    } while (0)

static uint64_t
mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Element i of member `who`: of many magnitudes, so that order shows. */
static double
value(int type, int who, size_t i)
{
    uint64_t bits = mix((uint64_t)who * 0x9e3779b97f4a7c15u + i + 1);
    double x = (double)(int64_t)(bits >> 40) - 0x1p23;
    if (type == RLF_COMM_I32 || type == RLF_COMM_I64)
        return x;
    return x * (double)(1 << bits % 25) * 0x1p-40;
}

static void
put(void *to, int type, size_t i, double x)
{
    switch (type) {
    case RLF_COMM_F32:
        ((float *)to)[i] = (float)x;
        break;
    case RLF_COMM_F64:
        ((double *)to)[i] = x;
        break;
    case RLF_COMM_I32:
        ((int32_t *)to)[i] = (int32_t)x;
        break;
    case RLF_COMM_BF16:
        ((uint16_t *)to)[i] = rlf_f32_to_bf16((float)x);
        break;
    default:
        ((int64_t *)to)[i] = (int64_t)x;
    }
}

/* As the type can say it. */
static double
rounded(int type, double x)
{
    if (type == RLF_COMM_BF16)
        return (double)rlf_bf16_to_f32(rlf_f32_to_bf16((float)x));
    return type == RLF_COMM_F32 ? (double)(float)x : x;
}

static double
combine(int type, int op, double a, double b)
{
    if (op == RLF_COMM_MAX)
        return a > b ? a : b;
    if (op == RLF_COMM_MIN)
        return a < b ? a : b;
    if (type == RLF_COMM_F32 || type == RLF_COMM_BF16)
        return rounded(type, (double)((float)a + (float)b));
    return a + b;
}

/* The tree over who[0..n): neighbours, then pairs of pairs... */
static double
tree(int type, int op, const int *who, int n, size_t i)
{
    double level[64];
    for (int m = 0; m < n; m++)
        level[m] = rounded(type, value(type, who[m], i));
    for (; n > 1; n = (n + 1) / 2)
        for (int m = 0; m < (n + 1) / 2; m++)
            level[m] = 2 * m + 1 < n
                           ? combine(type, op, level[2 * m], level[2 * m + 1])
                           : level[2 * m];
    return level[0];
}

static const int everyone[WORLD_MOST] = {0, 1, 2, 3, 4, 5, 6, 7};

static void *
filled(int type, int who, size_t n)
{
    size_t size = rlf_comm_type_size((rlf_comm_type)type);
    char *data = rlf_calloc(n + 1, size);
    for (size_t i = 0; i < n; i++)
        put(data, type, i, value(type, who, i));
    return data;
}

/* Elements first, first + 1... of the result against the tree; of long results
 * every 61st. */
static bool
is_tree(int type, int op, const int *who, int n_who, const void *got,
        size_t first, size_t n)
{
    size_t size = rlf_comm_type_size((rlf_comm_type)type);
    for (size_t i = 0; i<n; i += n> 10000 && i + 61 < n ? 61 : 1) {
        char want[8];
        put(want, type, 0, tree(type, op, who, n_who, first + i));
        if (memcmp((const char *)got + i * size, want, size) != 0)
            return false;
    }
    return true;
}

static const size_t lengths[] = {0, 1, 7, 1000, 5000, LARGE};

/* -- the collectives that add ------------------------------------------- */

/* Since `before` the rank has met others so often, however that was done. */
static void
expect_met(member *s, uint64_t before, uint64_t times, const char *what)
{
    uint64_t met = rlf_comm_met(s->comm) - before;
    expect(s, met == (s->size > 1 ? times : 0), "%s: %llu meetings, not %llu",
           what, (unsigned long long)met, (unsigned long long)times);
}

static void
all_reduce_one(member *s, int type, int op, size_t n, bool in_place)
{
    uint64_t before = rlf_comm_met(s->comm);
    size_t size = rlf_comm_type_size((rlf_comm_type)type);
    void *in = filled(type, s->rank, n);
    void *out = in_place ? in : rlf_calloc(n + 1, size);
    EXPECT_OK(s,
              rlf_group_all_reduce(rlf_group_world(s->comm), in, out, n,
                                   (rlf_comm_type)type, (rlf_comm_op)op, &err));
    expect(s, is_tree(type, op, everyone, s->size, out, 0, n),
           "all-reduce of %zu, type %d, op %d", n, type, op);
    expect_met(s, before, n > 0, "all-reduce");
    if (!in_place)
        free(out);
    free(in);
}

static void
case_all_reduce(member *s)
{
    for (int type = 0; type < RLF_COMM_TYPES; type++)
        for (int op = 0; op < RLF_COMM_OPS; op++)
            for (size_t l = 0; l < RLF_COUNT(lengths); l++)
                if (lengths[l] != LARGE || op + type == 0)
                    all_reduce_one(s, type, op, lengths[l], l % 2);
    all_reduce_one(s, RLF_COMM_F64, RLF_COMM_SUM, LARGE, false);
}

/* counts[i] for member i: none for some, more for others. */
static void
uneven(size_t scale, int n, size_t *counts)
{
    for (int i = 0; i < n; i++)
        counts[i] = i % 3 == 1 ? 0 : scale * (size_t)(i + 1) + (size_t)i;
}

static void
reduce_scatter_one(member *s, int type, size_t scale, bool in_place)
{
    size_t size = rlf_comm_type_size((rlf_comm_type)type);
    size_t counts[WORLD_MOST], n = 0, mine = 0;
    uneven(scale, s->size, counts);
    for (int i = 0; i < s->size; i++) {
        mine = i == s->rank ? n : mine;
        n += counts[i];
    }
    char *in = filled(type, s->rank, n);
    char *other = rlf_calloc(counts[s->rank] + 1, size);
    char *out = in_place ? in + mine * size : other;
    uint64_t before = rlf_comm_met(s->comm);
    EXPECT_OK(s, rlf_group_reduce_scatter(rlf_group_world(s->comm), in, out,
                                          counts, (rlf_comm_type)type,
                                          RLF_COMM_SUM, &err));
    expect(s,
           is_tree(type, RLF_COMM_SUM, everyone, s->size, out, mine,
                   counts[s->rank]),
           "reduce-scatter, scale %zu, type %d", scale, type);
    expect_met(s, before, 1, "reduce-scatter");
    free(in);
    free(other);
}

static void
case_reduce_scatter(member *s)
{
    static const size_t scales[] = {0, 1, 500, 100000};
    for (size_t k = 0; k < RLF_COUNT(scales); k++)
        for (int in_place = 0; in_place < 2; in_place++) {
            reduce_scatter_one(s, RLF_COMM_F32, scales[k], in_place);
            if (scales[k] <= 500)
                reduce_scatter_one(s, RLF_COMM_BF16, scales[k], in_place);
        }
}

/* Not a number stays one; integers wrap. */
static void
case_edges(member *s)
{
    float x = s->rank == s->size / 2 ? NAN : (float)s->rank;
    for (int op = RLF_COMM_MAX; op <= RLF_COMM_MIN; op++) {
        float y = 0;
        EXPECT_OK(s, rlf_group_all_reduce(rlf_group_world(s->comm), &x, &y, 1,
                                          RLF_COMM_F32, (rlf_comm_op)op, &err));
        expect(s, isnan(y), "op %d loses a NaN", op);
    }
    uint16_t half = rlf_f32_to_bf16(x), most = 0;
    EXPECT_OK(s, rlf_group_all_reduce(rlf_group_world(s->comm), &half, &most, 1,
                                      RLF_COMM_BF16, RLF_COMM_MAX, &err));
    expect(s, isnan(rlf_bf16_to_f32(most)), "the largest of bf16 loses a NaN");
    int32_t large = INT32_MAX, sum = 0;
    EXPECT_OK(s, rlf_group_all_reduce(rlf_group_world(s->comm), &large, &sum, 1,
                                      RLF_COMM_I32, RLF_COMM_SUM, &err));
    expect(s, sum == (int32_t)((uint32_t)INT32_MAX * (uint32_t)s->size),
           "a sum of large integers");
}

/* Of all-reduce over 1..8 ranks. Eight partial sums, however many ranks hold
 * them, give that of eight. */
#define SHARDS 8
static const uint64_t world_hash[WORLD_MOST] = {
    0x0510a609585ceb6b, 0xc5ba74cb7ee1572b, 0x0e30317a71ef2d2e,
    0x29c989ff2748c942, 0x3e6da6e85c01ba7e, 0x46b2178358ec5235,
    0x658f3b73a267531e, 0xfa7dbba41e470d35};

static void
case_bits(member *s)
{
    enum { N = 10007 };
    float *own = filled(RLF_COMM_F32, s->rank, N);
    EXPECT_OK(s, rlf_group_all_reduce(rlf_group_world(s->comm), own, own, N,
                                      RLF_COMM_F32, RLF_COMM_SUM, &err));
    uint64_t hash = rlf_hash(RLF_HASH_INIT, own, N * sizeof *own);
    expect(s, hash == world_hash[s->size - 1], "hash %#llx of %d ranks",
           (unsigned long long)hash, s->size);
    expect(s, is_tree(RLF_COMM_F32, RLF_COMM_SUM, everyone, s->size, own, 0, N),
           "the sum itself");
    if (SHARDS % s->size == 0) {
        int each = SHARDS / s->size;
        const void *parts[SHARDS];
        for (int i = 0; i < each; i++)
            parts[i] = filled(RLF_COMM_F32, s->rank * each + i, N);
        rlf_comm_fold(own, parts, each, N, RLF_COMM_F32, RLF_COMM_SUM);
        EXPECT_OK(s, rlf_group_all_reduce(rlf_group_world(s->comm), own, own, N,
                                          RLF_COMM_F32, RLF_COMM_SUM, &err));
        hash = rlf_hash(RLF_HASH_INIT, own, N * sizeof *own);
        expect(s, hash == world_hash[SHARDS - 1],
               "hash %#llx of %d shards on %d ranks", (unsigned long long)hash,
               SHARDS, s->size);
        for (int i = 0; i < each; i++)
            free((void *)parts[i]);
    }
    free(own);
}

/* -- the collectives that move ------------------------------------------ */

/* Bytes i..i+7 of what goes from one to the other. */
static uint64_t
bytes_of(int from, int to, size_t i)
{
    return mix((uint64_t)(from * 64 + to + 1) * 1000003 + i);
}

static void
bytes_fill(unsigned char *p, int from, int to, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t x = bytes_of(from, to, i);
        memcpy(p + i, &x, n - i < 8 ? n - i : 8);
    }
}

static bool
bytes_are(const unsigned char *p, int from, int to, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t x = bytes_of(from, to, i);
        if (memcmp(p + i, &x, n - i < 8 ? n - i : 8) != 0)
            return false;
    }
    return true;
}

static void
case_bcast(member *s)
{
    unsigned char *data = rlf_malloc(LARGE);
    for (int root = 0; root < s->size; root++)
        for (size_t l = 0; l < RLF_COUNT(lengths); l++) {
            memset(data, 0xee, lengths[l]);
            if (s->rank == root)
                bytes_fill(data, root, 99, lengths[l]);
            uint64_t before = rlf_comm_met(s->comm);
            EXPECT_OK(s, rlf_group_bcast(rlf_group_world(s->comm), root, data,
                                         lengths[l], &err));
            expect_met(s, before, lengths[l] > 0, "bcast");
            expect(s, bytes_are(data, root, 99, lengths[l]),
                   "bcast of %zu from %d", lengths[l], root);
        }
    free(data);
}

static void
case_all_gather(member *s)
{
    for (size_t l = 0; l < RLF_COUNT(lengths); l++) {
        size_t n = lengths[l];
        unsigned char *own = rlf_malloc(n + 1);
        unsigned char *all = rlf_malloc(n * (size_t)s->size + 1);
        unsigned char *place = all + n * (size_t)s->rank;
        bytes_fill(l % 2 ? place : own, s->rank, 98, n);
        uint64_t before = rlf_comm_met(s->comm);
        EXPECT_OK(s, rlf_group_all_gather(rlf_group_world(s->comm),
                                          l % 2 ? place : own, n, all, &err));
        expect_met(s, before, 1, "all-gather");
        for (int i = 0; i < s->size; i++)
            expect(s, bytes_are(all + n * (size_t)i, i, 98, n),
                   "all-gather of %zu, block %d", n, i);
        free(own);
        free(all);
    }
}

static void
case_all_gatherv(member *s)
{
    static const size_t scales[] = {0, 1, 700, 100000};
    for (size_t k = 0; k < RLF_COUNT(scales); k++) {
        size_t bytes[WORLD_MOST], n = 0;
        uneven(scales[k], s->size, bytes);
        for (int i = 0; i < s->size; i++)
            n += bytes[i];
        unsigned char *own = rlf_malloc(bytes[s->rank] + 1);
        unsigned char *all = rlf_malloc(n + 1), *at = all;
        bytes_fill(own, s->rank, 97, bytes[s->rank]);
        EXPECT_OK(s, rlf_group_all_gatherv(rlf_group_world(s->comm), own, bytes,
                                           all, &err));
        for (int i = 0; i < s->size; at += bytes[i++])
            expect(s, bytes_are(at, i, 97, bytes[i]),
                   "all-gatherv, scale %zu, block %d", scales[k], i);
        free(own);
        free(all);
    }
}

/* Nobody leaves before the last has come (one clock a machine). */
static void
case_barrier(member *s)
{
    for (int late = 0; late < s->size; late++) {
        if (s->rank == late)
            rlf_clock_sleep(3000000);
        uint64_t times[WORLD_MOST], came = rlf_clock_now();
        EXPECT_OK(s, rlf_group_barrier(rlf_group_world(s->comm), &err));
        uint64_t left = rlf_clock_now();
        EXPECT_OK(s, rlf_group_all_gather(rlf_group_world(s->comm), &came,
                                          sizeof came, times, &err));
        for (int i = 0; i < s->size; i++)
            expect(s, left >= times[i], "left before rank %d came", i);
    }
}

/* -- batches ------------------------------------------------------------- */

#define TAGS 3

typedef struct message {
    int from, to, tag;
    size_t bytes;
} message;

/* The messages of a round are the same list on every rank. */
static int
draw_messages(const member *s, int round, message *messages, int most)
{
    static const size_t sizes[] = {0, 1, 64, 1024, 1025, 5000, 70000};
    int n = most / 2 + (int)(mix((uint64_t)round) % (uint64_t)(most / 2));
    for (int i = 0; i < n; i++) {
        uint64_t r = mix((uint64_t)(round * 1000 + i + 7));
        messages[i] = (message){.from = (int)(r % (uint64_t)s->size),
                                .to = (int)((r >> 8) % (uint64_t)s->size),
                                .tag = (int)((r >> 16) % TAGS),
                                .bytes = sizes[(r >> 24) % RLF_COUNT(sizes)]};
    }
    return n;
}

static rlf_status
poll_until_done(rlf_batch **batch, rlf_err *err)
{
    rlf_status status;
    while ((status = rlf_batch_test(batch, err)) == RLF_AGAIN)
        rlf_clock_sleep(1000);
    return status;
}

/* One batch a tag, started and awaited in an order of each rank's own. */
static void
random_round(member *s, int round)
{
    enum { MOST = 120 };
    message messages[MOST];
    unsigned char *buffers[MOST] = {NULL};
    int n = draw_messages(s, round, messages, MOST);
    rlf_batch *batches[TAGS] = {NULL};
    uint64_t own = mix((uint64_t)(round * 64 + s->rank));
    uint64_t before = rlf_comm_met(s->comm), messages_in = 0;
    for (int i = 0; i < n; i++)
        messages_in += messages[i].to == s->rank && messages[i].from != s->rank;
    for (int k = 0; k < TAGS; k++) {
        int tag = (int)((own + (uint64_t)k) % TAGS), n_out = 0, n_in = 0;
        rlf_part out[MOST], in[MOST];
        for (int i = 0; i < n; i++) {
            message *l = &messages[i];
            if (l->tag != tag || (l->from != s->rank && l->to != s->rank))
                continue;
            buffers[i] = rlf_calloc(2, l->bytes + 1);
            if (l->from == s->rank) {
                bytes_fill(buffers[i], l->from + 9 * i, l->to, l->bytes);
                out[n_out++] = (rlf_part){l->to, buffers[i], l->bytes};
            }
            if (l->to == s->rank)
                in[n_in++] =
                    (rlf_part){l->from, buffers[i] + l->bytes, l->bytes};
        }
        EXPECT_OK(s, rlf_group_start(rlf_group_world(s->comm), tag, out, n_out,
                                     in, n_in, &batches[tag], &err));
    }
    for (int k = 0; k < TAGS; k++) {
        rlf_batch **b = &batches[(own / TAGS + (uint64_t)k) % TAGS];
        if (k == 0)
            EXPECT_OK(s, poll_until_done(b, &err));
        else
            EXPECT_OK(s, rlf_batch_wait(b, &err));
    }
    expect_met(s, before, messages_in, "messages");
    for (int i = 0; i < n; i++) {
        message *l = &messages[i];
        if (l->to == s->rank && buffers[i])
            expect(s,
                   bytes_are(buffers[i] + l->bytes, l->from + 9 * i, l->to,
                             l->bytes),
                   "round %d, message %d of %zu bytes from %d to %d", round, i,
                   l->bytes, l->from, l->to);
        free(buffers[i]);
    }
}

/* -- strips -------------------------------------------------------------- */

/* Cut `bytes` bytes into strips of their own rows and gaps, from `room` on.
 * Returns their number; *end: behind the last. */
static int
cut_strips(uint64_t seed, size_t bytes, unsigned char *room,
           rlf_strided_rows *list, unsigned char **end)
{
    int n = 0;
    for (uint64_t i = 0; bytes; i++) {
        uint64_t x = mix(seed * 1000 + i);
        size_t row = x % 97 % bytes + 1, rows = x / 97 % 40 % (bytes / row) + 1;
        if (i == 12) { /* the rest in one piece */
            row = bytes;
            rows = 1;
        }
        size_t stride = row + (x / 3880 % 3 ? x / 11640 % 33 : 0);
        list[n++] = (rlf_strided_rows){room, row, stride, rows};
        room += stride * rows;
        bytes -= row * rows;
        if (i == 3) /* an empty one is one too */
            list[n++] = (rlf_strided_rows){room, 5, 9, 0};
    }
    *end = room;
    return n;
}

/* The k-th byte that goes in a round from one rank to another. */
static unsigned char
strip_byte(int round, int from, size_t k)
{
    return (unsigned char)mix((uint64_t)(round * 64 + from) << 32 | k);
}

/* Bytes of strips from the first on: written (want 0), or counted if wrong. */
static int64_t
walk_strips(const rlf_strided_rows *list, int n, int round, int from,
            bool write)
{
    size_t k = 0;
    int64_t wrong = 0;
    for (int i = 0; i < n; i++)
        for (size_t y = 0; y < list[i].rows; y++)
            for (size_t x = 0; x < list[i].bytes; x++, k++) {
                unsigned char *p = list[i].data;
                p += y * list[i].stride + x;
                if (write)
                    *p = strip_byte(round, from, k);
                else
                    wrong += *p != strip_byte(round, from, k);
            }
    return wrong;
}

/* To the next rank, itself where there is none, in other strips than it was.
 * Nothing but the strips is written. */
static void
case_strips(member *s)
{
    enum { MOST = 16, ROOM = 1 << 19 };
    static const size_t sizes[] = {0, 1, 40, 1000, 1024, 1025, 5000, 100000};
    unsigned char *a = rlf_calloc(1, ROOM), *b = rlf_malloc(ROOM), *end;
    rlf_group *all = rlf_group_world(s->comm);
    int next = (s->rank + 1) % s->size,
        before = (s->rank + s->size - 1) % s->size;
    for (int round = 0; round < (quick() ? 16 : 64); round++) {
        size_t bytes = sizes[(size_t)round % RLF_COUNT(sizes)];
        rlf_strided_rows from[MOST], to[MOST];
        int n =
            cut_strips((uint64_t)(round * 64 + s->rank), bytes, a, from, &end);
        int m = cut_strips((uint64_t)(round * 64 + s->rank + 7), bytes, b, to,
                           &end);
        walk_strips(from, n, round, s->rank, true);
        memset(b, 0, (size_t)(end - b) + 1);
        rlf_strided_message out = {next, from, n}, in = {before, to, m};
        EXPECT_OK(s, rlf_group_exchange_strided(all, 3, &out, 1, &in, 1, &err));
        expect(s, walk_strips(to, m, round, before, false) == 0,
               "%zu bytes in %d strips come in %d", bytes, n, m);
        for (int i = 0; i < m; i++)
            for (size_t y = 0; y < to[i].rows; y++)
                memset((char *)to[i].data + y * to[i].stride, 0, to[i].bytes);
        size_t touched = 0;
        for (unsigned char *p = b; p <= end; p++)
            touched += *p != 0;
        expect(s, touched == 0, "%zu bytes beside strips are written", touched);
    }
    free(a);
    free(b);
}

static void
case_random(member *s)
{
    for (int round = 0; round < (quick() ? 10 : 24); round++)
        random_round(s, round);
}

/* Many small sends before the first receive: more than are copied at once. */
static void
case_flood(member *s)
{
    enum { MANY = 200 };
    int next = (s->rank + 1) % s->size;
    int before = (s->rank + s->size - 1) % s->size;
    int out[MANY], in[MANY];
    rlf_batch *batches[MANY];
    for (int i = 0; i < MANY; i++) {
        out[i] = s->rank * 1000 + i;
        rlf_part part = {next, &out[i], sizeof out[i]};
        EXPECT_OK(s, rlf_group_start(rlf_group_world(s->comm), 5, &part, 1,
                                     NULL, 0, &batches[i], &err));
    }
    for (int i = 0; i < MANY; i++) {
        rlf_part part = {before, &in[i], sizeof in[i]};
        rlf_batch *batch = NULL;
        EXPECT_OK(s, rlf_group_start(rlf_group_world(s->comm), 5, NULL, 0,
                                     &part, 1, &batch, &err));
        EXPECT_OK(s, rlf_batch_wait(&batch, &err));
        expect(s, in[i] == before * 1000 + i, "message %d of a flood", i);
    }
    for (int i = 0; i < MANY; i++)
        EXPECT_OK(s, rlf_batch_wait(&batches[i], &err));
}

/* -- groups -------------------------------------------------------------- */

static void
group_sum(member *s, const int *ranks, int n)
{
    bool within = false;
    for (int i = 0; i < n; i++)
        within |= ranks[i] == s->rank;
    if (!within)
        return;
    rlf_group *group = NULL;
    EXPECT_OK(s, rlf_group_new(s->comm, ranks, n, &group, &err));
    for (size_t l = 1; l < RLF_COUNT(lengths) - 1; l++) {
        float *data = filled(RLF_COMM_F32, s->rank, lengths[l]);
        EXPECT_OK(s, rlf_group_all_reduce(group, data, data, lengths[l],
                                          RLF_COMM_F32, RLF_COMM_SUM, &err));
        expect(
            s,
            is_tree(RLF_COMM_F32, RLF_COMM_SUM, ranks, n, data, 0, lengths[l]),
            "sum of %zu in a group of %d from %d", lengths[l], n, ranks[0]);
        free(data);
    }
    rlf_group_free(group);
}

/* Evens, odds, all backwards, and neighbours that overlap, in one order. */
static void
case_groups(member *s)
{
    int ranks[WORLD_MOST];
    for (int odd = 0; odd < 2; odd++) {
        int n = 0;
        for (int r = odd; r < s->size; r += 2)
            ranks[n++] = r;
        if (n)
            group_sum(s, ranks, n);
    }
    for (int i = 0; i < s->size; i++)
        ranks[i] = s->size - 1 - i;
    group_sum(s, ranks, s->size);
    for (int first = 0; first + 1 < s->size; first++)
        for (int n = 2; n <= 3 && first + n <= s->size; n++) {
            for (int i = 0; i < n; i++)
                ranks[i] = first + i;
            group_sum(s, ranks, n);
        }
    rlf_err err = RLF_ERR_NONE;
    rlf_group *group;
    int twice[2] = {s->rank, s->rank}, other = s->size;
    expect(s, rlf_group_new(s->comm, twice, 2, &group, &err) == RLF_BUG,
           "a rank twice in a group");
    err = (rlf_err)RLF_ERR_NONE;
    expect(s, rlf_group_new(s->comm, &other, 1, &group, &err) == RLF_BUG,
           "a group beyond the world");
}

/* -- mail ---------------------------------------------------------------- */

#define MAILS 20

typedef struct note_text {
    int from, number;
    char text[40];
} note_text;

/* Beside the ranks, in process 0: hears MAILS messages of every rank and
 * answers each. */
__attribute__((unused)) static void *
controller_main(void *arg)
{
    member *s = arg;
    int heard[WORLD_MOST] = {0};
    char room[512];
    for (int i = 0; i < MAILS * s->size; i++) {
        rlf_mail mail = {0};
        EXPECT_OK(s, rlf_mail_wait(s->comm, 20, room, &mail, &err));
        note_text *t = (note_text *)room;
        expect(s, mail.bytes == sizeof *t && t->from == mail.from,
               "mail from %d says %d", mail.from, t->from);
        if (s->mistakes.wrong)
            return NULL;
        expect(s, t->number == heard[t->from]++, "mail %d of rank %d",
               t->number, t->from);
        note_text answer = {RLF_CONTROLLER, t->number, "heard"};
        EXPECT_OK(
            s, rlf_mail_post(s->comm, t->from, &answer, sizeof answer, &err));
    }
    return NULL;
}

/* The rank's side; and a message to the next rank, past the controller. */
static void
case_mail(member *s)
{
    char room[512];
    for (int i = 0; i < MAILS; i++) {
        note_text t = {s->rank, i, "hello"};
        EXPECT_OK(s,
                  rlf_mail_post(s->comm, RLF_CONTROLLER, &t, sizeof t, &err));
    }
    for (int i = 0; i < MAILS; i++) {
        rlf_mail mail = {0};
        EXPECT_OK(s, rlf_mail_wait(s->comm, 20, room, &mail, &err));
        note_text *t = (note_text *)room;
        expect(s,
               mail.from == RLF_CONTROLLER && t->number == i &&
                   strcmp(t->text, "heard") == 0,
               "answer %d from %d", i, mail.from);
    }
    EXPECT_OK(s, rlf_group_barrier(rlf_group_world(s->comm), &err));
    int next = (s->rank + 1) % s->size;
    EXPECT_OK(s, rlf_mail_post(s->comm, next, NULL, 0, &err));
    rlf_mail mail = {.from = -9};
    EXPECT_OK(s, rlf_mail_wait(s->comm, 20, room, &mail, &err));
    expect(s, mail.from == (s->rank + s->size - 1) % s->size && !mail.bytes,
           "an empty message from %d", mail.from);
    rlf_err err = RLF_ERR_NONE;
    expect(s, rlf_mail_poll(s->comm, room, &mail, &err) == RLF_AGAIN,
           "the box is not empty");
    expect(s, rlf_mail_wait(s->comm, 0.001, room, &mail, &err) == RLF_AGAIN,
           "a wait for nothing");
}

/* -- the table ----------------------------------------------------------- */

typedef struct comm_case {
    const char *name;
    void (*run)(member *s);
} comm_case;

static const comm_case comm_cases[] = {
    {"all-reduce", case_all_reduce},
    {"reduce-scatter", case_reduce_scatter},
    {"NaN and large integers", case_edges},
    {"bits of a sum", case_bits},
    {"bcast", case_bcast},
    {"all-gather", case_all_gather},
    {"all-gatherv", case_all_gatherv},
    {"barrier", case_barrier},
    {"random batches", case_random},
    {"strips", case_strips},
    {"a flood of small messages", case_flood},
    {"groups", case_groups},
    {"mail", case_mail},
};
#define N_CASES RLF_COUNT(comm_cases)

#endif
