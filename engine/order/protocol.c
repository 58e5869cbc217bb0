/* The bytes of commands and events, and how they are printed: see protocol.h.
 *
 * Each part walks the table protocol.def: a function for each type of a field,
 * written by hand for numbers and texts, made of the table for records and for
 * the messages themselves.
 *
 * A message is its version and its kind, a byte each, and the fields of that
 * kind. Numbers are in the machine's own form: what differs between machines
 * differs in version, or cannot be started together (engine/comm). Nothing that
 * is read is trusted: lengths not, nor what stands for a rank or a node. */
#include "engine/order/protocol.h"

#include <inttypes.h>
#include <string.h>

/* Of what is made for a type, not all is needed. */
#define MADE static __attribute__((unused))

/* Types of numbers, with what prints them. */
#define NUMBERS(X)              \
    X(int, "%d", *x)            \
    X(uint32_t, "%" PRIu32, *x) \
    X(uint64_t, "%" PRIu64, *x) \
    X(double, "%g", *x)

// clang-format off
const rlf_party rlf_do_party[RLF_DO_KINDS] = {
#define COMMAND(NAME, word, who, doing, doc) RLF_PARTY_##who,
#include "engine/order/protocol.def"
};
const char *const rlf_do_words[RLF_DO_KINDS] = {
#define COMMAND(NAME, word, who, doing, doc) #word,
#include "engine/order/protocol.def"
};
const char *const rlf_do_doing[RLF_DO_KINDS] = {
#define COMMAND(NAME, word, who, doing, doc) doing,
#include "engine/order/protocol.def"
};
const char *const rlf_event_words[RLF_EVENT_KINDS] = {
#define EVENT(NAME, word, doc) #word,
#include "engine/order/protocol.def"
};
// clang-format on

/* ---- writing ---- */

/* Counts bytes, and puts them where there is room for them. */
typedef struct writer {
    char *to; /* NULL: they are counted */
    size_t n;
} writer;

static void
put(writer *w, const void *p, size_t n)
{
    if (w->to && n)
        memcpy(w->to + w->n, p, n);
    w->n += n;
}

#define X(type, form, value)                                     \
    MADE void put_##type(writer *w, const type *x)               \
    {                                                            \
        put(w, x, sizeof *x);                                    \
    }                                                            \
    MADE void put_all_##type(writer *w, const type *x, size_t n) \
    {                                                            \
        put(w, x, n * sizeof *x);                                \
    }
NUMBERS(X)
#undef X

static void
put_bool(writer *w, const bool *x)
{
    uint8_t byte = *x;
    put(w, &byte, 1);
}

static void
put_text(writer *w, const char *text)
{
    uint32_t length = text ? (uint32_t)strlen(text) + 1 : 0;
    put_uint32_t(w, &length);
    if (text)
        put(w, text, length - 1);
}

// clang-format off
#define ONE(of, type, name, unit, doc) IF(of) put_##type(w, &x->name);
#define TEXT(of, name, doc) IF(of) put_text(w, x->name);
#define MAYBE_TEXT(of, name, doc) TEXT(of, name, doc)
#define COUNT(of, type, name, doc) IF(of) put_##type(w, &x->name);
#define LIST(of, type, name, count, unit, doc) \
    IF(of) put_all_##type(w, x->name, (size_t)x->count);
#define MAYBE(of, type, name, count, unit, doc)             \
    IF(of) {                                                \
        bool has = x->name != NULL;                         \
        put_bool(w, &has);                                  \
        put_all_##type(w, x->name, has ? (size_t)x->count : 0); \
    }
#define FIXED(of, type, name, n, unit, doc) IF(of) put_all_##type(w, x->name, n);

