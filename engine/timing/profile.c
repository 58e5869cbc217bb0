/* Profiles as data and as text: see profile.h. */
#include "engine/timing/profile.h"

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/io/json.h"
#include "engine/timing/fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { OLDEST = 2 }; /* format that is read */

static const char *const kind_words[RLF_MEASURED_KINDS] = {
    [RLF_MEASURED_OPEN] = "open",         [RLF_MEASURED_ROWS] = "rows",
    [RLF_MEASURED_TURN] = "turn",         [RLF_MEASURED_FORWARD] = "forward",
    [RLF_MEASURED_BACKWARD] = "backward", [RLF_MEASURED_WEIGHTS] = "weights",
    [RLF_MEASURED_FINISH] = "finish",     [RLF_MEASURED_EDGE] = "edge",
    [RLF_MEASURED_MODEL] = "model",       [RLF_MEASURED_STEP] = "step",
    [RLF_MEASURED_SAMPLE] = "sample",
};

static const struct {
    const char *word;
    rlf_line_kind kind;
} link_words[] = {{"collective", RLF_LINE_COLLECTIVE},
                  {"message", RLF_LINE_MESSAGE},
                  {"copy", RLF_LINE_COPY}};

const char *
rlf_profile_call(const rlf_graph *graph, const rlf_node *node, char *text,
                 size_t room)
{
    if (node->receiver < 0)
        snprintf(text, room, "%s", node->class->name);
    else
        snprintf(text, room, "%s.%s",
                 graph->resources.data[node->receiver].name, node->class->name);
    return text;
}

/* ---- lines ---- */

double
rlf_profile_line_at(const rlf_profile_line *line, double x, double y)
{
    return line->fixed + line->each * x + line->more * y;
}

/* If all x are closer than this to each other, whatever disturbs them could
 * be taken for a constant. */
#define APART 1.25

/* Columns of the fit: a constant, x, y; one that says nothing is left out. */
static void
fit(const rlf_profile_sample *s, int n, rlf_profile_line *out)
{
    bool x_varies = false, y_there = false;
    double least = s[0].x, most = s[0].x;
    double *terms = rlf_calloc((size_t)n * 4, sizeof *terms), factor[3];
    double *seconds = terms + 3 * (size_t)n;
    rlf_err ignored = RLF_ERR_NONE;
    for (int i = 0; i < n; i++) {
        x_varies |= fabs(s[i].x - s[0].x) > 0.02 * s[0].x;
        y_there |= s[i].y > 0;
        least = fmin(least, s[i].x);
        most = fmax(most, s[i].x);
    }
    bool apart = most > APART * least;
    for (int i = 0; i < n; i++) {
        terms[3 * i] = apart || !(s[i].x > 0);
        terms[3 * i + 1] = s[i].x;
        terms[3 * i + 2] = y_there && x_varies ? s[i].y : 0;
        seconds[i] = fmax(s[i].seconds, 1e-9);
    }
    if (rlf_fit_factors(terms, n, 3, seconds, &ignored, factor) < 0)
        memset(factor, 0, sizeof factor);
    out->fixed = factor[0];
    out->each = factor[1];
    out->more = factor[2];
    free(terms);
}

static double
error_of(const rlf_profile_line *line, const rlf_profile_sample *s)
{
    return fabs(rlf_profile_line_at(line, s->x, s->y) - s->seconds) /
           fmax(s->seconds, 1e-9);
}

/* A piece so much slower than its line was put aside, or came first. */
#define FAR 4

