/* Messages between the controller and ranks: random ones of every kind are the
 * same after they were bytes; what is no message is refused, whatever it is.
 * tests/messages has some as bytes, which change with the version alone
 * (RLFLOW_WRITE_GOLDEN=1 writes them anew). */
#include "engine/order/protocol.h"
#include "tests/tap.h"
#include "tests/unit/randomness.h"

#include <unistd.h>

enum { RANKS = 4, NODES = 3, MODELS = 2, COPIES = 2, TIMES = 200, KEPT = 2 };

static rlf_weight_copies copies[MODELS] = {{.n = COPIES}, {.n = 1}};
static rlf_graph graph = {.nodes.count = NODES, .resources.count = MODELS};
static rlf_plan followed = {.graph = &graph, .copies = copies, .ranks = RANKS};

typedef struct maker {
    randomness chance;
    rlf_arena *arena;
} maker;

#define MADE static __attribute__((unused))

/* ---- random messages ---- */

#define NUMBERS(X) \
    X(int)         \
    X(uint32_t)    \
    X(uint64_t)    \
    X(double)
#define IF(of) if ((of) >> kind & 1)

// clang-format off
#define FILLS_ALL(type)                                 \
    MADE void fill_##type(maker *m, type *x);           \
    MADE type *fill_all_##type(maker *m, size_t n)      \
    {                                                   \
        type *x = RLF_NEW_ARRAY(m->arena, type, n + 1); \
        for (size_t i = 0; i < n; i++)                  \
            fill_##type(m, &x[i]);                      \
        return x;                                       \
    }
#define X(type)                                         \
    FILLS_ALL(type)                                     \
    MADE void fill_##type(maker *m, type *x)            \
    {                                                   \
        *x = (type)draw(&m->chance, 1 << 20);           \
        *x = draw(&m->chance, 4) ? *x : (type)-1;       \
    }
NUMBERS(X)
#undef X

static void
fill_bool(maker *m, bool *x)
{
    *x = draw(&m->chance, 2);
}

static const char *
any_text(maker *m)
{
    static const char *const texts[] = {"", "a", "actor.loss", "\xc3\xa9 \n"};
    return texts[draw(&m->chance, 4)];
}

#define FILL_RANK(value) value = draw(&m->chance, RANKS);
#define FILL_NODE(value) value = draw(&m->chance, NODES + 1) - 1;
#define FILL_INSTANCE(value) value = draw(&m->chance, 1000) - 1;
#define FILL_MODEL(value) value = draw(&m->chance, MODELS);
#define FILL_MODEL_IF_ANY(value) FILL_MODEL(value)
#define FILL_COPY(value) value = draw(&m->chance, copies[x->model].n);
#define FILL_NONE(value)
#define FILL_BYTES(value)
#define FILL_CALLS(value)
#define FILL_SECONDS(value)
#define FILL_STEP(value)
#define FILL_TOKENS(value)
#define FILL_TURNS(value)

#define ONE(of, type, name, unit, doc) \
    IF(of) {                           \
        fill_##type(m, &x->name);      \
        FILL_##unit(x->name)           \
    }
#define TEXT(of, name, doc) IF(of) x->name = any_text(m);
#define MAYBE_TEXT(of, name, doc) \
    IF(of) x->name = draw(&m->chance, 2) ? any_text(m) : NULL;
#define COUNT(of, type, name, doc) IF(of) x->name = (type)draw(&m->chance, 5);
#define LIST(of, type, name, count, unit, doc) \
    IF(of) x->name = fill_all_##type(m, (size_t)x->count);
#define MAYBE(of, type, name, count, unit, doc) \
    IF(of) if (draw(&m->chance, 2)) LIST(of, type, name, count, unit, doc)
#define FIXED(of, type, name, n, unit, doc) \
    IF(of) for (int i = 0; i < (n); i++) fill_##type(m, &x->name[i]);
