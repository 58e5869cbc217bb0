/* The options of a schedule as a problem: see schedule.h. */
#include "engine/api/simulating/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More of anything than this is a slip, not a pipeline. */
enum { MOST_MODELS = 16, MOST_STAGES = 1024, MOST_MICROS = 65536 };

typedef struct entry {
    const char *name;
    int places, chunks, micros;
    bool vee; /* its two chunks go down the places and up again */
    int stages;
    bool split;
    rlf_pipe_cost *cost; /* [stages] */
} entry;

/* ---- words ---- */

/* The next of a list's items, before the next comma; false: there is none. */
static bool
next_item(const char **list, rlf_arena *arena, const char **item)
{
    if (!*list)
        return false;
    size_t n = strcspn(*list, ",");
    *item = rlf_arena_strndup(arena, *list, n);
    *list = (*list)[n] ? *list + n + 1 : NULL;
    return true;
}

static bool
read_count(const char *text, const char **end, int most, int *out)
{
    char *stop;
    long n = *text >= '0' && *text <= '9' ? strtol(text, &stop, 10) : 0;
    if (n < 1 || n > most)
        return false;
    *end = stop;
    *out = (int)n;
    return true;
}

/* A number from 0, written without a sign. */
static bool
read_number(const char *text, const char **end, double *out)
{
    *out = rlf_str_number(text, end);
    return *out < 1e12;
}

/* ---- options ---- */

static rlf_status
wrong_model(const char *item, const char *what, rlf_err *err)
{
    rlf_fail(err, RLF_USAGE, "--models has \"%s\": %s", item, what);
    rlf_err_hint(err, "a model is NAME:STAGES:MICRO-BATCHES, as in "
                      "--models 33B:8:32,13B:4:16, or with :v behind it, or "
                      "with the number of its chunks");
    return RLF_USAGE;
}

/* Behind the micro-batches: nothing, ":v" or ":CHUNKS". */
static bool
read_chunks(const char *text, entry *out)
{
    out->chunks = 1;
    out->vee = strcmp(text, ":v") == 0;
    if (out->vee)
        out->chunks = 2;
    else if (*text && (*text != ':' ||
                       !read_count(text + 1, &text, 16, &out->chunks) || *text))
        return false;
    out->stages = out->places * out->chunks;
    return true;
}

/* NAME:STAGES:MICROS[:v|:CHUNKS] */
static rlf_status
read_model(const char *item, rlf_arena *arena, const entry *before, int n,
           rlf_err *err, entry *out)
{
    size_t name = strcspn(item, ":");
    const char *end = item + name;
    out->name = rlf_arena_strndup(arena, item, name);
    if (!name)
        return wrong_model(item, "it has no name", err);
    for (const unsigned char *c = (const unsigned char *)out->name; *c; c++)
        if (*c <= ' ' || *c == '#' || *c >= 127)
            return wrong_model(item,
                               "names are of letters, digits and signs of "
                               "ASCII, with no space and no #",
                               err);
    for (int i = 0; i < n; i++)
        if (strcmp(before[i].name, out->name) == 0)
            return wrong_model(item, "this name is there twice", err);
    if (*end != ':' || !read_count(end + 1, &end, MOST_STAGES, &out->places))
        return wrong_model(item, "its stages are a number from 1 to 1024", err);
    if (*end != ':' || !read_count(end + 1, &end, MOST_MICROS, &out->micros) ||
        (*end && *end != ':'))
        return wrong_model(
            item, "its micro-batches are a number from 1 to 65536", err);
    if (!read_chunks(end, out))
        return wrong_model(item, "its chunks are v or a number from 1 to 16",
                           err);
    out->cost = RLF_NEW_ARRAY(arena, rlf_pipe_cost, out->stages);
    return RLF_OK;
}

/* A number for all stages, or one for each with slashes between, up to the end
 * or a colon. */
static bool
read_numbers(const char *text, const char **end, int n, double *out)
{
    int count = 0;
    for (bool more = true; more; text = *end + more) {
        if (count == n || !read_number(text, end, &out[count++]))
            return false;
        more = **end == '/';
    }
    for (int i = 1; i < n && count == 1; i++)
        out[i] = out[0];
    return (count == 1 || count == n) && (!**end || **end == ':');
}