void
rlf_profile_fit(const rlf_profile_sample *samples, int n, rlf_profile_line *out)
{
    rlf_profile_sample *kept = rlf_calloc((size_t)n + 1, sizeof *kept);
    double error = 0, seen = 0, said = 0;
    int m = 0;
    out->least = out->most = samples[0].x;
    fit(samples, n, out);
    for (int i = 0; i < n; i++) {
        const rlf_profile_sample *s = &samples[i];
        out->least = fmin(out->least, s->x);
        out->most = fmax(out->most, s->x);
        if (s->seconds <= FAR * rlf_profile_line_at(out, s->x, s->y))
            kept[m++] = *s;
    }
    if (m)
        fit(kept, m, out);
    for (int i = 0; i < m; i++) {
        seen += kept[i].seconds;
        said += rlf_profile_line_at(out, kept[i].x, kept[i].y);
    }
    double scale = said > 0 ? seen / said : 1;
    out->fixed *= scale;
    out->each *= scale;
    out->more *= scale;
    for (int i = 0; i < m; i++)
        error += error_of(out, &kept[i]);
    out->spread = m ? error / m : 0;
    out->n = (uint64_t)n;
    free(kept);
}

bool
rlf_profile_is_pass(rlf_measured_kind kind)
{
    return kind == RLF_MEASURED_FORWARD || kind == RLF_MEASURED_BACKWARD ||
           kind == RLF_MEASURED_WEIGHTS;
}

bool
rlf_profile_same_key(const rlf_profile_key *a, const rlf_profile_key *b)
{
    return a->kind == b->kind && a->tp == b->tp && a->pp == b->pp &&
           a->stage == b->stage && a->dp == b->dp && a->threads == b->threads &&
           a->chunks == b->chunks && a->vee == b->vee && a->split == b->split &&
           !strcmp(a->call, b->call);
}

static double
chunks_of(const rlf_profile_key *key)
{
    return key->chunks > 1 ? key->chunks : 1;
}

/* Returns the distance of two cuts; < 0: they are not of the same work. */
static double
distance(const rlf_profile_key *a, const rlf_profile_key *b)
{
    if (a->kind != b->kind || a->split != b->split ||
        strcmp(a->call, b->call) != 0)
        return -1;
    double parts = fabs(log2((double)a->tp / b->tp)) * 4 +
                   fabs(log2((double)a->pp / b->pp)) * 2 +
                   fabs(log2(chunks_of(a) / chunks_of(b))) * 1.5 +
                   (a->vee != b->vee) * 0.5;
    return parts + (a->stage != b->stage) + abs(a->dp - b->dp) * 0.25 +
           fabs(log2(fmax(a->threads, 0.5) / fmax(b->threads, 0.5))) * 3;
}

const rlf_profile_line *
rlf_profile_find(const rlf_profile *p, const rlf_profile_key *key,
                 rlf_profile_line *made, bool *exact)
{
    const rlf_profile_line *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < p->n_lines; i++) {
        double d = distance(key, &p->lines[i].key);
        if (d < 0 || d >= least)
            continue;
        least = d;
        best = &p->lines[i];
    }
    *exact = least <= 0;
    if (!best || *exact)
        return best;
    double had = (double)best->key.tp * best->key.pp * chunks_of(&best->key);
    double has = (double)key->tp * key->pp * chunks_of(key);
    double parts =
        had * fmax(best->key.threads, 1) / (has * fmax(key->threads, 1));
    *made = *best;
    made->key = *key;
    made->key.call = best->key.call; /* which lives as long as the profile */
    made->each *= parts;
    made->more *= parts;
    return made;
}

const rlf_profile_lengths *
rlf_profile_lengths_of(const rlf_profile *p, const char *call)
{
    for (int i = 0; i < p->n_lengths; i++)
        if (!strcmp(p->lengths[i].call, call))
            return &p->lengths[i];
    return NULL;
}

/* ---- printing ---- */

static void
print_text(rlf_buf *out, const char *name, const char *text)
{
    rlf_buf_printf(out, "\"%s\":", name);
    rlf_buf_json(out, text, strlen(text));
}

