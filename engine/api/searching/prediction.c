/* Predictions of runs: see prediction.h. */
#include "engine/api/searching/prediction.h"

#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/sealed.h"
#include "engine/order/answer.h"

#include <inttypes.h>
#include <string.h>

enum { FORMAT = 1, MOST = 64 << 20 }; /* of the file; bytes that are read */

static const char *
path_of(const rlf_session *s)
{
    return rlf_path_join(s->arena, s->options.directory, "prediction.json");
}

rlf_prediction *
rlf_prediction_make(rlf_session *s, const rlf_session_found *found,
                    const char *place)
{
    rlf_prediction *p = RLF_NEW(s->arena, rlf_prediction);
    const rlf_search_candidate *best = found->best;
    *p = (rlf_prediction){
        .place = place,
        .cluster = s->planning.cluster->name,
        .guessed = s->planning.cluster->guessed && !s->planning.profiles,
        .simulated = best->simulated,
        .step = best->simulated ? best->step : best->placing.period,
        .memory = best->memory};
    if (best->simulated) {
        p->tokens = best->mean->tokens;
        p->idle = best->mean->idle;
        p->calls = best->mean->calls;
    }
    return p;
}

/* ---- the file ---- */

/* "actor.generate", or the class alone. Two calls may have one name, so nodes
 * are counted, too. */
static const char *
call_name(const rlf_session *s, size_t node)
{
    const rlf_node *n = &s->graph->nodes.data[node];
    return n->receiver < 0
               ? n->class->name
               : rlf_arena_printf(s->arena, "%s.%s",
                                  s->graph->resources.data[n->receiver].name,
                                  n->class->name);
}

static void
put_text(const char *between, const char *key, const char *text, rlf_buf *out)
{
    rlf_buf_printf(out, "%s\"%s\":", between, key);
    rlf_buf_json(out, text, strlen(text));
}

static void
put_number(const char *key, double x, rlf_buf *out)
{
    rlf_buf_printf(out, ",\n \"%s\":", key);
    rlf_buf_number(out, x);
}

/* Seconds that a node took of the steps so far; 0: none were taken. */
static double
measured(const rlf_session *s, size_t node)
{
    return s->steps.taken.count ? rlf_run_call_seconds(s->run, (int)node) : 0;
}

static void
put_calls(const rlf_session *s, rlf_buf *out)
{
    const char *between = "\n  ";
    rlf_buf_puts(out, ",\n \"calls\":[");
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        double took = measured(s, i);
        if (!(s->planning.prediction->calls[i] > 0) && !(took > 0))
            continue;
        rlf_buf_puts(out, between);
        put_text("{", "call", call_name(s, i), out);
        uint64_t interval =
            rlf_answer_interval(s->graph, &s->graph->nodes.data[i]);
        rlf_buf_printf(out, ",\"node\":%zu,", i);
        if (interval > 1)
            rlf_buf_printf(out, "\"every\":%" PRIu64 ",", interval);
        rlf_buf_puts(out, "\"seconds\":");
        rlf_buf_number(out, s->planning.prediction->calls[i]);
        if (s->steps.taken.count) {
            rlf_buf_puts(out, ",\"measured\":");
            rlf_buf_number(out, took);
        }
        rlf_buf_putc(out, '}');
        between = ",\n  ";
    }
    rlf_buf_puts(out, "]");
}

/* The place rows beside `auto`, of which the plan keeps what they say. */
static const char *
kept_rows(const rlf_session *s)
{
    const rlf_placement *p = s->graph->placement;
    rlf_buf text = {0};
    for (int i = 0; p && i < p->n_pins; i++) {
        rlf_place_row_print(s->graph, &p->pins[i], &text);
        rlf_buf_putc(&text, '\n');
    }
    const char *rows = rlf_arena_strdup(s->arena, text.n ? text.p : "");
    rlf_buf_free(&text);
    return rows;
}

/* A prediction names the conditions that it was found for: under others it is
 * of no use. */