/* FORWARD[:BACKWARD[:WEIGHTS]] */
static rlf_status
read_time(const char *item, rlf_arena *arena, rlf_err *err, entry *out)
{
    double *times[RLF_PIPE_KINDS];
    const char *end = item;
    int kinds = 0;
    bool good = true, more = true;
    for (; good && more; kinds++) {
        good = kinds < RLF_PIPE_KINDS;
        if (!good)
            break;
        times[kinds] = RLF_NEW_ARRAY(arena, double, out->stages);
        good = read_numbers(end, &end, out->stages, times[kinds]);
        more = *end == ':';
        end += more;
    }
    for (int k = 0; k < out->stages && good; k++) {
        rlf_pipe_cost *cost = &out->cost[k];
        cost->forward = times[0][k];
        cost->backward = kinds > 1 ? times[1][k] : 2 * cost->forward;
        cost->weights = kinds > 2 ? times[2][k] : 0;
        good = cost->forward > 0 && cost->backward > 0 &&
               (kinds < 3 || cost->weights > 0);
    }
    out->split = kinds > 2;
    if (good)
        return RLF_OK;
    rlf_fail(err, RLF_USAGE,
             "--times has \"%s\", not times above 0 and below 1e12 of %s", item,
             out->name);
    rlf_err_hint(err,
                 "say how long a micro-batch takes forward, and backward if "
                 "that is not twice as long, and its weights if backward is "
                 "split, as in --times 5,4:9,1:1:1; where the stages of a "
                 "model differ, one of each of its %d with / between",
                 out->stages);
    return RLF_USAGE;
}

static rlf_status
read_memory(const char *item, rlf_arena *arena, rlf_err *err, entry *out)
{
    const char *end;
    double *memory = RLF_NEW_ARRAY(arena, double, out->stages);
    bool good = read_numbers(item, &end, out->stages, memory) && !*end;
    for (int k = 0; k < out->stages && good; k++)
        out->cost[k].memory = memory[k];
    if (good)
        return RLF_OK;
    rlf_fail(err, RLF_USAGE, "--memory has \"%s\", not a number from 0 of %s",
             item, out->name);
    rlf_err_hint(err,
                 "say what a stage of each model keeps of a micro-batch, in "
                 "any unit, as in --memory 1.95,2; where the stages of a model "
                 "differ, one of each of its %d with / between",
                 out->stages);
    return RLF_USAGE;
}

static rlf_status
read_send(const char *item, rlf_err *err, entry *out)
{
    const char *end;
    double send;
    if (!read_number(item, &end, &send) || *end) {
        rlf_fail(err, RLF_USAGE, "--send has \"%s\", not a number from 0",
                 item);
        rlf_err_hint(err, "say how long a micro-batch of each model is on its "
                          "way to the next place, as in --send 0.5,0.2");
        return RLF_USAGE;
    }
    for (int k = 0; k < out->stages; k++)
        out->cost[k].send = send;
    return RLF_OK;
}

static rlf_status
missing(const char *option, rlf_err *err)
{
    rlf_fail(err, RLF_USAGE, "schedule needs --%s", option);
    rlf_err_hint(err, "rlflow schedule --models 33B:8:32,13B:4:16 --times 5,4 "
                      "--memory 1.95,2");
    return RLF_USAGE;
}

