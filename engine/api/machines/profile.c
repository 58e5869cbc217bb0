/* Collecting what ranks measure, and profiles as files: see profile.h. */
#include "engine/api/machines/profile.h"

#include "engine/base/vec.h"
#include "engine/dev/cores.h"
#include "engine/io/file.h"
#include "engine/timing/measured.h"
#include "nodes/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    NEWEST = 4096, /* pieces of a rank that are kept until they are sorted */
    WORDS = 256,   /* of a call's name */
    MOST = 16 << 20,
};

/* Pieces that a rank has seen, the newest of them. */
typedef struct seen {
    rlf_measured *list;
    size_t n;
} seen;

typedef struct bundle {
    rlf_profile_key key;
    RLF_VEC(rlf_profile_sample) samples;
    bool now; /* of the run at hand */
} bundle;

struct rlf_collector {
    rlf_measure measure;
    const rlf_plan *plan; /* of the run at hand */
    seen *ranks;
    int n_ranks;
    rlf_arena *arena; /* of names */
    RLF_VEC(bundle) bundles;
    RLF_VEC(rlf_profile_lengths) lengths;
};

static const char file_name[] = "profile.json";

/* ---- seeing ---- */

static void
see(void *self, const rlf_measured *m)
{
    const rlf_collector *c = self;
    seen *of = &c->ranks[m->rank];
    if (of->list)
        of->list[of->n++ % NEWEST] = *m;
}

rlf_collector *
rlf_collector_new(void)
{
    rlf_collector *c = rlf_calloc(1, sizeof *c);
    c->measure = (rlf_measure){c, see};
    c->arena = rlf_arena_new();
    return c;
}

static void
forget(rlf_collector *c)
{
    for (int i = 0; i < c->n_ranks; i++)
        free(c->ranks[i].list);
    free(c->ranks);
    c->ranks = NULL;
    c->n_ranks = 0;
}

void
rlf_collector_free(rlf_collector *c)
{
    if (!c)
        return;
    forget(c);
    for (size_t i = 0; i < c->bundles.count; i++)
        RLF_VEC_FREE(&c->bundles.data[i].samples);
    RLF_VEC_FREE(&c->bundles);
    RLF_VEC_FREE(&c->lengths);
    rlf_arena_free(c->arena);
    free(c);
}

rlf_status
rlf_collector_begin(rlf_collector *c, const rlf_plan *plan, rlf_err *err,
                    const rlf_measure **out)
{
    forget(c);
    c->plan = plan;
    for (size_t i = 0; i < c->bundles.count; i++)
        c->bundles.data[i].now = false;
    RLF_TRY(rlf_try_array((size_t)plan->ranks, sizeof *c->ranks, "measurements",
                          err, &c->ranks));
    c->n_ranks = plan->ranks;
    for (int i = 0; i < c->n_ranks; i++)
        RLF_TRY(rlf_try_array(NEWEST, sizeof *c->ranks[i].list, "measurements",
                              err, &c->ranks[i].list));
    *out = &c->measure;
    return RLF_OK;
}

/* ---- sorting ---- */

static bundle *
bundle_of(rlf_collector *c, const rlf_profile_key *key)
{
    for (size_t i = 0; i < c->bundles.count; i++)
        if (rlf_profile_same_key(&c->bundles.data[i].key, key))
            return &c->bundles.data[i];
    bundle b = {.key = *key};
    b.key.call = rlf_arena_strdup(c->arena, key->call);
    RLF_PUSH(&c->bundles, b);
    return &c->bundles.data[c->bundles.count - 1];
}

static void
add_length(rlf_collector *c, const char *call, const rlf_measured *m)
{
    size_t i = 0;
    while (i < c->lengths.count && strcmp(c->lengths.data[i].call, call) != 0)
        i++;
    if (i == c->lengths.count) {
        rlf_profile_lengths l = {.call = rlf_arena_strdup(c->arena, call)};
        RLF_PUSH(&c->lengths, l);
    }
    rlf_profile_lengths *l = &c->lengths.data[i];
    double n = 0;
    for (int k = 0; k < RLF_TAIL_LENGTHS; k++)
        n += l->count[k];
    l->prompt += (m->y - l->prompt) / (n + 1);
    int class = rlf_tail_class((uint32_t)m->x);
    l->count[class]++;
    l->tokens[class] += m->x;
}