#define FILLS(type, of_kind)                 \
    FILLS_ALL(type)                          \
    MADE void fill_##type(maker *m, type *x) \
    {                                        \
        const unsigned kind = of_kind;
#define GIVEN(type, doc) FILLS(type, 0)
#define RECORD(type, doc) FILLS(type, 0)
#define MESSAGE(type, kinds) FILLS(type, x->kind)
#define END(type) }
#include "engine/order/protocol.def"

/* ---- equality, field by field ---- */

#define SAME_ALL(type)                                                \
    MADE bool same_##type(const type *a, const type *b);              \
    MADE bool same_all_##type(const type *a, const type *b, size_t n) \
    {                                                                 \
        bool same = true;                                             \
        for (size_t i = 0; i < n; i++)                                \
            same &= same_##type(&a[i], &b[i]);                        \
        return same;                                                  \
    }
#define X(type)                                         \
    SAME_ALL(type)                                      \
    MADE bool same_##type(const type *a, const type *b) \
    {                                                   \
        return memcmp(a, b, sizeof *a) == 0;            \
    }
NUMBERS(X)
#undef X

static bool
same_bool(const bool *a, const bool *b)
{
    return *a == *b;
}

static bool
same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Fields that a kind does not have are 0 in both. */
#define ONE(of, type, name, unit, doc) same &= same_##type(&a->name, &b->name);
#define TEXT(of, name, doc) same &= same_text(a->name, b->name);
#define MAYBE_TEXT(of, name, doc) TEXT(of, name, doc)
#define COUNT(of, type, name, doc) same &= a->name == b->name;
#define LIST(of, type, name, count, unit, doc) \
    same &= !a->name == !b->name &&            \
            (!a->name || same_all_##type(a->name, b->name, (size_t)b->count));
#define MAYBE(of, type, name, count, unit, doc) \
    LIST(of, type, name, count, unit, doc)
#define FIXED(of, type, name, n, unit, doc) \
    same &= same_all_##type(a->name, b->name, n);
#define GIVEN(type, doc)                                \
    SAME_ALL(type)                                      \
    MADE bool same_##type(const type *a, const type *b) \
    {                                                   \
        bool same = true;
#define RECORD(type, doc) GIVEN(type, doc)
#define MESSAGE(type, kinds) GIVEN(type, doc) same &= a->kind == b->kind;
#define END(type)    \
        return same; \
    }
#include "engine/order/protocol.def"
// clang-format on

/* ---- checks of both sorts of messages ---- */

typedef struct sort {
    const char *name;
    int kinds;
    const char *const *words;
    rlf_status (*make)(maker *m, int kind, rlf_buf *bytes, rlf_buf *shown);
    /* Is what is read of these bytes what was made, and prints and writes as
     * that? Or the status of reading. */
    rlf_status (*read)(const char *bytes, size_t n, rlf_arena *arena,
                       rlf_err *err, rlf_buf *again, rlf_buf *shown);
} sort;

static bool same_last;
static rlf_rank_command last_command;
static rlf_rank_event last_event;

static rlf_status
make_command(maker *m, int kind, rlf_buf *bytes, rlf_buf *shown)
{
    rlf_err err = RLF_ERR_NONE;
    last_command = (rlf_rank_command){.kind = (rlf_do)kind};
    fill_rlf_rank_command(m, &last_command);
    rlf_rank_command_print(&last_command, shown);
    return rlf_rank_command_write(&last_command, bytes, &err);
}

static rlf_status
make_event(maker *m, int kind, rlf_buf *bytes, rlf_buf *shown)
{
    rlf_err err = RLF_ERR_NONE;
    last_event = (rlf_rank_event){.kind = (rlf_event_kind)kind};
    fill_rlf_rank_event(m, &last_event);
    rlf_rank_event_print(&last_event, shown);
    return rlf_rank_event_write(&last_event, bytes, &err);
}

static rlf_status
read_command(const char *bytes, size_t n, rlf_arena *arena, rlf_err *err,
             rlf_buf *again, rlf_buf *shown)
{
    rlf_rank_command command;
    RLF_TRY(rlf_rank_command_read(bytes, n, &followed, arena, err, &command));
    same_last = same_rlf_rank_command(&last_command, &command);
    rlf_rank_command_print(&command, shown);
    return rlf_rank_command_write(&command, again, err);
}

static rlf_status
read_event(const char *bytes, size_t n, rlf_arena *arena, rlf_err *err,
           rlf_buf *again, rlf_buf *shown)
{
    rlf_rank_event event;
    RLF_TRY(rlf_rank_event_read(bytes, n, &followed, arena, err, &event));
    same_last = same_rlf_rank_event(&last_event, &event);
    rlf_rank_event_print(&event, shown);
    return rlf_rank_event_write(&event, again, err);
}

static const sort sorts[] = {
    {"command", RLF_DO_KINDS, rlf_do_words, make_command, read_command},
    {"event", RLF_EVENT_KINDS, rlf_event_words, make_event, read_event},
};

static bool
equal(const rlf_buf *a, const rlf_buf *b)
{
    return a->n == b->n && (!a->n || memcmp(a->p, b->p, a->n) == 0);
}

/* It is refused as no message, which is no fault of a user. */
static bool
is_torn(const sort *s, const char *bytes, size_t n)
{
    static rlf_arena *arena;
    arena = arena ? arena : rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_buf again = {0}, shown = {0};
    char *copy = malloc(n + 1); /* so that a sanitizer sees what is behind */
    memcpy(copy, bytes, n);
    rlf_status status = s->read(copy, n, arena, &err, &again, &shown);
    free(copy);
    rlf_buf_free(&again);
    rlf_buf_free(&shown);
    rlf_arena_reset(arena);
    return status == RLF_BUG;
}

static void
check_kind(const sort *s, int kind)
{
    maker m = {.chance.key.seed = (uint64_t)kind};
    rlf_err err = RLF_ERR_NONE;
    bool same = true, alike = true, named = true, torn = true;
    for (int i = 0; i < TIMES; i++) {
        rlf_buf bytes = {0}, again = {0}, shown = {0}, after = {0};
        m.arena = rlf_arena_new();
        s->make(&m, kind, &bytes, &shown);
        same_last = false;
        s->read(bytes.p, bytes.n, m.arena, &err, &again, &after);
        same &= same_last;
        alike &= equal(&bytes, &again) && equal(&shown, &after);
        named &=
            strncmp(shown.p + 1, s->words[kind], strlen(s->words[kind])) == 0;
        for (size_t n = 0; n < bytes.n && i < 10; n++)
            torn &= is_torn(s, bytes.p, n);
        rlf_buf_putc(&bytes, 0);
        torn &= is_torn(s, bytes.p, bytes.n);
        rlf_buf_free(&bytes);
        rlf_buf_free(&again);
        rlf_buf_free(&shown);
        rlf_buf_free(&after);
        rlf_arena_free(m.arena);
    }
    ok(same && alike, "%s %s: the same after it was bytes", s->name,
       s->words[kind]);
    ok(named && torn, "... has its word, and none is cut short or longer");
}

static void
check_head(const sort *s)
{
    maker m = {.arena = rlf_arena_new()};
    rlf_err err = RLF_ERR_NONE;
    rlf_buf bytes = {0}, shown = {0}, again = {0};
    s->make(&m, 0, &bytes, &shown);
    bytes.p[0]++;
    rlf_status status =
        s->read(bytes.p, bytes.n, m.arena, &err, &again, &shown);
    ok(status == RLF_USER && strstr(err.sentence, "the same rlflow"),
       "%s of another version: %s", s->name, err.sentence);
    bytes.p[0]--;
    bytes.p[1] = (char)s->kinds;
    ok(is_torn(s, bytes.p, bytes.n), "... of no kind");
    rlf_buf_free(&bytes);
    rlf_buf_free(&shown);
    rlf_buf_free(&again);
    rlf_arena_free(m.arena);
}

/* ---- what is not one of the plan's ---- */

static bool
refuses_command(rlf_rank_command command)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_buf bytes = {0};
    rlf_rank_command_write(&command, &bytes, &err);
    bool torn = is_torn(&sorts[0], bytes.p, bytes.n);
    rlf_buf_free(&bytes);
    return torn;
}

static bool
refuses_event(rlf_rank_event event)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_buf bytes = {0};
    rlf_rank_event_write(&event, &bytes, &err);
    bool torn = is_torn(&sorts[1], bytes.p, bytes.n);
    rlf_buf_free(&bytes);
    return torn;
}

