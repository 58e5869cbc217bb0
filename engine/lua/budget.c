/* Budgets: instructions, memory and time of a call, and the collector.
 *
 * All three are looked at in three places: the count hook (every so many
 * instructions), rlf_lua_pay (each C function says what it costs) and the
 * allocator. Whoever finds that something ran out sets `spent`; from then on
 * nothing catches an error.
 *
 * Lua's own collector is stopped. The allocator has Lua collect, by refusing
 * once, after every eighth of `memory:` that objects took in this call, and
 * when the limit is met. So the points of a call at which garbage goes are a
 * function of the call, not of what its state ran before. Short texts are left
 * out of that count, because one that an earlier call left behind is found and
 * not made again. */
#include "engine/base/clock.h"
#include "engine/lua/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOAD_INSTRUCTIONS 100000000 /* running the file itself, at least */
#define LOOK 16384      /* the clock is read when that much was paid */
#define ASK 50000000    /* nanoseconds between two questions to `stops` */
#define LONG_TEXT 65536 /* above it fewer instructions go between two looks */
#define SHORT_TEXT 256  /* a text below it is neither charged nor counted */
#define WIDE 256        /* closures of more bytes pay for their variables */
#define MANY 512        /* values that one instruction moves, to be charged */
#define DEEP (16 * 645) /* bytes of a stack that has room for as many */
#define NODE 24         /* bytes of an entry of a table's hash */
#define HASH (16 * 24)  /* of a hash that is charged */

void
rlf_lua_locate(lua_State *L, int level, char *out, size_t room)
{
    lua_Debug ar;
    out[0] = 0;
    for (; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline > 0) {
            snprintf(out, room, "%s:%d: ", ar.source + 1, ar.currentline);
            return;
        }
    }
}

/* --------------------------------------------------------- instructions */

static void tick(lua_State *L, lua_Debug *ar);

/* The nanoseconds of a call that began at `from` since `stops` was asked. */
static uint64_t
unasked(const rlf_lua_host *host, uint64_t from, uint64_t now)
{
    return now - (host->asked_at > from ? host->asked_at : from);
}

/* Is a call that began at `from` not waited for any longer? */
static bool
is_given_up(rlf_lua_host *host, uint64_t from, uint64_t now)
{
    const rlf_lua_options *o = &host->options;
    if (!o->stops || (host->asked_at && now < host->asked_at + ASK))
        return false;
    uint64_t taken = host->unsaid + unasked(host, from, now);
    host->unsaid = 0;
    host->asked_at = now;
    host->end = o->stops(o->stops_arg, 1e-9 * (double)taken);
    return host->end < 0;
}

/* The nanoseconds that a call may take. One that is traced takes more of them
 * for the same. */
static uint64_t
time_of(const rlf_lua_host *host)
{
    double seconds = host->program->time;
    return (uint64_t)(1e9 * (host->tracer ? 10 * seconds + 10 : seconds));
}

void
rlf_lua_end_time(rlf_lua_host *host)
{
    uint64_t most = time_of(host);
    if (host->deadline && host->options.stops)
        host->unsaid += unasked(host, host->deadline - most, rlf_clock_now());
}

/* The limit of the wall clock that ran out, if one did. */
static rlf_lua_spent
late(rlf_lua_host *host)
{
    uint64_t t = rlf_clock_now();
    uint64_t most = time_of(host);
    if (host->deadline == 0)
        host->deadline = t + most;
    host->look = host->left - LOOK;
    return t > host->deadline                            ? RLF_LUA_SPENT_TIME
           : is_given_up(host, host->deadline - most, t) ? RLF_LUA_SPENT_WAIT
                                                         : RLF_LUA_SPENT_NONE;
}

rlf_lua_spent
rlf_lua_pay(rlf_lua_host *host, uint64_t n)
{
    host->left -= n < INT64_MAX / 4 ? (int64_t)n : INT64_MAX / 4;
    host->doublings = 0;
    if (host->left < 0)
        return RLF_LUA_SPENT_STEPS;
    return host->left < host->look ? late(host) : RLF_LUA_SPENT_NONE;
}

void
rlf_lua_stop(lua_State *L, rlf_lua_spent why, int level)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    if (host->spent == RLF_LUA_SPENT_NONE) {
        host->spent = why;
        rlf_lua_locate(L, level, host->where, sizeof host->where);
    }
    lua_sethook(L, tick, LUA_MASKCOUNT, 1);
    lua_pushliteral(L, "a limit of the call is reached");
    lua_error(L);
    __builtin_unreachable(); /* lua_error does not return */
}