static void
sort_piece(rlf_collector *c, const rlf_measured *m, int threads)
{
    char words[WORDS];
    const rlf_graph *graph = c->plan->graph;
    bool edge = m->kind == RLF_MEASURED_EDGE;
    rlf_profile_key key =
        rlf_measured_key(c->plan, edge ? NULL : m->node, m->kind, m->rank,
                         threads, words, sizeof words);
    if (m->kind == RLF_MEASURED_MODEL)
        key.call = graph->resources.data[m->model].name;
    if (m->kind == RLF_MEASURED_SAMPLE) {
        add_length(c, key.call, m);
        return;
    }
    bundle *b = bundle_of(c, &key);
    if (b->samples.count >= RLF_PROFILE_SAMPLES) {
        memmove(b->samples.data, b->samples.data + RLF_PROFILE_SAMPLES / 2,
                RLF_PROFILE_SAMPLES / 2 * sizeof *b->samples.data);
        b->samples.count = RLF_PROFILE_SAMPLES / 2;
    }
    b->now = true;
    rlf_profile_sample s = {m->x, m->y, m->seconds};
    RLF_PUSH(&b->samples, s);
}

void
rlf_collector_end(rlf_collector *c, int threads, bool keep)
{
    if (threads == 1 && c->n_ranks > rlf_cores_count())
        threads = 0;
    for (int r = 0; r < c->n_ranks; r++) {
        seen *of = &c->ranks[r];
        size_t first = of->n > NEWEST ? of->n - NEWEST : 0;
        for (size_t i = first; i < of->n && keep; i++)
            sort_piece(c, &of->list[i % NEWEST], threads);
        of->n = 0;
    }
}

double
rlf_collector_busy(const rlf_collector *c, int rank)
{
    const seen *of = &c->ranks[rank];
    double sum = 0;
    for (size_t i = of->n > NEWEST ? of->n - NEWEST : 0; i < of->n; i++)
        sum += of->list[i % NEWEST].seconds;
    return sum;
}

double
rlf_collector_doubt(const rlf_collector *c)
{
    double worst = 0, all = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < c->bundles.count; i++) {
            const bundle *b = &c->bundles.data[i];
            size_t n = b->samples.count;
            rlf_profile_line line;
            double sum = 0;
            if (!b->now)
                continue;
            for (size_t k = 0; k < n; k++)
                sum += b->samples.data[k].seconds;
            if (pass == 0) {
                all += sum;
                continue;
            }
            rlf_profile_fit(b->samples.data, (int)n, &line);
            double doubt = n > 1 ? line.spread / sqrt((double)n) : 1;
            worst = fmax(worst, doubt * fmin(1, 20 * sum / all));
        }
    return worst;
}

/* ---- a profile ---- */

static const char *
profile_machine(rlf_arena *arena)
{
    rlf_buf text = {0};
    rlf_err ignored = RLF_ERR_NONE;
    const char *name = "a machine without a name";
    if (rlf_file_read("/proc/cpuinfo", MOST, &ignored, &text) >= 0 && text.p) {
        const char *at = strstr(text.p, "model name"), *end;
        at = at ? strchr(at, ':') : NULL;
        if (at && (end = strchr(at, '\n')) && end > at + 2)
            name = rlf_arena_strndup(arena, at + 2, (size_t)(end - at - 2));
    }
    rlf_buf_free(&text);
    return name;
}

/* Layers, numbers, and a digest of all shapes. */
static rlf_status
shape_of(const rlf_session *s, const rlf_resource *r, rlf_arena *arena,
         rlf_err *err, const char **out)
{
    rlf_shapes shapes;
    rlf_digest digest = rlf_digest_of("", 0);
    char text[RLF_DIGEST_TEXT];
    double numbers = 0;
    const void *object = NULL; /* of a run it is open */
    if (s->run && rlf_run_steps(s->run))
        object = rlf_run_opened(s->run).resource[r - s->graph->resources.data];
    RLF_TRY(r->class->model->shapes(s->graph, r, object, arena, err, &shapes));
    for (int i = 0; i < shapes.count; i++) {
        const int64_t of[] = {shapes.list[i].layer, shapes.list[i].rows,
                              shapes.list[i].cols, shapes.list[i].unit};
        digest = rlf_digest_add(digest, of, sizeof of);
        numbers += (double)(of[1] * of[2]);
    }
    *out =
        rlf_arena_printf(arena, "%d layers, %.0f numbers, %.8s", shapes.layers,
                         numbers, rlf_digest_print(digest, text));
    return RLF_OK;
}