static void
print_line(const rlf_profile_line *l, rlf_buf *out)
{
    rlf_buf_puts(out, "{");
    print_text(out, "call", l->key.call);
    rlf_buf_printf(out,
                   ",\"piece\":\"%s\",\"tp\":%d,\"pp\":%d,\"stage\":%d,"
                   "\"dp\":%d,\"threads\":%d",
                   kind_words[l->key.kind], l->key.tp, l->key.pp, l->key.stage,
                   l->key.dp, l->key.threads);
    if (l->key.chunks)
        rlf_buf_printf(out, ",\"chunks\":%d", l->key.chunks);
    rlf_buf_puts(out, l->key.vee ? ",\"vee\":true" : "");
    rlf_buf_puts(out, l->key.split ? ",\"split\":true" : "");
    rlf_buf_printf(out,
                   ",\"fixed\":%.6g,\"each\":%.6g,\"more\":%.6g,"
                   "\"least\":%.9g,\"most\":%.9g,\"spread\":%.4g,\"n\":%llu}",
                   l->fixed, l->each, l->more, l->least, l->most, l->spread,
                   (unsigned long long)l->n);
}

static void
print_link(const rlf_line *l, rlf_buf *out)
{
    for (size_t i = 0; i < RLF_COUNT(link_words); i++)
        if (link_words[i].kind == l->kind)
            rlf_buf_printf(out,
                           "{\"kind\":\"%s\",\"ranks\":%d,\"fixed\":%.6g,"
                           "\"each\":%.6g,\"least\":%.9g,\"most\":%.9g,"
                           "\"spread\":%.4g}",
                           link_words[i].word, l->ranks, l->fixed, l->each,
                           l->least, l->most, l->spread);
}

static void
print_lengths(const rlf_profile_lengths *l, rlf_buf *out)
{
    bool first = true;
    rlf_buf_puts(out, "{");
    print_text(out, "call", l->call);
    rlf_buf_printf(out, ",\"prompt\":%.6g,\"classes\":[", l->prompt);
    for (int k = 0; k < RLF_TAIL_LENGTHS; k++)
        if (l->count[k] > 0) {
            rlf_buf_printf(out, "%s[%d,%.9g", first ? "" : ",", k, l->count[k]);
            if (l->tokens[k] > 0)
                rlf_buf_printf(out, ",%.9g", l->tokens[k] / l->count[k]);
            rlf_buf_puts(out, "]");
            first = false;
        }
    rlf_buf_puts(out, "]}");
}

void
rlf_profile_print(const rlf_profile *p, rlf_buf *out)
{
    rlf_buf_printf(out, "{\"profile\":%d,\n ", RLF_PROFILE_FORMAT);
    print_text(out, "machine", p->machine);
    rlf_buf_printf(out, ",\"cores\":%d,%s\n ", p->cores,
                   p->gpu ? "\"gpu\":true," : "");
    print_text(out, "program", p->program);
    rlf_buf_printf(out, ",\"post\":%.6g,\n \"models\":[", p->post);
    for (int i = 0; i < p->n_models; i++) {
        rlf_buf_puts(out, i ? ",\n  {" : "\n  {");
        print_text(out, "name", p->models[i].name);
        rlf_buf_puts(out, ",");
        print_text(out, "shape", p->models[i].shape);
        rlf_buf_puts(out, "}");
    }
    rlf_buf_puts(out, "],\n \"links\":[");
    for (int i = 0; i < p->n_links; i++) {
        rlf_buf_puts(out, i ? ",\n  " : "\n  ");
        print_link(&p->links[i], out);
    }
    rlf_buf_puts(out, "],\n \"lengths\":[");
    for (int i = 0; i < p->n_lengths; i++) {
        rlf_buf_puts(out, i ? ",\n  " : "\n  ");
        print_lengths(&p->lengths[i], out);
    }
    rlf_buf_puts(out, "],\n \"lines\":[");
    for (int i = 0; i < p->n_lines; i++) {
        rlf_buf_puts(out, i ? ",\n  " : "\n  ");
        print_line(&p->lines[i], out);
    }
    rlf_buf_puts(out, "]}\n");
}