void *
rlf_lua_room(lua_State *L, rlf_arena *arena, size_t n)
{
    rlf_err ignored = RLF_ERR_NONE;
    void *p = NULL;
    if (rlf_arena_try(arena, n, "", &ignored, &p) < 0) {
        rlf_lua_host_of(L)->starved = true;
        rlf_lua_stop(L, RLF_LUA_SPENT_MEMORY, 1);
    }
    return p;
}

rlf_str
rlf_lua_keep(lua_State *L, rlf_arena *arena, const char *p, size_t n)
{
    char *copy = rlf_lua_room(L, arena, n + 1);
    return (rlf_str){memcpy(copy, p, n), n};
}

void
rlf_lua_charge(lua_State *L, uint64_t n)
{
    rlf_lua_spent why = rlf_lua_pay(rlf_lua_host_of(L), n);
    if (why != RLF_LUA_SPENT_NONE)
        rlf_lua_stop(L, why, 1);
}

void
rlf_lua_check_time(lua_State *L, int level)
{
    rlf_lua_spent why = late(rlf_lua_host_of(L));
    if (why != RLF_LUA_SPENT_NONE)
        rlf_lua_stop(L, why, level);
}

/* Returns how many values stand for the `...` of a function, if they are
 * MANY. */
static uint64_t
many_extra(lua_State *L, lua_Debug *ar)
{
    if (!lua_getlocal(L, ar, -MANY))
        return 0;
    lua_pop(L, 1);
    int least = MANY, most = 1 << 20; /* a stack has a million values */
    while (least < most) {
        int middle = least + (most - least + 1) / 2;
        if (lua_getlocal(L, ar, -middle)) {
            lua_pop(L, 1);
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    return (uint64_t)least;
}

/* A function begins or ends: how many values it was given or gives, if they are
 * MANY. Lua does not tell of those that a function drops, having no `...`: they
 * were its caller's, who may have passed them. */
static uint64_t
moved(lua_State *L, lua_Debug *ar)
{
    lua_Debug caller;
    lua_getinfo(L, "ru", ar);
    if (ar->event == LUA_HOOKRET || ar->ntransfer >= MANY)
        return ar->ntransfer < MANY ? 0 : ar->ntransfer;
    if (ar->isvararg) /* as a C function is */
        return many_extra(L, ar);
    return lua_getstack(L, 1, &caller) ? many_extra(L, &caller) : 0;
}

/* The hook: of counts, and where values may be many of calls and returns. */
static void
tick(lua_State *L, lua_Debug *ar)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    if (host->spent != RLF_LUA_SPENT_NONE)
        rlf_lua_stop(L, host->spent, 0);
    if (ar->event != LUA_HOOKCOUNT) {
        uint64_t n = moved(L, ar) / 16;
        rlf_lua_spent why = n ? rlf_lua_pay(host, n) : RLF_LUA_SPENT_NONE;
        if (why != RLF_LUA_SPENT_NONE)
            rlf_lua_stop(L, why, 0);
        return;
    }
    host->doublings = 0;
    host->left -= lua_gethookcount(L);
    if (host->left < 0)
        rlf_lua_stop(L, RLF_LUA_SPENT_STEPS, 0);
    rlf_lua_check_time(L, 0);
    rlf_lua_watch(L);
}

/* The hook of a call that is traced, which takes from the budget what `tick`
 * would: of calls and returns nothing, */
static void
tick_traced(lua_State *L, lua_Debug *ar)
{
    if (ar->event == LUA_HOOKCOUNT ||
        rlf_lua_host_of(L)->spent != RLF_LUA_SPENT_NONE)
        tick(L, ar);
    else
        rlf_lua_trace_event(L, ar);
}

/* and where values may be many of those, too. */
static void
tick_traced_deep(lua_State *L, lua_Debug *ar)
{
    if (ar->event != LUA_HOOKLINE)
        tick(L, ar);
    if (ar->event != LUA_HOOKCOUNT)
        tick_traced(L, ar);
}

/* The events that a state looks at now; *hook: by this. */
static int
events_of(const rlf_lua_host *host, lua_Hook *hook)
{
    bool deep = host->most_stack >= DEEP;
    int mask = LUA_MASKCOUNT;
    if (deep || host->tracer)
        mask |= LUA_MASKCALL | LUA_MASKRET;
    *hook = tick;
    if (host->tracer) {
        mask |= LUA_MASKLINE;
        *hook = deep ? tick_traced_deep : tick_traced;
    }
    return mask;
}

void
rlf_lua_watch(lua_State *L)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    int had = lua_gethookcount(L);
    lua_Hook hook;
    int mask = events_of(host, &hook);
    if ((had == host->interval && lua_gethookmask(L) == mask &&
         lua_gethook(L) == hook) ||
        host->spent != RLF_LUA_SPENT_NONE)
        return;
    host->left -= had; /* what it ran since its last look is lost */
    lua_sethook(L, hook, mask, host->interval);
}