/* A RUN without inputs, whose bytes say that it has so many. */
static bool
refuses_counts(int n)
{
    /* behind version, kind, n, everyone, instance, node, iteration, loop */
    enum { AT = 1 + 1 + 8 + 1 + 4 + 4 + 8 + 1 };
    rlf_err err = RLF_ERR_NONE;
    rlf_buf bytes = {0};
    rlf_rank_command_write(&(rlf_rank_command){.kind = RLF_DO_RUN}, &bytes,
                           &err);
    memcpy(bytes.p + AT, &n, sizeof n);
    bool torn = is_torn(&sorts[0], bytes.p, bytes.n);
    rlf_buf_free(&bytes);
    return torn;
}

static void
check_bounds(void)
{
    const rlf_share share = {.rank = RANKS};
    const rlf_move move = {.from = 0, .to = -1};
    rlf_rank_command weights = {.kind = RLF_DO_WEIGHTS, .model = 1};
    ok(!refuses_command(weights), "a command that is one");
    weights.copy = 1;
    ok(refuses_command(weights), "a copy that the model does not have");
    weights.model = MODELS;
    ok(refuses_command(weights), "no model");
    ok(refuses_command((rlf_rank_command){.node = NODES}), "no node");
    ok(refuses_command((rlf_rank_command){.instance = -2}), "no instance");
    ok(refuses_command((rlf_rank_command){
           .kind = RLF_DO_RUN, .shares = &share, .n_shares = 1}),
       "a share of no rank");
    ok(refuses_command((rlf_rank_command){
           .kind = RLF_DO_EDGE, .moves = &move, .n_moves = 1}),
       "a message to no rank");
    ok(refuses_counts(-1) && refuses_counts(1 << 30) && !refuses_counts(0),
       "fewer inputs than none, or more than there are bytes for");
    ok(refuses_command((rlf_rank_command){.kind = RLF_DO_SAVE}),
       "a checkpoint without a directory");
    ok(!refuses_event((rlf_rank_event){.rank = RANKS - 1}),
       "an event that is one");
    ok(refuses_event((rlf_rank_event){.rank = RANKS}), "an event of no rank");
}

