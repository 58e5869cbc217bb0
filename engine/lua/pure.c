/* Is a call a function of its sample? The same call again, in a new state.
 *
 * Lua code can see nothing of the machine, but for one thing: Lua's tables hash
 * by a seed that differs from state to state, and `#t` of a table with holes
 * depends on where its keys lie. So a call is made once more in a state of its
 * own, and another outcome is an error. The first calls of a host are looked
 * at, then each whose number is a power of two, or all. */
#include "engine/lua/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIRST 4      /* calls that are always looked at */
#define RENEW 64     /* of all calls, so many share a second state */
#define DEAR 1000000 /* instructions of a file that is not loaded so often */

static bool
is_due(rlf_lua_host *host)
{
    uint64_t n = ++host->calls;
    if (host->options.check_pure)
        return true;
    if (host->load_cost > DEAR)
        return n == 1;
    return n <= FIRST || (n & (n - 1)) == 0;
}

/* "3", "-1.5", "the text \"...\"", "nothing", "token 4 is 2" */
static void
say(const rlf_lua_value *v, size_t token, char *out, size_t room)
{
    if (v->none)
        snprintf(out, room, "nothing");
    else if (v->text.p)
        snprintf(out, room, "the text \"%.*s\"", (int)rlf_str_cut(v->text, 40),
                 v->text.p);
    else if (v->tokens)
        snprintf(out, room, "%.17g for token %zu", v->tokens[token], token + 1);
    else
        snprintf(out, room, "%.17g", v->number);
}

static bool
same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Compares; *token: where they differ, if they are tokens. */
static bool
is_same(const rlf_lua_value *a, const rlf_lua_value *b, size_t *token)
{
    *token = 0;
    for (size_t i = 0; i < a->n_tokens; i++)
        if (!same_bits(a->tokens[i], b->tokens[i])) {
            *token = i;
            return false;
        }
    return same_bits(a->number, b->number) && a->none == b->none &&
           a->text.n == b->text.n &&
           (!a->text.n || memcmp(a->text.p, b->text.p, a->text.n) == 0);
}

bool
rlf_lua_same(const rlf_lua_value *a, const rlf_lua_value *b)
{
    size_t token;
    return a->n_tokens == b->n_tokens && is_same(a, b, &token);
}

static void
mute(void *arg, const char *who, const char *text, size_t n)
{
    (void)arg, (void)who, (void)text, (void)n;
}

static rlf_status
second_state(rlf_lua_host *host, rlf_err *err)
{
    rlf_lua_options options = {.print = host->options.print ? mute : NULL,
                               .second = true,
                               .first = host,
                               .stops = host->options.stops,
                               .stops_arg = host->options.stops_arg};
    if (host->second && host->calls % RENEW != 0)
        return RLF_OK;
    rlf_lua_host_free(host->second);
    host->second = NULL;
    RLF_TRY(rlf_lua_host_new(host->program, &options, err, &host->second));
    return RLF_OK;
}

static rlf_status
refuse(rlf_lua_host *host, const char *who, const char *one, const char *two,
       rlf_err *err)
{
    rlf_lua_place(host, host->where, sizeof host->where);
    rlf_fail(err, RLF_IMPURE,
             "%sthe function gave %s, and %s when it was called again%s",
             host->where, one, two, who);
    rlf_err_hint(err, "a result may depend on the sample alone: #t of a table "
                      "with holes does not; count its entries, or fill them "
                      "with false");
    return RLF_IMPURE;
}

/* The second outcome against the first one. */
static rlf_status
compare(rlf_lua_host *host, const char *who, rlf_status first,
        const rlf_err *why, rlf_status second, const rlf_err *why_second,
        const rlf_lua_value *a, const rlf_lua_value *b, size_t n, rlf_err *err)
{
    char one[256], two[256];
    size_t token;
    if (first < 0 && second < 0)
        return first;
    if (first < 0 || second < 0) {
        snprintf(one, sizeof one, "an error (%.*s)",
                 RLF_CUT(200, why->sentence));
        snprintf(two, sizeof two, "an error (%.*s)",
                 RLF_CUT(200, why_second->sentence));
        return first < 0 ? refuse(host, who, one, "a result", err)
                         : refuse(host, who, "a result", two, err);
    }
    for (size_t i = 0; i < n; i++) {
        if (is_same(&a[i], &b[i], &token))
            continue;
        say(&a[i], token, one, sizeof one);
        say(&b[i], token, two, sizeof two);
        return refuse(host, who, one, two, err);
    }
    return first;
}

rlf_status
rlf_lua_check_pure(rlf_lua_host *host, rlf_lua_again *again, void *job,
                   const char *who, rlf_status first, const rlf_lua_value *a,
                   size_t n, rlf_err *err)
{
    rlf_err why = RLF_ERR_NONE;
    if (host->options.second || (first < 0 && first != RLF_USER) ||
        !is_due(host))
        return first;
    rlf_status status = second_state(host, &why);
    if (status < 0) {
        if (err)
            *err = why;
        return status;
    }
    rlf_arena *arena = rlf_arena_new();
    rlf_lua_value *b = RLF_NEW_ARRAY(arena, rlf_lua_value, n ? n : 1);
    status = again(host->second, job, arena, &why, b);
    host->unsaid += host->second->unsaid;
    host->second->unsaid = 0;
    if (status == RLF_OK || status == RLF_USER) { /* time decides nothing */
        rlf_err none = RLF_ERR_NONE;
        rlf_err *to = err ? err : &none;
        rlf_err had = *to;
        rlf_err found = RLF_ERR_NONE;
        status = compare(host, who, first, &had, status, &why, a, b, n, &found);
        if (status != first)
            *to = found;
    } else {
        status = first;
    }
    rlf_arena_free(arena);
    if (!host->options.check_pure) {
        rlf_lua_host_free(host->second);
        host->second = NULL;
    }
    return status;
}