static void
put_conditions(const rlf_session *s, rlf_buf *out)
{
    char digest[RLF_DIGEST_TEXT];
    put_text(",\n ", "shape", rlf_digest_print(s->plan->shape, digest), out);
    put_text(",\n ", "device", s->plan->numerics.backend, out);
    put_text(",\n ", "dtype", s->plan->numerics.dtype, out);
    rlf_buf_printf(out, ",\n \"ranks\":%d", s->plan->ranks);
    put_text(",\n ", "kept", kept_rows(s), out);
}

rlf_status
rlf_prediction_write(const rlf_session *s, rlf_err *err)
{
    const rlf_prediction *p = s->planning.prediction;
    rlf_buf out = {0};
    if (!p)
        return RLF_OK;
    rlf_buf_printf(&out, "{\"format\":%d", FORMAT);
    put_conditions(s, &out);
    put_text(",\n ", "cluster", p->cluster, &out);
    rlf_buf_printf(&out, ",\n \"guessed\":%s,\n \"simulated\":%s",
                   p->guessed ? "true" : "false",
                   p->simulated ? "true" : "false");
    put_number("step", p->step, &out);
    put_number("memory", p->memory, &out);
    if (p->simulated) {
        put_number("tokens_per_second", p->tokens, &out);
        put_number("idle", p->idle, &out);
        put_calls(s, &out);
    }
    if (s->steps.taken.count) {
        double n = s->steps.taken.count;
        rlf_buf_printf(&out, ",\n \"measured_steps\":%u", s->steps.taken.count);
        put_number("measured_step", s->steps.taken.seconds / n, &out);
        put_number("measured_tokens_per_second",
                   s->steps.taken.tokens / s->steps.taken.seconds, &out);
    }
    put_text(",\n ", "place", p->place, &out);
    rlf_sealed_end(&out);
    rlf_status status = rlf_file_write(path_of(s), out.p, out.n, err);
    rlf_buf_free(&out);
    return status;
}

/* ---- reading it ---- */

static bool
is_text(const json_t *root, const char *key, const char *value)
{
    const char *text = json_string_value(json_object_get(root, key));
    return text && strcmp(text, value) == 0;
}

/* Why it is not for this run, or NULL. */
static const char *
other_condition(const rlf_session *s, const json_t *root)
{
    char digest[RLF_DIGEST_TEXT];
    int64_t ranks = 0;
    rlf_json_as_int(json_object_get(root, "ranks"), &ranks);
    if (ranks != s->plan->ranks)
        return "another number of ranks";
    if (!is_text(root, "shape", rlf_digest_print(s->plan->shape, digest)))
        return "another program";
    if (!is_text(root, "device", s->plan->numerics.backend) ||
        !is_text(root, "dtype", s->plan->numerics.dtype))
        return "other devices";
    if (!is_text(root, "kept", kept_rows(s)))
        return "other rows beside 'place auto'";
    return NULL;
}