/* ---- bytes that are kept ---- */

static void
write_kept(const char *path, const rlf_buf *bytes)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes->p, 1, bytes->n, f) != bytes->n || fclose(f) != 0)
        bail("cannot write %s", path);
}

static bool
is_kept(const char *path, const rlf_buf *bytes)
{
    char kept[4096];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(kept, 1, sizeof kept, f) : 0;
    if (f)
        fclose(f);
    return n == bytes->n && memcmp(kept, bytes->p, n) == 0;
}

/* The first byte says which sort it is, for fuzz_messages.c. */
static void
check_kept(void)
{
    const char *source = getenv("RLFLOW_SOURCE");
    bool good = true;
    int n = 0;
    for (int k = 0; k < 2; k++)
        for (int kind = 0; kind < sorts[k].kinds; kind++)
            for (int i = 0; i < KEPT; i++, n++) {
                char path[4000];
                maker m = {.chance.key.seed = 100 + (uint64_t)i,
                           .arena = rlf_arena_new()};
                rlf_buf bytes = {0}, shown = {0};
                rlf_buf_putc(&bytes, (char)k);
                sorts[k].make(&m, kind, &bytes, &shown);
                snprintf(path, sizeof path, "%s/tests/messages/%s-%s-%d",
                         source ? source : ".", sorts[k].name,
                         sorts[k].words[kind], i);
                if (getenv("RLFLOW_WRITE_GOLDEN"))
                    write_kept(path, &bytes);
                if (!is_kept(path, &bytes))
                    note("%s has other bytes", path);
                good &= is_kept(path, &bytes);
                rlf_buf_free(&bytes);
                rlf_buf_free(&shown);
                rlf_arena_free(m.arena);
            }
    ok(good && n == KEPT * (RLF_DO_KINDS + RLF_EVENT_KINDS),
       "the bytes of version %d are those of tests/messages: if they are to "
       "change, so is the version",
       RLF_PROTOCOL);
}

int
main(void)
{
    for (int s = 0; s < 2; s++) {
        for (int kind = 0; kind < sorts[s].kinds; kind++)
            check_kind(&sorts[s], kind);
        check_head(&sorts[s]);
    }
    check_bounds();
    check_kept();
    return done();
}