static rlf_status
read_entries(const rlf_schedule_options *o, rlf_arena *arena, rlf_err *err,
             entry *out, int *count)
{
    const char *models = o->models, *times = o->times, *memory = o->memory;
    const char *send = o->send, *item;
    int n = 0, n_times = 0, n_memory = 0, n_send = 0;
    if (!models || !times || !memory)
        return missing(!models ? "models" : !times ? "times" : "memory", err);
    for (; next_item(&models, arena, &item); n++) {
        if (n == MOST_MODELS)
            return wrong_model(item, "there are 16 models before it", err);
        RLF_TRY(read_model(item, arena, out, n, err, &out[n]));
    }
    for (; next_item(&times, arena, &item); n_times++)
        if (n_times < n)
            RLF_TRY(read_time(item, arena, err, &out[n_times]));
    for (; next_item(&memory, arena, &item); n_memory++)
        if (n_memory < n)
            RLF_TRY(read_memory(item, arena, err, &out[n_memory]));
    bool sends = send != NULL;
    for (; sends && next_item(&send, arena, &item); n_send++)
        if (n_send < n)
            RLF_TRY(read_send(item, err, &out[n_send]));
    const char *other = n_times != n           ? "times"
                        : n_memory != n        ? "memory"
                        : sends && n_send != n ? "send"
                                               : NULL;
    if (other)
        return rlf_fail(err, RLF_USAGE,
                        "--%s has %d items, but there are %d models", other,
                        n_times != n    ? n_times
                        : n_memory != n ? n_memory
                                        : n_send,
                        n);
    *count = n;
    return RLF_OK;
}

static rlf_status
read_cap(const rlf_schedule_options *o, rlf_err *err, double *cap)
{
    const char *text = o->cap, *end;
    *cap = 0;
    if (!text || (read_number(text, &end, cap) && *cap > 0 && !*end))
        return RLF_OK;
    rlf_fail(err, RLF_USAGE,
             "--cap is '%s', not a number above 0 and below 1e12", text);
    rlf_err_hint(err, "say what a place may hold, in the unit of --memory");
    return RLF_USAGE;
}

/* ---- the problem ---- */

/* The copies of one entry, after those that are there. */
static void
add_copies(const entry *e, int turn, rlf_arena *arena, rlf_fuse *fuse,
           const rlf_pipe_cost **cost, int *turns)
{
    int copies = fuse->places / e->places;
    for (int c = 0; c < copies; c++) {
        int *path = RLF_NEW_ARRAY(arena, int, e->stages), m = fuse->n_models++;
        for (int k = 0; k < e->stages; k++) {
            bool back = (turn + (e->vee ? k / e->places : 0)) % 2;
            int at = k % e->places;
            path[k] = c * e->places + (back ? e->places - 1 - at : at);
        }
        fuse->models[m] = (rlf_pipe_model){
            .name = copies > 1
                        ? rlf_arena_printf(arena, "%s.%d", e->name, c + 1)
                        : e->name,
            .micros = e->micros,
            .stages = e->stages,
            .path = path,
            .split = e->split,
        };
        cost[m] = e->cost;
        turns[m] = turn;
    }
}

rlf_status
rlf_schedule_read(const rlf_schedule_options *o, rlf_arena *arena, rlf_err *err,
                  rlf_fuse *fuse, double *cap)
{
    entry entries[MOST_MODELS] = {0};
    int n = 0, most = 0;
    *fuse = (rlf_fuse){0};
    RLF_TRY(read_entries(o, arena, err, entries, &n));
    RLF_TRY(read_cap(o, err, cap));
    for (int i = 0; i < n; i++)
        if (entries[i].places > fuse->places)
            fuse->places = entries[i].places;
    for (int i = 0; i < n; i++) {
        most += fuse->places / entries[i].places;
        if (fuse->places % entries[i].places == 0)
            continue;
        rlf_fail(err, RLF_USAGE,
                 "%s has %d stages, of which no number of copies fills the %d "
                 "places",
                 entries[i].name, entries[i].places, fuse->places);
        rlf_err_hint(err, "give it a number of stages that divides %d",
                     fuse->places);
        return RLF_USAGE;
    }
    fuse->models = RLF_NEW_ARRAY(arena, rlf_pipe_model, most);
    const rlf_pipe_cost **cost =
        RLF_NEW_ARRAY(arena, const rlf_pipe_cost *, most);
    int *turns = RLF_NEW_ARRAY(arena, int, most);
    for (int i = 0; i < n; i++)
        add_copies(&entries[i], i, arena, fuse, cost, turns);
    fuse->turn = turns;
    fuse->cost = cost;
    return RLF_OK;
}