static rlf_status
read_calls(const rlf_session *s, const char *path, const json_t *root,
           rlf_err *err, rlf_prediction *p)
{
    json_t *list = NULL;
    size_t n = s->graph->nodes.count;
    double *calls = RLF_NEW_ARRAY(s->arena, double, n);
    p->calls = calls;
    RLF_TRY(rlf_json_get_array(root, path, "calls", p->simulated, err, &list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *call = json_array_get(list, i);
        int64_t node = -1;
        double seconds = 0;
        RLF_TRY(rlf_json_get_int(call, path, "node", true, err, &node));
        RLF_TRY(
            rlf_json_get_number(call, path, "seconds", true, err, &seconds));
        if (node < 0 || (size_t)node >= n)
            return rlf_fail(err, RLF_USER, "%s: there is no node %lld", path,
                            (long long)node);
        calls[node] = seconds;
    }
    return RLF_OK;
}

static rlf_status
read_all(rlf_session *s, const char *path, const json_t *root, rlf_err *err)
{
    rlf_prediction *p = RLF_NEW(s->arena, rlf_prediction);
    const char *place = NULL, *cluster = NULL;
    *p = (rlf_prediction){0};
    RLF_TRY(rlf_json_get_text(root, path, "place", true, err, &place));
    RLF_TRY(rlf_json_get_text(root, path, "cluster", true, err, &cluster));
    p->place = rlf_arena_strdup(s->arena, place);
    p->cluster = rlf_arena_strdup(s->arena, cluster);
    RLF_TRY(rlf_json_get_bool(root, path, "guessed", true, err, &p->guessed));
    RLF_TRY(
        rlf_json_get_bool(root, path, "simulated", true, err, &p->simulated));
    RLF_TRY(rlf_json_get_number(root, path, "step", true, err, &p->step));
    RLF_TRY(rlf_json_get_number(root, path, "memory", false, err, &p->memory));
    RLF_TRY(rlf_json_get_number(root, path, "idle", false, err, &p->idle));
    RLF_TRY(rlf_json_get_number(root, path, "tokens_per_second", false, err,
                                &p->tokens));
    RLF_TRY(read_calls(s, path, root, err, p));
    s->planning.prediction = p;
    return RLF_OK;
}

static rlf_status
read_file(rlf_session *s, const char *path, rlf_err *err)
{
    json_t *root = NULL;
    RLF_TRY(rlf_sealed_load(path, MOST, err, &root));
    const char *other = other_condition(s, root);
    rlf_status status = RLF_OK;
    if (other)
        rlf_buf_line(&s->warned.lines,
                     "%s is of %s: where the calls run is searched for "
                     "again\n",
                     path, other);
    else
        status = read_all(s, path, root, err);
    json_decref(root);
    return status;
}

rlf_status
rlf_prediction_read(rlf_session *s, rlf_err *err, const char **text)
{
    const char *path = path_of(s);
    rlf_err why = RLF_ERR_NONE;
    bool there;
    *text = NULL;
    RLF_TRY(rlf_path_own(path, err));
    RLF_TRY(rlf_file_own(path, false, err, &there));
    if (there && read_file(s, path, &why) < 0) {
        rlf_fail(err, why.status, "%s", why.sentence);
        rlf_err_hint(err, "remove that file: the search is then made again");
        return why.status;
    }
    if (s->planning.prediction)
        *text = s->planning.prediction->place;
    return RLF_OK;
}

/* ---- beside what was measured ---- */

/* Its seconds are those of a step that has it. */
static const char *
row_name(const rlf_session *s, size_t node)
{
    uint64_t interval =
        rlf_answer_interval(s->graph, &s->graph->nodes.data[node]);
    const char *name = call_name(s, node);
    return interval < 2 ? name
                        : rlf_arena_printf(s->arena, "%s, every %" PRIu64, name,
                                           interval);
}

static void
put_row(const char *name, double predicted, double took, rlf_buf *out)
{
    rlf_buf_printf(out, "%-24s %12.4g", name, predicted);
    if (took > 0)
        rlf_buf_printf(out, " %12.4g", took);
    else
        rlf_buf_printf(out, " %12s", "not run");
    if (predicted > 0 && took > 0)
        rlf_buf_printf(out, " %10.2f", took / predicted);
    rlf_buf_putc(out, '\n');
}

void
rlf_prediction_compare(const rlf_session *s, rlf_buf *out)
{
    const rlf_prediction *p = s->planning.prediction;
    if (!p || !s->steps.taken.count)
        return;
    double step = s->steps.taken.seconds / s->steps.taken.count;
    const double part = 0.01; /* of a step: what takes less is left out */
    double least = part * (step > p->step ? step : p->step);
    rlf_buf_printf(out, "%-24s %12s %12s %10s\n", "seconds", "predicted",
                   "measured", "times");
    put_row("step", p->step, step, out);
    for (size_t i = 0; p->simulated && i < s->graph->nodes.count; i++)
        if (p->calls[i] > (measured(s, i) > 0 ? least : part * p->step) ||
            measured(s, i) > least)
            put_row(row_name(s, i), p->calls[i], measured(s, i), out);
    rlf_buf_printf(
        out,
        "measured in %u step%s, of calls in those that have them, on the rank "
        "that each keeps longest; predicted on average over many steps, %s%s\n",
        s->steps.taken.count, s->steps.taken.count == 1 ? "" : "s",
        s->planning.like ? "for lengths like those of --like"
                         : "for responses as long as they can be",
        p->guessed ? ", by rates that nobody has measured (rlflow "
                     "profile does)"
                   : "");
}