/* ---- reading ---- */

typedef struct reader {
    const char *path;
    rlf_arena *arena;
    rlf_err *err;
    int64_t format;
} reader;

static rlf_status
wrong(const reader *r, const char *where, size_t i, const char *what)
{
    rlf_err *err = r->err;
    rlf_fail(err, RLF_USER, "%s: entry %zu of \"%s\" %s", r->path, i + 1, where,
             what);
    rlf_err_hint(err, "rlflow profile writes such files; measure again");
    return RLF_USER;
}

static rlf_status
read_text(const reader *r, const json_t *o, const char *key, const char **out)
{
    rlf_err *err = r->err;
    const char *text;
    RLF_TRY(rlf_json_get_text(o, r->path, key, true, err, &text));
    *out = rlf_arena_strdup(r->arena, text);
    return RLF_OK;
}

/* A number from least to most. */
static rlf_status
read_number(const reader *r, const json_t *o, const char *key, double least,
            double most, double *out)
{
    rlf_err *err = r->err;
    RLF_TRY(rlf_json_get_number(o, r->path, key, true, err, out));
    if (*out >= least && *out <= most)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "%s: \"%s\" is %g, and must be from %g to %g",
             r->path, key, *out, least, most);
    rlf_err_hint(err, "rlflow profile writes such files; measure again");
    return RLF_USER;
}

static rlf_status
read_int(const reader *r, const json_t *o, const char *key, int least, int *out)
{
    rlf_err *err = r->err;
    double x;
    RLF_TRY(read_number(r, o, key, least, 1 << 20, &x));
    *out = (int)x;
    return RLF_OK;
}

/* The place of a word in a list; -1: it is not there. */
static int
find_word(const char *word, const char *const *words, int n)
{
    int i = n - 1;
    while (i >= 0 && strcmp(words[i], word) != 0)
        i--;
    return i;
}

/* Reads how a table cuts what passes through it, which files of format 2 do not
 * say: there all is taken to be whole, as nearly all of it was. */
static rlf_status
read_pass(const reader *r, const json_t *o, rlf_profile_key *k)
{
    rlf_err *err = r->err;
    k->chunks = 1;
    if (r->format < 3)
        return RLF_OK;
    RLF_TRY(read_int(r, o, "chunks", 1, &k->chunks));
    RLF_TRY(rlf_json_get_bool(o, r->path, "vee", false, err, &k->vee));
    return rlf_json_get_bool(o, r->path, "split", false, err, &k->split);
}

/* In files of format 2 a backward pass was split where there is a line of what
 * it left out. */
static void
find_split(rlf_profile *p)
{
    for (int i = 0; i < p->n_lines; i++) {
        if (p->lines[i].key.kind != RLF_MEASURED_WEIGHTS)
            continue;
        for (int k = 0; k < p->n_lines; k++) {
            rlf_profile_key *key = &p->lines[k].key, whole = *key;
            whole.kind = RLF_MEASURED_WEIGHTS;
            key->split |= key->kind == RLF_MEASURED_BACKWARD &&
                          rlf_profile_same_key(&whole, &p->lines[i].key);
        }
    }
}