rlf_status
rlf_collector_profile(const rlf_collector *c, rlf_session *s, rlf_arena *arena,
                      rlf_err *err, rlf_profile *out)
{
    size_t n = c->bundles.count, models = s->graph->resources.count;
    *out =
        (rlf_profile){.machine = profile_machine(arena),
                      .cores = rlf_cores_count(),
                      .gpu = strcmp(rlf_session_backend(s)->name, "cpu") != 0,
                      .program = s->program.path,
                      .lines = RLF_NEW_ARRAY(arena, rlf_profile_line, n + 1),
                      .models = RLF_NEW_ARRAY(arena, rlf_profile_model, models),
                      .lengths = c->lengths.data,
                      .n_lengths = (int)c->lengths.count};
    for (size_t i = 0; i < n; i++) {
        const bundle *b = &c->bundles.data[i];
        rlf_profile_line *l = &out->lines[out->n_lines++];
        rlf_profile_fit(b->samples.data, (int)b->samples.count, l);
        l->key = b->key;
    }
    for (size_t i = 0; i < models; i++) {
        const rlf_resource *r = &s->graph->resources.data[i];
        rlf_profile_model *m = &out->models[out->n_models];
        if (!r->class->model)
            continue;
        m->name = r->name;
        RLF_TRY(shape_of(s, r, arena, err, &m->shape));
        out->n_models++;
    }
    return RLF_OK;
}

/* ---- files ---- */

const char *
rlf_profile_path(const char *path, rlf_arena *arena)
{
    struct stat it;
    bool directory = stat(path, &it) == 0 && S_ISDIR(it.st_mode);
    return directory ? rlf_path_join(arena, path, file_name) : path;
}

rlf_status
rlf_profile_open(const char *path, rlf_arena *arena, rlf_err *err,
                 rlf_profile **out)
{
    rlf_buf text = {0};
    const char *file = rlf_profile_path(path, arena);
    bool there, directory = file != path;
    RLF_TRY(rlf_file_find(file, err, &there));
    if (!there && directory) {
        rlf_fail(err, RLF_USER, "%s has no %s", path, file_name);
        rlf_err_hint(err, "a run leaves it there when it ends; is this a run's "
                          "directory, and has it ended?");
        return RLF_USER;
    }
    RLF_TRY(rlf_file_read(file, MOST, err, &text));
    *out = RLF_NEW(arena, rlf_profile);
    rlf_status status =
        rlf_profile_parse(file, text.p ? text.p : "", text.n, arena, err, *out);
    rlf_buf_free(&text);
    return status;
}

rlf_status
rlf_profile_of_device(const rlf_device_kind *device, rlf_arena *arena,
                      rlf_err *err, rlf_profile **out)
{
    rlf_status status = rlf_profile_open(device->profile, arena, err, out);
    if (status < 0) {
        rlf_err_place(err, device->profile_span, NULL);
        rlf_err_hint(err, "the device '%s' names it, by 'profile:'",
                     device->name);
    }
    return status;
}

static const rlf_profile_model *
model_of(const rlf_profile *p, const char *name)
{
    for (int i = 0; i < p->n_models; i++)
        if (!strcmp(p->models[i].name, name))
            return &p->models[i];
    return NULL;
}

