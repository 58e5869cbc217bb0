/* The bytes of commands and events, and how they are printed: see protocol.h.
 *
 * Each part walks the table protocol.def: it has a function for each type of a
 * field, written by hand for numbers and texts, made of the table for records
 * and for the messages themselves. Records have all their fields, so their kind
 * is any.
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
#define IF(of) if ((of) >> kind & 1)

/* Types of numbers, with how they are printed. */
#define NUMBERS(X)          \
    X(int, "%d")            \
    X(uint32_t, "%" PRIu32) \
    X(uint64_t, "%" PRIu64) \
    X(double, "%g")

// clang-format off
const rlf_participants rlf_do_participants[RLF_DO_KINDS] = {
#define COMMAND(NAME, word, who, doing, doc) RLF_PARTICIPANTS_##who,
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

/* A struct that is declared elsewhere is sent whole: the table has all of its
 * members, in their order. */
// clang-format off
#define GIVEN(type, doc) typedef struct type##_in_table {
#define ONE(of, type, name, unit, doc) type name;
#define TEXT(of, name, doc) const char *name;
#define MAYBE_TEXT(of, name, doc) const char *name;
#define COUNT(of, type, name, doc) type name;
#define LIST(of, type, name, count, unit, doc) const type *name;
#define FIXED(of, type, name, n, unit, doc) type name[n];
#define END(type) } type##_in_table; \
    _Static_assert(sizeof(type##_in_table) == sizeof(type), \
                   #type " has members that protocol.def does not send");
#include "engine/order/protocol.def"

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

#define X(type, form)                                            \
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

/* Its length and 1, or 0 for none; its characters. */
static void
put_text(writer *w, const char *text)
{
    uint32_t length = text ? (uint32_t)strlen(text) + 1 : 0;
    put_uint32_t(w, &length);
    if (text)
        put(w, text, length - 1);
}

#define ONE(of, type, name, unit, doc) IF(of) put_##type(w, &x->name);
#define TEXT(of, name, doc) IF(of) put_text(w, x->name);
#define MAYBE_TEXT(of, name, doc) TEXT(of, name, doc)
#define COUNT(of, type, name, doc) IF(of) put_##type(w, &x->name);
#define LIST(of, type, name, count, unit, doc) \
    IF(of) put_all_##type(w, x->name, (size_t)x->count);
#define MAYBE(of, type, name, count, unit, doc)                 \
    IF(of) {                                                    \
        bool has = x->name != NULL;                             \
        put_bool(w, &has);                                      \
        put_all_##type(w, x->name, has ? (size_t)x->count : 0); \
    }
#define FIXED(of, type, name, n, unit, doc) IF(of) put_all_##type(w, x->name, n);
#define WRITES(type, of_kind)                                    \
    MADE void put_##type(writer *w, const type *x);              \
    MADE void put_all_##type(writer *w, const type *x, size_t n) \
    {                                                            \
        for (size_t i = 0; i < n; i++)                           \
            put_##type(w, &x[i]);                                \
    }                                                            \
    MADE void put_##type(writer *w, const type *x)               \
    {                                                            \
        const unsigned kind = of_kind;
#define GIVEN(type, doc) WRITES(type, 0)
#define RECORD(type, doc) WRITES(type, 0)
#define MESSAGE(type, kinds) WRITES(type, x->kind)
#define END(type) }
#include "engine/order/protocol.def"

/* Once to count, and once to put. */
#define WRITE(type, x)                                                       \
    do {                                                                     \
        const uint8_t head[] = {RLF_PROTOCOL, (uint8_t)x->kind};             \
        writer counted = {.n = sizeof head}, w = {.n = sizeof head};         \
        put_##type(&counted, x);                                             \
        if (!rlf_buf_try(out, counted.n))                                    \
            return rlf_fail_memory(err, counted.n, "a message of a rank");   \
        w.to = memcpy(out->p + out->n, head, sizeof head);                   \
        put_##type(&w, x);                                                   \
        out->n += w.n;                                                       \
        return RLF_OK;                                                       \
    } while (0)

rlf_status
rlf_rank_command_write(const rlf_rank_command *x, rlf_buf *out, rlf_err *err)
{
    WRITE(rlf_rank_command, x);
}

rlf_status
rlf_rank_event_write(const rlf_rank_event *x, rlf_buf *out, rlf_err *err)
{
    WRITE(rlf_rank_event, x);
}

/* ---- reading ---- */

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
        r->status = rlf_arena_try(r->arena, n * size + 1, "a message of a rank",
                                  r->err, &room);
    r->torn |= !room;
    return room;
}

#define X(type, form)                                  \
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
    char *text = length ? room_of(r, length - 1, 1, 1) : NULL;
    if (text)
        get(r, text, length - 1);
    r->torn |= text && strlen(text) != length - 1;
    return text;
}

/* Bounds of numbers that name something of the plan. */
static void
within(reader *r, int x, int from, int to)
{
    r->torn |= x < from || x >= to;
}

static int
copies_of(const reader *r, int model)
{
    return r->torn || !r->plan->copies ? 0 : r->plan->copies[model].n;
}

#define WITHIN_RANK(value) within(r, value, 0, r->plan->ranks);
#define WITHIN_NODE(value) within(r, value, -1, (int)r->plan->graph->nodes.count);
#define WITHIN_INSTANCE(value) within(r, value, -1, INT32_MAX);
#define WITHIN_MODEL(value) within(r, value, 0, (int)r->plan->graph->resources.count);
#define WITHIN_MODEL_IF_ANY(value) if (x->blocks) WITHIN_MODEL(value)
#define WITHIN_COPY(value) within(r, value, 0, copies_of(r, x->model));
#define WITHIN_NONE(value)
#define WITHIN_BYTES(value)
#define WITHIN_CALLS(value)
#define WITHIN_SECONDS(value)
#define WITHIN_STEP(value)
#define WITHIN_TOKENS(value)
#define WITHIN_TURNS(value)

#define ONE(of, type, name, unit, doc) \
    IF(of) {                           \
        get_##type(r, &x->name);       \
        WITHIN_##unit(x->name)         \
    }
#define TEXT(of, name, doc) IF(of) r->torn |= !(x->name = get_text(r));
#define MAYBE_TEXT(of, name, doc) IF(of) x->name = get_text(r);
#define COUNT(of, type, name, doc) IF(of) get_##type(r, &x->name);
#define LIST(of, type, name, count, unit, doc) \
    IF(of) x->name = get_all_##type(r, (size_t)x->count);
#define MAYBE(of, type, name, count, unit, doc)                           \
    IF(of) {                                                              \
        bool has;                                                         \
        get_bool(r, &has);                                                \
        x->name = has ? get_all_##type(r, (size_t)x->count) : NULL;       \
    }
#define FIXED(of, type, name, n, unit, doc) \
    IF(of) for (int i = 0; i < (n); i++) get_##type(r, &x->name[i]);
#define READS(type, of_kind)                        \
    MADE void get_##type(reader *r, type *x);       \
    MADE type *get_all_##type(reader *r, size_t n)  \
    {                                               \
        type *x = room_of(r, n, 1, sizeof *x);      \
        for (size_t i = 0; i < n && !r->torn; i++)  \
            get_##type(r, &x[i]);                   \
        return x;                                   \
    }                                               \
    MADE void get_##type(reader *r, type *x)        \
    {                                               \
        const unsigned kind = of_kind;
#define GIVEN(type, doc) READS(type, 0)
#define RECORD(type, doc) READS(type, 0)
#define MESSAGE(type, kinds) READS(type, x->kind)
#define END(type) }
#include "engine/order/protocol.def"

/* The message's kind, one of so many; a message of none ends there. */
static unsigned
get_kind(reader *r, unsigned kinds)
{
    uint8_t head[2];
    get(r, head, sizeof head);
    if (!r->torn && head[0] != RLF_PROTOCOL)
        r->status = rlf_fail(r->err, RLF_USER,
                             "a message of a rank has version %u of the "
                             "protocol, not %u: all processes of a run must "
                             "run the same rlflow",
                             head[0], RLF_PROTOCOL);
    r->torn |= head[1] >= kinds || r->status < 0;
    return r->torn ? 0 : head[1];
}

static rlf_status
end(const reader *r)
{
    if (r->status == RLF_OK && (r->torn || r->left))
        return rlf_fail(r->err, RLF_BUG, "a message of a rank is torn");
    return r->status;
}

rlf_status
rlf_rank_command_read(const char *bytes, size_t n, const rlf_plan *plan,
                      rlf_arena *arena, rlf_err *err, rlf_rank_command *out)
{
    reader r = {bytes, n, plan, arena, err, RLF_OK, false};
    *out = (rlf_rank_command){.kind = (rlf_do)get_kind(&r, RLF_DO_KINDS)};
    get_rlf_rank_command(&r, out);
    return end(&r);
}

rlf_status
rlf_rank_event_read(const char *bytes, size_t n, const rlf_plan *plan,
                    rlf_arena *arena, rlf_err *err, rlf_rank_event *out)
{
    reader r = {bytes, n, plan, arena, err, RLF_OK, false};
    *out = (rlf_rank_event){
        .kind = (rlf_event_kind)get_kind(&r, RLF_EVENT_KINDS)};
    get_rlf_rank_event(&r, out);
    return end(&r);
}

/* ---- printing ---- */

#define X(type, form)                                                   \
    MADE void print_##type(rlf_buf *out, const char *as, const type *x) \
    {                                                                   \
        rlf_buf_printf(out, " %s " form, as, *x);                       \
    }                                                                   \
    MADE void print_all_##type(rlf_buf *out, const char *as, const type *x, size_t n) \
    {                                                                   \
        (void)out, (void)as, (void)x, (void)n;                          \
    }
NUMBERS(X)
#undef X

static void
print_bool(rlf_buf *out, const char *as, const bool *x)
{
    if (*x)
        rlf_buf_printf(out, " %s", as);
}

#define ONE(of, type, name, unit, doc) IF(of) print_##type(out, #name, &x->name);
#define TEXT(of, name, doc) \
    IF(of) if (x->name) rlf_buf_printf(out, " " #name " %s", x->name);
#define MAYBE_TEXT(of, name, doc) TEXT(of, name, doc)
#define COUNT(of, type, name, doc) IF(of) print_##type(out, #name, &x->name);
#define LIST(of, type, name, count, unit, doc) \
    IF(of) print_all_##type(out, #name, x->name, x->name ? (size_t)x->count : 0);
#define MAYBE(of, type, name, count, unit, doc) LIST(of, type, name, count, unit, doc)
#define FIXED(of, type, name, n, unit, doc) IF(of) print_all_##type(out, #name, x->name, n);
#define PRINTS(type, of_kind)                                                \
    MADE void print_##type(rlf_buf *out, const char *as, const type *x);     \
    MADE void print_all_##type(rlf_buf *out, const char *as, const type *x, size_t n) \
    {                                                                        \
        for (size_t i = 0; i < n; i++)                                       \
            print_##type(out, as, &x[i]);                                    \
    }                                                                        \
    MADE void print_##type(rlf_buf *out, const char *as, const type *x)      \
    {                                                                        \
        const unsigned kind = of_kind;                                       \
        rlf_buf_printf(out, " %s {", as);
#define GIVEN(type, doc) PRINTS(type, 0)
#define RECORD(type, doc) PRINTS(type, 0)
#define MESSAGE(type, kinds) PRINTS(type, x->kind)
#define END(type)                \
        rlf_buf_puts(out, " }"); \
    }
#include "engine/order/protocol.def"
// clang-format on

void
rlf_rank_command_print(const rlf_rank_command *x, rlf_buf *out)
{
    print_rlf_rank_command(out, rlf_do_words[x->kind], x);
}

void
rlf_rank_event_print(const rlf_rank_event *x, rlf_buf *out)
{
    print_rlf_rank_event(out, rlf_event_words[x->kind], x);
}