static rlf_status
read_line(const reader *r, const json_t *o, size_t i, rlf_profile_line *l)
{
    rlf_err *err = r->err;
    rlf_profile_key *k = &l->key;
    const char *piece;
    double n;
    RLF_TRY(read_text(r, o, "call", &k->call));
    RLF_TRY(read_text(r, o, "piece", &piece));
    int kind = find_word(piece, kind_words, RLF_MEASURED_KINDS);
    if (kind < 0)
        return wrong(r, "lines", i, "is of a piece that nothing is made of");
    k->kind = (rlf_measured_kind)kind;
    RLF_TRY(read_int(r, o, "tp", 1, &k->tp));
    RLF_TRY(read_int(r, o, "pp", 1, &k->pp));
    RLF_TRY(read_int(r, o, "stage", 0, &k->stage));
    RLF_TRY(read_int(r, o, "dp", 0, &k->dp));
    RLF_TRY(read_int(r, o, "threads", 0, &k->threads));
    if (rlf_profile_is_pass(k->kind))
        RLF_TRY(read_pass(r, o, k));
    if (k->stage >= k->pp)
        return wrong(r, "lines", i, "is of a stage beyond its \"pp\"");
    RLF_TRY(read_number(r, o, "fixed", 0, 1e6, &l->fixed));
    RLF_TRY(read_number(r, o, "each", 0, 1e6, &l->each));
    RLF_TRY(read_number(r, o, "more", 0, 1e6, &l->more));
    RLF_TRY(read_number(r, o, "least", 0, 1e18, &l->least));
    RLF_TRY(read_number(r, o, "most", l->least, 1e18, &l->most));
    RLF_TRY(read_number(r, o, "spread", 0, 1e6, &l->spread));
    RLF_TRY(read_number(r, o, "n", 1, 1e15, &n));
    l->n = (uint64_t)n;
    return RLF_OK;
}

static rlf_status
read_link(const reader *r, const json_t *o, size_t i, rlf_line *l)
{
    rlf_err *err = r->err;
    const char *word;
    RLF_TRY(read_text(r, o, "kind", &word));
    size_t k = 0;
    while (k < RLF_COUNT(link_words) && strcmp(link_words[k].word, word) != 0)
        k++;
    if (k == RLF_COUNT(link_words))
        return wrong(r, "links", i, "is of no kind that there is");
    *l = (rlf_line){.kind = link_words[k].kind};
    RLF_TRY(read_int(r, o, "ranks", 1, &l->ranks));
    RLF_TRY(read_number(r, o, "fixed", 0, 1e6, &l->fixed));
    RLF_TRY(read_number(r, o, "each", 0, 1e6, &l->each));
    RLF_TRY(read_number(r, o, "least", 0, 1e18, &l->least));
    RLF_TRY(read_number(r, o, "most", l->least, 1e18, &l->most));
    return read_number(r, o, "spread", 0, 1e6, &l->spread);
}

/* [class, responses] or [class, responses, their mean]. */
static bool
read_class(const json_t *list, rlf_profile_lengths *out)
{
    const json_t *count = json_array_get(list, 1);
    const json_t *mean = json_array_get(list, 2);
    size_t n = json_array_size(list);
    int64_t class;
    if (n < 2 || n > 3 || !rlf_json_as_int(json_array_get(list, 0), &class) ||
        class < 0 || class >= RLF_TAIL_LENGTHS || !json_is_number(count) ||
        !(json_number_value(count) > 0))
        return false;
    out->count[class] = json_number_value(count);
    out->tokens[class] = 0;
    if (!mean)
        return true;
    double x = json_number_value(mean);
    out->tokens[class] = x * out->count[class];
    return json_is_number(mean) && x >= rlf_tail_least((int)class) &&
           x < rlf_tail_least((int)class + 1);
}

static rlf_status
read_lengths(const reader *r, const json_t *o, size_t i,
             rlf_profile_lengths *out)
{
    rlf_err *err = r->err;
    json_t *classes;
    RLF_TRY(read_text(r, o, "call", &out->call));
    RLF_TRY(read_number(r, o, "prompt", 0, 1e9, &out->prompt));
    RLF_TRY(rlf_json_get_array(o, r->path, "classes", true, err, &classes));
    for (size_t k = 0; k < json_array_size(classes); k++)
        if (!read_class(json_array_get(classes, k), out))
            return wrong(r, "lengths", i, "has a class that is none");
    return json_array_size(classes) ? RLF_OK
                                    : wrong(r, "lengths", i, "has no lengths");
}