void
rlf_lua_caught(lua_State *L, int status)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    if (host->spent == RLF_LUA_SPENT_NONE &&
        (status == LUA_ERRMEM || host->asked.limit))
        host->spent = RLF_LUA_SPENT_MEMORY;
    if (host->spent == RLF_LUA_SPENT_NONE) {
        /* Lua walks its frames to make the stack smaller */
        if (status != LUA_OK && host->most_stack >= DEEP)
            rlf_lua_charge(L, host->most_stack / 2048);
        return;
    }
    lua_sethook(L, tick, LUA_MASKCOUNT, 1);
    lua_error(L);
}

uint64_t
rlf_lua_budget(const rlf_lua_host *host)
{
    uint64_t n = host->program->instructions;
    return host->loaded || n > LOAD_INSTRUCTIONS ? n : LOAD_INSTRUCTIONS;
}

/* Comparing, hashing or reading a number from a text takes the VM one
 * instruction, whatever the length: so the longer the texts are, the fewer
 * instructions go between two looks. */
static int
interval_for(const rlf_lua_host *host)
{
    uint64_t n = host->program->instructions;
    int interval = n < RLF_LUA_TICK ? (int)n : RLF_LUA_TICK;
    if (host->tracer && rlf_lua_traces_each(host->tracer))
        return 1;
    for (size_t text = host->longest; text > LONG_TEXT && interval > 1;
         text /= 2)
        interval /= 2;
    return interval;
}

void
rlf_lua_refill(rlf_lua_host *host)
{
    if (!host->loaded)
        host->longest_kept = host->longest = 0;
    host->longest = host->longest_kept;
    host->left = (int64_t)rlf_lua_budget(host);
    host->look = host->left - LOOK;
    host->spent = RLF_LUA_SPENT_NONE;
    host->deadline = 0;
    host->asked = (rlf_lua_asked){0};
    host->met_limit = false;
    host->made = 0;
    host->doublings = 0;
    host->stack = host->most_stack = 0;
    host->nodes = 0;
    host->running = host->L;
    host->interval = interval_for(host);
    lua_Hook hook;
    int mask = events_of(host, &hook);
    lua_sethook(host->L, hook, mask, host->interval);
}

/* --------------------------------------------------------------- memory */

static void
run_out(rlf_lua_host *host, rlf_lua_spent why)
{
    if (host->spent == RLF_LUA_SPENT_NONE)
        host->spent = why;
}

/* Lua asks once more after it collected; if the same is not asked again, the
 * refusal was an answer. */
static bool
asked_again(rlf_lua_host *host, const void *p, size_t old, size_t n)
{
    const rlf_lua_asked *a = &host->asked;
    bool again = a->n == n && a->old == old && a->p == p;
    if (a->n && !again && a->limit)
        run_out(host, RLF_LUA_SPENT_MEMORY);
    host->asked = (rlf_lua_asked){0};
    return again;
}

static void *
refuse(rlf_lua_host *host, const void *p, size_t old, size_t n, bool limit)
{
    host->asked = (rlf_lua_asked){p, old, n, limit};
    return NULL;
}

/* A text of n bytes came into being: it costs, since one instruction can make
 * very many bytes, and it makes other instructions dear. */
static rlf_lua_spent
pay_text(rlf_lua_host *host, size_t n)
{
    if (n > host->longest) {
        host->longest = n;
        int interval = interval_for(host);
        if (interval < host->interval) {
            host->interval = interval;
            rlf_lua_watch(host->running);
        }
    }
    return rlf_lua_pay(host, n / 32);
}

/* A stack that doubles again and again while nothing else goes on and few
 * functions are being called: a value whose __call is itself. Lua would go on
 * until a million arguments are moved by one place a million times. */
static bool
is_call_chain(rlf_lua_host *host, size_t n)
{
    lua_Debug ar;
    bool doubled = n == 2 * host->stack - 80;
    host->stack = n;
    host->doublings = doubled ? host->doublings + 1 : 0;
    return n > 16 * 65536 && host->doublings > 2 &&
           !lua_getstack(host->running, (int)(n / 16 / 512), &ar);
}

/* Lua makes a larger stack as a new block, of 16 bytes by 40, 80, 160... and
 * five. */