rlf_status
rlf_profile_suits(const rlf_profile *p, const rlf_session *s, bool here,
                  rlf_err *err)
{
    const char *machine = profile_machine(s->arena), *shape;
    int cores = rlf_cores_count();
    if (here && (cores != p->cores || strcmp(machine, p->machine) != 0)) {
        rlf_fail(err, RLF_USER,
                 "%s was measured on another machine: %s with %d cores, and "
                 "this is %s with %d",
                 p->path, p->machine, p->cores, machine, cores);
        rlf_err_hint(err,
                     "measure on this one (rlflow profile), or declare "
                     "the other in a cluster file, with profile: \"%s\"",
                     p->path);
        return RLF_USER;
    }
    for (size_t i = 0; i < s->graph->resources.count; i++) {
        const rlf_resource *r = &s->graph->resources.data[i];
        if (!r->class->model)
            continue;
        const rlf_profile_model *m = model_of(p, r->name);
        RLF_TRY(shape_of(s, r, s->arena, err, &shape));
        if (m && !strcmp(m->shape, shape))
            continue;
        if (m)
            rlf_fail(err, RLF_USER,
                     "%s was measured with another model '%s': %s there, %s "
                     "here",
                     p->path, r->name, m->shape, shape);
        else
            rlf_fail(err, RLF_USER,
                     "%s was measured with %s, which has no model '%s'",
                     p->path, p->program, r->name);
        rlf_err_hint(err, "measure this program: rlflow profile %s -o FILE",
                     s->program.path);
        return RLF_USER;
    }
    return RLF_OK;
}

/* Threads of the ranks whose pieces a rank with `has` of them takes. */
static int
nearest_threads(const rlf_profile *p, int has)
{
    int best = 0;
    double least = INFINITY;
    for (int i = 0; i < p->n_lines; i++) {
        int threads = p->lines[i].key.threads;
        threads = threads > 1 ? threads : 1;
        double apart = fabs(log2((double)threads / has));
        if (apart < least) {
            least = apart;
            best = threads;
        }
    }
    return best;
}

/* Bytes that cost nothing were measured while others used the cores. */
static void
warn_of_links(const rlf_profile *p, rlf_buf *out)
{
    bool flat = false;
    for (int i = 0; i < p->n_links; i++)
        flat |= p->links[i].each == 0;
    if (flat)
        rlf_buf_line(out,
                     "warning: %s: more bytes took no longer between ranks, "
                     "as where other processes are at work, so bytes count "
                     "nothing: measure again\n",
                     p->path);
}

void
rlf_profile_warn(const rlf_session *s, rlf_buf *out)
{
    const rlf_speeds speeds = {.cluster = s->planning.cluster};
    const rlf_profile *before = NULL;
    for (int i = 0; s->planning.like && i < s->planning.cluster->n_parts; i++) {
        const rlf_device_kind *device =
            s->planning.cluster->parts[i].machine->device;
        if (device->gpu != s->planning.like->gpu && !s->options.profile)
            rlf_buf_line(out,
                         "warning: %s was measured on %s: '%s' takes lengths "
                         "of it, and the rates that are declared\n",
                         s->planning.like->path,
                         s->planning.like->gpu ? "GPUs" : "CPUs", device->name);
    }
    for (int r = 0; s->planning.profiles && r < s->planning.cluster->ranks;
         r++) {
        const rlf_profile *p = s->planning.profiles[r];
        if (!p || p == before)
            continue;
        before = p;
        warn_of_links(p, out);
        int has = rlf_measured_threads(&speeds, r);
        has = has > 1 ? has : 1;
        int had = nearest_threads(p, has);
        if (!had || had == has)
            continue;
        bool fewer = had < has;
        rlf_buf_line(
            out,
            "warning: pieces were measured on ranks with %d thread%s, and "
            "these ranks have %d: what takes time by tokens, rows or bytes is "
            "taken to be %.3g times as %s\n",
            had, had == 1 ? "" : "s", has,
            fewer ? (double)has / had : (double)had / has,
            fewer ? "short" : "long");
    }
}

rlf_status
rlf_profile_leave(rlf_session *s, rlf_err *err)
{
    rlf_profile profile;
    rlf_buf text = {0};
    if (!s->collector || !s->run || !rlf_run_steps(s->run))
        return RLF_OK;
    rlf_collector_end(s->collector, rlf_run_threads(s->run), true);
    RLF_TRY(rlf_collector_profile(s->collector, s, s->arena, err, &profile));
    if (!profile.n_lines)
        return RLF_OK;
    rlf_profile_print(&profile, &text);
    rlf_status status = rlf_file_write(
        rlf_arena_printf(s->arena, "%s/%s", s->options.directory, file_name),
        text.p, text.n, err);
    rlf_buf_free(&text);
    return status;
}