static rlf_status
read_model(const reader *r, const json_t *o, rlf_profile_model *out)
{
    rlf_err *err = r->err;
    RLF_TRY(read_text(r, o, "name", &out->name));
    return read_text(r, o, "shape", &out->shape);
}

/* An array of objects: *n entries of `size` bytes, zeroed. */
static rlf_status
read_array(const reader *r, const json_t *root, const char *key, size_t size,
           json_t **list, void **out, int *n)
{
    rlf_err *err = r->err;
    RLF_TRY(rlf_json_get_array(root, r->path, key, true, err, list));
    *n = (int)json_array_size(*list);
    *out = rlf_arena_alloc(r->arena, ((size_t)*n + 1) * size);
    for (int i = 0; i < *n; i++)
        if (!json_is_object(json_array_get(*list, (size_t)i)))
            return wrong(r, key, (size_t)i, "is no object");
    return RLF_OK;
}

static rlf_status
read_all(reader *r, const json_t *root, rlf_profile *p)
{
    rlf_err *err = r->err;
    json_t *list;
    void *out;
    RLF_TRY(rlf_json_get_int(root, r->path, "profile", false, err, &r->format));
    if (r->format < OLDEST || r->format > RLF_PROFILE_FORMAT) {
        rlf_fail(err, RLF_USER, "%s is no profile that this version reads",
                 r->path);
        rlf_err_hint(err, "rlflow profile PROGRAM -o FILE writes one");
        return RLF_USER;
    }
    RLF_TRY(read_text(r, root, "machine", &p->machine));
    RLF_TRY(read_text(r, root, "program", &p->program));
    RLF_TRY(read_int(r, root, "cores", 1, &p->cores));
    p->gpu = json_is_true(json_object_get(root, "gpu"));
    RLF_TRY(read_number(r, root, "post", 0, 1e3, &p->post));
    RLF_TRY(read_array(r, root, "models", sizeof *p->models, &list, &out,
                       &p->n_models));
    p->models = out;
    for (int i = 0; i < p->n_models; i++)
        RLF_TRY(read_model(r, json_array_get(list, (size_t)i), &p->models[i]));
    RLF_TRY(read_array(r, root, "links", sizeof *p->links, &list, &out,
                       &p->n_links));
    p->links = out;
    for (size_t i = 0; i < (size_t)p->n_links; i++)
        RLF_TRY(read_link(r, json_array_get(list, i), i, &p->links[i]));
    RLF_TRY(read_array(r, root, "lengths", sizeof *p->lengths, &list, &out,
                       &p->n_lengths));
    p->lengths = out;
    for (size_t i = 0; i < (size_t)p->n_lengths; i++)
        RLF_TRY(read_lengths(r, json_array_get(list, i), i, &p->lengths[i]));
    RLF_TRY(read_array(r, root, "lines", sizeof *p->lines, &list, &out,
                       &p->n_lines));
    p->lines = out;
    for (size_t i = 0; i < (size_t)p->n_lines; i++)
        RLF_TRY(read_line(r, json_array_get(list, i), i, &p->lines[i]));
    if (r->format < 3)
        find_split(p);
    return RLF_OK;
}

rlf_status
rlf_profile_parse(const char *path, const char *text, size_t n,
                  rlf_arena *arena, rlf_err *err, rlf_profile *out)
{
    reader r = {path, arena, err, 0};
    json_t *root;
    *out = (rlf_profile){.path = rlf_arena_strdup(arena, path)};
    RLF_TRY(rlf_json_parse(path, 1, text, n, err, &root));
    rlf_status status = RLF_USER;
    if (json_is_object(root))
        status = read_all(&r, root, out);
    else
        rlf_fail(err, RLF_USER, "%s is no profile: it is %s", path,
                 rlf_json_word(root));
    json_decref(root);
    return status;
}