static bool
is_stack(const void *p, size_t old, size_t n)
{
    return !p && old == 0 && n >= 16 * 85 && n % 32 == 16;
}

/* A stack of n bytes is made: one instruction may now move as many values, so
 * calls and returns are looked at. */
static void
note_stack(rlf_lua_host *host, size_t n)
{
    if (n <= host->most_stack)
        return;
    host->most_stack = n;
    rlf_lua_watch(host->running);
}

/* A closure looks for each of its variables among those that are shared. */
static rlf_lua_spent
pay_closure(rlf_lua_host *host, size_t n)
{
    uint64_t variables = n / sizeof(void *);
    return rlf_lua_pay(host, variables * variables / 128);
}

/* The entries of a table's hash, whose number is a power of two, if they are
 * more than a few. */
static bool
is_hash(const void *p, size_t old, size_t n)
{
    size_t entries = n / NODE;
    return !p && old == 0 && n >= HASH && n % NODE == 0 &&
           !(entries & (entries - 1));
}

/* Refuses what the call may not do, whatever memory there is. */
static rlf_lua_spent
forbidden(rlf_lua_host *host, const void *p, size_t old, size_t n)
{
    if (!host->L || host->spent != RLF_LUA_SPENT_NONE)
        return RLF_LUA_SPENT_NONE;
    if (!p && old == LUA_TSTRING && n >= SHORT_TEXT)
        return pay_text(host, n);
    if (!p && old == LUA_TFUNCTION && n >= WIDE)
        return pay_closure(host, n);
    if (is_hash(p, old, n)) {
        host->nodes = n;
        return rlf_lua_pay(host, 0);
    }
    host->nodes = 0;
    if (is_stack(p, old, n)) {
        if (is_call_chain(host, n))
            return RLF_LUA_SPENT_CHAIN;
        note_stack(host, n);
    }
    return RLF_LUA_SPENT_NONE;
}

/* A key for which a table has no room makes Lua count all that is in it, and
 * put its hash into a new block. A table that grows has been paid for by those
 * who filled it; but keys that come and go can bring this about again and
 * again. It shows in that the new block of the hash is as large as the old one,
 * and in that the array is asked for again as large as it is. */
static void
pay_rehash(rlf_lua_host *host, size_t old, size_t n)
{
    host->left -= (int64_t)(n ? n / 2048 : old / 64);
    host->nodes = n ? host->nodes : 0;
}

/* Is it time to collect? `old` of a new object is its type. */
static bool
collects(rlf_lua_host *host, const void *p, size_t old, size_t n)
{
    if (p || old < LUA_TSTRING || (old == LUA_TSTRING && n < SHORT_TEXT))
        return false;
    host->made += n;
    if (host->made <= host->program->memory / 8)
        return false;
    host->made = 0;
    return true;
}

void *
rlf_lua_allocate(void *arg, void *p, size_t old, size_t n)
{
    rlf_lua_host *host = arg;
    size_t had = p ? old : 0;
    if (p && (n == 0 ? old == host->nodes : n == old))
        pay_rehash(host, old, n);
    if (n == 0) {
        free(p);
        host->live -= had;
        return NULL;
    }
    if (n <= had) {
        host->live -= had - n;
        void *less = realloc(p, n);
        return less ? less : p;
    }
    bool again = asked_again(host, p, old, n);
    if (!again) {
        rlf_lua_spent why = forbidden(host, p, old, n);
        if (why != RLF_LUA_SPENT_NONE) {
            rlf_lua_locate(host->running, 0, host->where, sizeof host->where);
            host->spent = why;
            host->refuse_next = true;
            return NULL;
        }
        if (host->L && host->spent == RLF_LUA_SPENT_NONE &&
            collects(host, p, old, n))
            return refuse(host, p, old, n, false);
    }
    if (host->refuse_next) { /* the second time of what is forbidden */
        host->refuse_next = false;
        return NULL;
    }
    bool stack = is_stack(p, old, n);
    bool fits = host->live - had + n <= host->program->memory;
    void *q = fits ? realloc(p, n) : NULL;
    if (q) {
        host->grown = host->grown || stack;
        host->live += n - had;
        return q;
    }
    host->starved = fits;
    host->met_limit = true;
    if (host->L && host->spent == RLF_LUA_SPENT_NONE)
        rlf_lua_locate(host->running, 0, host->where, sizeof host->where);
    if (again || host->used) { /* used: it is judged by a fresh state */
        run_out(host, RLF_LUA_SPENT_MEMORY);
        host->refuse_next = !again;
        return NULL;
    }
    host->left -= (int64_t)(host->live / 64); /* a collection */
    return refuse(host, p, old, n, true);
}