#define IF(of)
#define GIVEN(type, doc)                                        \
    MADE void put_##type(writer *w, const type *x);             \
    MADE void put_all_##type(writer *w, const type *x, size_t n) \
    {                                                           \
        for (size_t i = 0; i < n; i++)                          \
            put_##type(w, &x[i]);                               \
    }                                                           \
    MADE void put_##type(writer *w, const type *x)              \
    {
#define RECORD(type, doc) GIVEN(type, doc)
#define END(type) }
#include "engine/order/protocol.def"

static void
put_command(writer *w, const rlf_rank_command *x)
{
#define IF(of) if ((of) >> x->kind & 1)
#define ON(kind) (1u << RLF_DO_##kind)
#define EACH ~0u
#define COMMAND_FIELDS
#include "engine/order/protocol.def"
}

static void
put_event(writer *w, const rlf_rank_event *x)
{
#define IF(of) if ((of) >> x->kind & 1)
#define ON(kind) (1u << RLF_EVENT_##kind)
#define EVENT_FIELDS
#include "engine/order/protocol.def"
}
#undef ONE
#undef TEXT
#undef MAYBE_TEXT
#undef COUNT
#undef LIST
#undef MAYBE
#undef FIXED
// clang-format on

static char *
room_for(size_t n, rlf_buf *out, rlf_err *err)
{
    if (rlf_buf_try(out, n))
        return out->p + out->n;
    rlf_fail_memory(err, n, "a message between the controller and a rank");
    return NULL;
}

/* Twice the same: to count, and to put. */
#define WRITE(message, put_message)                             \
    do {                                                        \
        const uint8_t head[] = {RLF_PROTOCOL, (message)->kind}; \
        writer counted = {0};                                   \
        put_message(&counted, (message));                       \
        size_t n = sizeof head + counted.n;                     \
        writer w = {.to = room_for(n, out, err)};               \
        if (!w.to)                                              \
            return RLF_MEMORY;                                  \
        put(&w, head, sizeof head);                             \
        put_message(&w, (message));                             \
        out->n += n;                                            \
        return RLF_OK;                                          \
    } while (0)

rlf_status
rlf_rank_command_write(const rlf_rank_command *command, rlf_buf *out,
                       rlf_err *err)
{
    WRITE(command, put_command);
}

rlf_status
rlf_rank_event_write(const rlf_rank_event *event, rlf_buf *out, rlf_err *err)
{
    WRITE(event, put_event);
}

/* ---- reading ---- */

/* The fewest bytes of each type: so many elements of a list can there be. */
enum { LEAST_bool = 1, LEAST_text = 4 };
#define X(type, form, value) enum { LEAST_##type = sizeof(type) };
NUMBERS(X)
#undef X

// clang-format off
#define ONE(of, type, name, unit, doc) + LEAST_##type
#define TEXT(of, name, doc) + LEAST_text
#define MAYBE_TEXT(of, name, doc) + LEAST_text
#define COUNT(of, type, name, doc) + LEAST_##type
#define LIST(of, type, name, count, unit, doc)
#define MAYBE(of, type, name, count, unit, doc) + 1
#define FIXED(of, type, name, n, unit, doc) + (n) * LEAST_##type
#define GIVEN(type, doc) enum { LEAST_##type = 0
#define RECORD(type, doc) enum { LEAST_##type = 0
#define END(type) };
#include "engine/order/protocol.def"
#undef ONE
#undef TEXT
#undef MAYBE_TEXT
#undef COUNT
#undef LIST
#undef MAYBE
#undef FIXED
// clang-format on

typedef struct reader {
    const char *p;
    size_t left;
    const rlf_plan *plan;
    rlf_arena *arena;
    rlf_err *err;
    rlf_status status; /* RLF_MEMORY: there was none for a list */
    bool torn;
} reader;

static void
get(reader *r, void *to, size_t n)
{
    if (n > r->left) {
        r->torn = true;
        r->left = 0;
        memset(to, 0, n);
        return;
    }
    if (n)
        memcpy(to, r->p, n);
    r->p += n;
    r->left -= n;
}

/* Room for a list of n elements of at least so many bytes each, and a 0 behind
 * them; NULL: they cannot be there. */
static void *
room_of(reader *r, size_t n, size_t least, size_t size)
{
    void *room = NULL;
    r->torn |= n > r->left / least;
    if (!r->torn && r->status == RLF_OK)
        r->status = rlf_arena_try(r->arena, n * size + 1,
                                  "a list in a message between the "
                                  "controller and a rank",
                                  r->err, &room);
    r->torn |= !room;
    return room;
}

#define X(type, form, value)                           \
    MADE void get_##type(reader *r, type *x)           \
    {                                                  \
        get(r, x, sizeof *x);                          \
    }                                                  \
    MADE type *get_all_##type(reader *r, size_t n)     \
    {                                                  \
        type *x = room_of(r, n, sizeof *x, sizeof *x); \
        if (x)                                         \
            get(r, x, n * sizeof *x);                  \
        return x;                                      \
    }
NUMBERS(X)
#undef X

static void
get_bool(reader *r, bool *x)
{
    uint8_t byte;
    get(r, &byte, 1);
    r->torn |= byte > 1;
    *x = byte == 1;
}

static const char *
get_text(reader *r)
{
    uint32_t length;
    get_uint32_t(r, &length);
    if (!length)
        return NULL;
    char *text = room_of(r, length - 1, 1, 1);
    if (text)
        get(r, text, length - 1);
    r->torn |= text && strlen(text) != length - 1;
    return text;
}

/* What stands for something of the plan. */
static void
within(reader *r, int64_t x, int64_t from, int64_t to)
{
    r->torn |= x < from || x >= to;
}

static int
holds_of(const reader *r, int model)
{
    return r->torn || !r->plan->holds ? 0 : r->plan->holds[model].n;
}

// clang-format off
#define WITHIN_RANK(value) within(r, value, 0, r->plan->ranks);
#define WITHIN_NODE(value) within(r, value, -1, (int64_t)r->plan->graph->nodes.count);
#define WITHIN_INSTANCE(value) within(r, value, -1, INT32_MAX);
#define WITHIN_MODEL(value) within(r, value, 0, (int64_t)r->plan->graph->resources.count);
#define WITHIN_HOLD(value) within(r, value, 0, holds_of(r, x->model));
#define WITHIN_NONE(value)
#define WITHIN_BYTES(value)
#define WITHIN_CALLS(value)
#define WITHIN_SECONDS(value)
#define WITHIN_STEP(value)
#define WITHIN_TOKENS(value)
#define WITHIN_TURNS(value)

#define ONE(of, type, name, unit, doc)     IF(of) {                                   get_##type(r, &x->name);               WITHIN_##unit(x->name)             }
#define TEXT(of, name, doc)            \
    IF(of) {                           \
        x->name = get_text(r);         \
        r->torn |= !x->name;           \
    }
#define MAYBE_TEXT(of, name, doc) IF(of) x->name = get_text(r);
#define COUNT(of, type, name, doc) IF(of) get_##type(r, &x->name);
#define LIST(of, type, name, count, unit, doc)     IF(of) x->name = get_all_##type(r, (size_t)x->count);
#define MAYBE(of, type, name, count, unit, doc)                  IF(of) {                                                         bool has;                                                    get_bool(r, &has);                                           if (has)                                                         x->name = get_all_##type(r, (size_t)x->count);       }
#define FIXED(of, type, name, n, unit, doc)     IF(of) for (int i = 0; i < (n); i++) get_##type(r, &x->name[i]);

#define IF(of)
#define GIVEN(type, doc)                                                MADE void get_##type(reader *r, type *x);                           MADE type *get_all_##type(reader *r, size_t n)                      {                                                                       type *x = room_of(r, n, LEAST_##type, sizeof *x);                   for (size_t i = 0; i < n && !r->torn; i++)                              get_##type(r, &x[i]);                                           return x;                                                       }                                                                   MADE void get_##type(reader *r, type *x)                            {
#define RECORD(type, doc) GIVEN(type, doc)
#define END(type) }
#include "engine/order/protocol.def"

static void
get_command(reader *r, rlf_rank_command *x)
{
#define IF(of) if ((of) >> x->kind & 1)
#define ON(kind) (1u << RLF_DO_##kind)
#define COMMAND_FIELDS
#include "engine/order/protocol.def"
}

static void
get_event(reader *r, rlf_rank_event *x)
{
#define IF(of) if ((of) >> x->kind & 1)
#define ON(kind) (1u << RLF_EVENT_##kind)
#define EVENT_FIELDS
#include "engine/order/protocol.def"
}
#undef ONE
#undef TEXT
#undef MAYBE_TEXT
#undef COUNT
#undef LIST
#undef MAYBE
#undef FIXED
// clang-format on

/* Version and kind, one of `kinds`. */
static rlf_status
get_head(reader *r, uint8_t kinds, uint8_t *kind)
{
    uint8_t version;
    get(r, &version, 1);
    if (!r->torn && version != RLF_PROTOCOL)
        return rlf_fail(r->err, RLF_USER,
                        "a message between the controller and a rank has "
                        "version %u of the protocol, not %u: all processes of "
                        "a run must run the same rlflow",
                        version, RLF_PROTOCOL);
    get(r, kind, 1);
    r->torn |= *kind >= kinds;
    return RLF_OK;
}

static rlf_status
finish(const reader *r)
{
    if (r->status < 0)
        return r->status;
    if (r->torn || r->left)
        return rlf_fail(r->err, RLF_BUG,
                        "a message between the controller and a rank is torn");
    return RLF_OK;
}

/* Of a kind that is none, nothing is read. */
#define READ(get_message, KINDS)                          \
    do {                                                  \
        uint8_t kind;                                     \
        reader r = {.p = bytes, .left = n, .plan = plan}; \
        r.arena = arena;                                  \
        r.err = err;                                      \
        memset(out, 0, sizeof *out);                      \
        RLF_TRY(get_head(&r, KINDS, &kind));              \
        if (r.torn)                                       \
            return finish(&r);                            \
        out->kind = kind;                                 \
        get_message(&r, out);                             \
        return finish(&r);                                \
    } while (0)

rlf_status
rlf_rank_command_read(const char *bytes, size_t n, const rlf_plan *plan,
                      rlf_arena *arena, rlf_err *err, rlf_rank_command *out)
{
    READ(get_command, RLF_DO_KINDS);
}

rlf_status
rlf_rank_event_read(const char *bytes, size_t n, const rlf_plan *plan,
                    rlf_arena *arena, rlf_err *err, rlf_rank_event *out)
{
    READ(get_event, RLF_EVENT_KINDS);
}

/* ---- printing ---- */

// clang-format off
#define X(type, form, value)                                            \
    MADE void print_##type(rlf_buf *out, const char *name, const type *x) \
    {                                                                   \
        rlf_buf_printf(out, " %s " form, name, value);                  \
    }                                                                   \
    MADE void print_all_##type(rlf_buf *out, const char *name, const type *x, size_t n) \
    {                                                                   \
        (void)out, (void)name, (void)x, (void)n;                        \
    }
NUMBERS(X)
#undef X
// clang-format on

static void
print_bool(rlf_buf *out, const char *name, const bool *x)
{
    if (*x)
        rlf_buf_printf(out, " %s", name);
}

static void
print_text(rlf_buf *out, const char *name, const char *text)
{
    if (text)
        rlf_buf_printf(out, " %s %s", name, text);
}

// clang-format off
#define ONE(of, type, name, unit, doc) IF(of) print_##type(out, #name, &x->name);
#define TEXT(of, name, doc) IF(of) print_text(out, #name, x->name);
#define MAYBE_TEXT(of, name, doc) TEXT(of, name, doc)
#define COUNT(of, type, name, doc) IF(of) print_##type(out, #name, &x->name);
#define LIST(of, type, name, count, unit, doc) \
    IF(of) print_all_##type(out, #name, x->name, (size_t)x->count);
#define MAYBE(of, type, name, count, unit, doc) \
    IF(of) if (x->name) print_all_##type(out, #name, x->name, (size_t)x->count);
#define FIXED(of, type, name, n, unit, doc) IF(of) print_all_##type(out, #name, x->name, n);

#define IF(of)
#define GIVEN(type, doc)                                                  \
    MADE void print_##type(rlf_buf *out, const char *name, const type *x); \
    MADE void print_all_##type(rlf_buf *out, const char *name, const type *x, size_t n) \
    {                                                                     \
        for (size_t i = 0; i < n; i++)                                    \
            print_##type(out, name, &x[i]);                               \
    }                                                                     \
    MADE void print_##type(rlf_buf *out, const char *called, const type *x) \
    {                                                                     \
        rlf_buf_printf(out, " %s {", called);
#define RECORD(type, doc) GIVEN(type, doc)
#define END(type)               \
        rlf_buf_puts(out, " }"); \
    }
#include "engine/order/protocol.def"

void
rlf_rank_command_print(const rlf_rank_command *x, rlf_buf *out)
{
    rlf_buf_puts(out, rlf_do_words[x->kind]);
#define IF(of) if ((of) >> x->kind & 1)
#define ON(kind) (1u << RLF_DO_##kind)
#define COMMAND_FIELDS
#include "engine/order/protocol.def"
}

void
rlf_rank_event_print(const rlf_rank_event *x, rlf_buf *out)
{
    rlf_buf_puts(out, rlf_event_words[x->kind]);
#define IF(of) if ((of) >> x->kind & 1)
#define ON(kind) (1u << RLF_EVENT_##kind)
#define EVENT_FIELDS
#include "engine/order/protocol.def"
}
// clang-format on
