/* See settings.h. */
#include "tests/papers/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/api/machines/planned_device.h"
#include "engine/plan/candidate.h"
#include "engine/plan/fit.h"
#include "engine/mesh/outline.h"
#include "nodes/table.h"

enum {
    TOKENS = 8192, /* tokens of a micro-batch, for memory */
    ALL_TOKENS =
        1 << 24, /* tokens for seconds: micro-batches are as a cut says */
    PROBES = 4,  /* stages that are looked at: the ends and next to them */
    MOST_STAGES = 64,
    MOST_DP = 128,
};

const papers_model papers_models[PAPERS_SIZES] = {
    {"7B", 32, 4096, 32, 32, 11008, 32000},
    {"13B", 40, 5120, 40, 40, 13824, 32000},
    {"34B", 48, 8192, 64, 8, 22016, 32000},
    {"70B", 80, 8192, 64, 8, 28672, 32000},
    {"405B", 126, 16384, 128, 8, 53248, 128256},
};

double
papers_parameters(const papers_model *m, bool scalar)
{
    double h = m->hidden, kv = h / m->heads * m->kv_heads;
    double layer = 2 * h * h + 2 * h * kv + 3 * h * m->ffn + 2 * h;
    return m->layers * layer + h + h * m->vocab + h * (scalar ? 1 : m->vocab);
}

papers_speeds
papers_speeds_of(const char *machine, double link)
{
    papers_speeds s = {.machine = machine, .link = link};
    for (int i = 0; i < RLF_SECONDS_TERMS; i++)
        s.generate[i] = s.pass[i] = 1;
    return s;
}

/* ---- families ---- */

struct papers_family {
    const papers_model *model;
    papers_lengths lengths;
    rlf_session *session;
    rlf_outline *outline;
    rlf_speeds generate, pass;
    double sequence, piece;
    int resource[PAPERS_CALLS];
    const rlf_node *node[PAPERS_CALLS];
    papers_program program;
};

static void
stop(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void
put(const char *directory, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        stop("cannot write a file of a program");
}

static const char config[] =
    "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", "
    "\"hidden_size\": %d, \"intermediate_size\": %d, "
    "\"num_hidden_layers\": %d, \"num_attention_heads\": %d, "
    "\"num_key_value_heads\": %d, \"vocab_size\": %d, "
    "\"max_position_embeddings\": 8192, \"rms_norm_eps\": 1e-5, "
    "\"tie_word_embeddings\": false, \"hidden_act\": \"silu\"}\n";

/* The actor and the reference from one directory, critic and judge from
 * another. */
static const char text[] =
    "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", max_prompt: %d)\n"
    "model actor = lm(\"%s\", optimizer: adamw(lr: 1e-5))\n"
    "model critic = lm(\"%s\", head: scalar, optimizer: adamw(lr: 1e-5))\n"
    "model ref = lm(\"%s\")\n"
    "model judge = lm(\"%s\", head: scalar)\n"
    "flow ppo(batch: prompts[%d]) {\n"
    "    roll = actor.generate(batch, max_new: %d)\n"
    "    r = judge.value(roll)\n"
    "    kl = roll.logprob - ref.logprob(roll)\n"
    "    v = critic.value(roll)\n"
    "    a = r - 0.1 * kl - v\n"
    "    update actor minimize mean(-a * exp(actor.logprob(roll) - "
    "roll.logprob) over batch)\n"
    "    update critic minimize mean((critic.value(roll) - v - a) ^ 2 over "
    "batch)\n"
    "    report r = mean(r over batch)\n"
    "}\n";

void
papers_write_text(rlf_buf *out, papers_lengths lengths, const char *actor,
                  const char *critic)
{
    rlf_buf_printf(out, text, lengths.prompt, actor, critic, actor, critic,
                   lengths.batch, lengths.response);
}

void
papers_write(papers_size size, papers_lengths lengths, papers_program *out)
{
    char room[2048];
    const papers_model *m = &papers_models[size];
    snprintf(out->directory, sizeof out->directory,
             "/tmp/rlflow-papers-XXXXXX");
    if (!mkdtemp(out->directory))
        stop("cannot make a directory");
    snprintf(out->path, sizeof out->path, "%s/ppo.rlf", out->directory);
    snprintf(room, sizeof room, config, m->hidden, m->ffn, m->layers, m->heads,
             m->kv_heads, m->vocab);
    put(out->directory, "config.json", room);
    rlf_buf program = {0}, rows = {0};
    papers_write_text(&program, lengths, ".", ".");
    put(out->directory, "ppo.rlf", program.p);
    for (int i = 0; i < lengths.batch; i++)
        rlf_buf_printf(&rows, "{\"q\": \"x\"}\n");
    put(out->directory, "rows.jsonl", rows.p);
    rlf_buf_free(&program);
    rlf_buf_free(&rows);
}

void
papers_remove(const papers_program *program)
{
    static const char *const names[] = {"config.json", "ppo.rlf", "rows.jsonl"};
    char path[128];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", program->directory, names[i]);
        unlink(path);
    }
    rmdir(program->directory);
}

static void
find_nodes(papers_family *f)
{
    static const struct {
        const char *model, *call;
    } names[PAPERS_CALLS] = {
        [PAPERS_GENERATE] = {"actor", "generate"},
        [PAPERS_REWARD] = {"judge", "value"},
        [PAPERS_REFERENCE] = {"ref", "logprob"},
        [PAPERS_VALUE] = {"critic", "value"},
        [PAPERS_ACTOR] = {"actor", "update"},
        [PAPERS_CRITIC] = {"critic", "update"},
    };
    const rlf_graph *graph = f->session->graph;
    for (int c = 0; c < PAPERS_CALLS; c++) {
        for (size_t i = 0; i < graph->nodes.count; i++) {
            const rlf_node *node = &graph->nodes.data[i];
            if (!rlf_place_can(node))
                continue;
            const char *model = graph->resources.data[node->receiver].name;
            if (strcmp(model, names[c].model) == 0 &&
                strcmp(node->class->name, names[c].call) == 0) {
                f->node[c] = node;
                f->resource[c] = node->receiver;
            }
        }
        if (!f->node[c])
            stop("a call of the program is missing");
    }
}

static void
end_family(void *p)
{
    papers_family *f = p;
    rlf_outline_close(f->outline);
    rlf_session_close(f->session);
    papers_remove(&f->program);
}

void
papers_set_speeds(papers_family *f, const papers_speeds *speeds)
{
    f->generate = f->pass = rlf_speeds_of(f->session->planning.cluster, true);
    memcpy(f->generate.factor, speeds->generate, sizeof f->generate.factor);
    memcpy(f->pass.factor, speeds->pass, sizeof f->pass.factor);
    f->sequence = speeds->sequence;
    f->piece = speeds->piece;
    rlf_cluster *c = f->session->planning.cluster;
    rlf_machine_kind *machine = RLF_NEW(f->session->arena, rlf_machine_kind);
    *machine = *c->parts[0].machine;
    if (speeds->start > 0)
        machine->start = speeds->start;
    c->parts[0].machine = machine;
    c->parts[0].link = speeds->link;
}

papers_family *
papers_open(papers_size size, papers_lengths lengths,
            const papers_speeds *speeds, rlf_arena *arena)
{
    papers_family *f = RLF_NEW(arena, papers_family);
    char cluster[64];
    rlf_err err = RLF_ERR_NONE;
    f->model = &papers_models[size];
    f->lengths = lengths;
    papers_write(size, lengths, &f->program);
    snprintf(cluster, sizeof cluster, "%s:2", speeds->machine);
    f->session = rlf_session_open(f->program.path);
    rlf_session_set(f->session, "--cluster", cluster);
    if (rlf_session_plan(f->session) != RLF_RESULT_OK)
        stop(rlf_session_message(f->session));
    /* as many machines as any layout can have */
    if (rlf_cluster_preset(speeds->machine, 2048, f->session->arena, &err,
                           &f->session->planning.cluster) < 0)
        stop(err.sentence);
    const rlf_kernels *kernels =
        rlf_planned_kernels(f->session, f->session->arena);
    if (rlf_outline_open(f->session->graph, kernels, &err, &f->outline) < 0)
        stop(err.sentence);
    find_nodes(f);
    papers_set_speeds(f, speeds);
    rlf_arena_defer(arena, end_family, f);
    return f;
}

rlf_session *
papers_session(papers_family *f)
{
    return f->session;
}

/* ---- layouts ---- */

/* The purpose that a plan is made for. */
typedef enum asked {
    FOR_SECONDS,
    FOR_MEMORY,
    FOR_COPIES, /* memory, where updates lie on one rank behind the others */
} asked;

/* All models on the ranks of a cut. */
static rlf_status
make_plan(const papers_family *f, const papers_cut *cut, asked what,
          rlf_arena *arena, rlf_err *err, rlf_plan **out)
{
    const rlf_graph *graph = f->session->graph;
    size_t n = graph->resources.count;
    rlf_place_row *rows = RLF_NEW_ARRAY(arena, rlf_place_row, 2 * n);
    int *ranks = RLF_NEW_ARRAY(arena, int, cut->count + 1), n_rows = 0;
    for (int i = 0; i <= cut->count; i++)
        ranks[i] = i;
    for (size_t i = 0; i < n; i++) {
        if (!graph->resources.data[i].class->model)
            continue;
        rlf_place_row *row = &rows[n_rows++];
        *row = rlf_place_row_new((int)i, NULL);
        row->ranks = ranks;
        row->n_ranks = cut->count;
        row->tp = cut->tp;
        row->pp = cut->pp;
        row->dp = cut->dp;
        row->tokens = what == FOR_SECONDS ? ALL_TOKENS : TOKENS;
        row->recompute = 1;
        row->zero = cut->dp > 1 ? 1 : -1;
    }
    for (int c = PAPERS_ACTOR; what == FOR_COPIES && c <= PAPERS_CRITIC; c++) {
        rlf_place_row *row = &rows[n_rows++];
        *row = rlf_place_row_new(f->resource[c], f->node[c]->class);
        row->ranks = ranks + cut->count;
        row->n_ranks = 1;
    }
    const rlf_plan_options options = {
        .ranks = cut->count + 1, .backend = "cuda", .dtype = "bf16"};
    RLF_TRY(rlf_plan_candidate(graph, rows, n_rows, &options, arena, err, out));
    rlf_caps *caps = RLF_NEW_ARRAY(arena, rlf_caps, n);
    for (size_t i = 0; i < n && what == FOR_SECONDS; i++) {
        caps[i] = (*out)->caps[i];
        caps[i].tokens[RLF_USE_GENERATE] = ALL_TOKENS;
    }
    if (what == FOR_SECONDS)
        (*out)->caps = caps;
    return rlf_plan_fits(*out, err);
}

/* Bytes of keys and values of a token: what a turn reads more with a context
 * that is longer by one. */
static double
page_bytes(const rlf_opened *o, const rlf_sizes *sizes, int node)
{
    rlf_piece piece = {.kind = RLF_PIECE_TURN, .rows = 1, .context = 64};
    double less = rlf_opened_piece(o, sizes, node, &piece).read;
    piece.context++;
    return rlf_opened_piece(o, sizes, node, &piece).read - less;
}

static void
measure_seconds(papers_family *f, const rlf_opened *o, const rlf_sizes *sizes,
                const rlf_expected_set *expected, const papers_cut *cut, int c,
                papers_call *out)
{
    double rows = ceil((double)f->lengths.batch / cut->dp);
    bool trains = c == PAPERS_ACTOR || c == PAPERS_CRITIC;
    rlf_call_cut how = {.micros = trains ? cut->updates : cut->reads,
                        .seats = (int)ceil(rows / cut->waves)};
    rlf_seconds seconds;
    const rlf_call_stages stages = {.kinds = o, .n_kinds = 1};
    rlf_call_seconds(&stages, sizes, expected, f->node[c], how,
                     c == PAPERS_GENERATE ? &f->generate : &f->pass, &seconds,
                     NULL);
    if (c == PAPERS_GENERATE) {
        double length = f->lengths.prompt + f->lengths.response;
        double token = page_bytes(o, sizes, f->node[c]->id);
        out->sequences = rows * f->lengths.response;
        seconds.total += f->sequence * out->sequences;
        out->work = fmax(out->work, how.seats * length * token);
    }
    if (seconds.total > out->seconds.total)
        out->seconds = seconds;
    out->flops += rlf_opened_cost(o, sizes, f->node[c]->id).flops;
}

static void
measure_rank(papers_family *f, const rlf_opened *o, const papers_cut *cut,
             asked what, rlf_arena *arena, papers_call *out)
{
    rlf_sizes sizes = rlf_opened_sizes(o, arena);
    const rlf_expected_set *expected =
        rlf_workload_expect(NULL, f->session->graph, &sizes, arena);
    for (int c = 0; c < PAPERS_CALLS; c++) {
        bool trains = c == PAPERS_ACTOR || c == PAPERS_CRITIC;
        if (what == FOR_SECONDS) {
            measure_seconds(f, o, &sizes, expected, cut, c, &out[c]);
            continue;
        }
        rlf_call_bytes bytes = rlf_call_memory(o, f->resource[c], false);
        out[c].kept = fmax(out[c].kept, bytes.kept);
        if (trains)
            out[c].own = fmax(out[c].own, bytes.own[RLF_STAGE_UPDATE]);
    }
}

/* Stages between the second and the last but one are like those; the last
 * replica has the most lanes. */
static rlf_status
measure(papers_family *f, const papers_cut *cut, asked what, papers_call *out,
        rlf_err *err)
{
    rlf_arena *scratch = rlf_arena_new();
    rlf_plan *plan;
    rlf_opened opened;
    int probes[PROBES] = {0, 1, cut->pp - 2, cut->pp - 1};
    rlf_status status = make_plan(f, cut, what, scratch, err, &plan);
    for (int i = 0; i < PROBES && status >= 0; i++) {
        bool seen = probes[i] < 0 || probes[i] >= cut->pp;
        for (int k = 0; k < i && !seen; k++)
            seen = probes[k] == probes[i];
        if (seen)
            continue;
        int stage = (cut->dp - 1) * cut->pp + probes[i];
        status = rlf_outline_rank(f->outline, plan, stage * cut->tp, scratch,
                                  err, &opened);
        if (status >= 0)
            measure_rank(f, &opened, cut, what, scratch, out);
    }
    rlf_arena_free(scratch);
    return status;
}

/* Weights of other calls, where updates are elsewhere, are less: an update has
 * the difference for itself. */
bool
papers_measure(papers_family *f, const papers_cut *cut, bool memory,
               papers_call out[PAPERS_CALLS])
{
    rlf_err err = RLF_ERR_NONE;
    papers_call copies[PAPERS_CALLS];
    memset(out, 0, sizeof *out * PAPERS_CALLS);
    memset(copies, 0, sizeof copies);
    if (measure(f, cut, FOR_SECONDS, out, &err) < 0)
        return false;
    if (memory && (measure(f, cut, FOR_MEMORY, out, &err) < 0 ||
                   measure(f, cut, FOR_COPIES, copies, &err) < 0))
        return false;
    for (int c = 0; c < PAPERS_CALLS; c++) {
        bool trains = c == PAPERS_ACTOR || c == PAPERS_CRITIC;
        int copy = c == PAPERS_ACTOR    ? PAPERS_GENERATE
                   : c == PAPERS_CRITIC ? PAPERS_VALUE
                                        : c;
        if (trains)
            out[c].own += out[c].kept - copies[copy].kept;
        out[c].kept = copies[copy].kept;
    }
    return true;
}

papers_cut
papers_cut_as_real(const papers_lengths *lengths, int count, int tp, int pp)
{
    papers_cut cut = {
        .count = count, .tp = tp, .pp = pp, .dp = count / tp / pp, .waves = 1};
    int rows = lengths->batch / cut.dp;
    cut.reads = pp < rows ? pp : rows;
    cut.updates = pp == 1 ? 1 : 2 * pp < rows ? 2 * pp : rows;
    return cut;
}

/* ---- ReaL ---- */

/* Forward: 2 operations for each weight and token, head included (the published
 * count has 4 for the head), and 4 h for each pair of attention. */
static double
forward_flops(const papers_model *m, double tokens, double pairs, bool real,
              double vocab)
{
    double h = m->hidden, kv = real ? h : h / m->heads * m->kv_heads;
    double layer = 2 * h * h + 2 * h * kv + 3 * h * m->ffn;
    return m->layers * (2 * tokens * layer + 4 * h * pairs) +
           (real ? 4 : 2) * tokens * vocab * h;
}

/* Of an update that computes forward again: a layer's last product and the head
 * are not needed twice. */
static double
skipped(const papers_model *m, double tokens, double vocab)
{
    return 2 * tokens * m->hidden * ((double)m->layers * m->ffn + vocab);
}

typedef enum counted {
    AS_REAL,
    AS_COMPUTED, /* updates compute forward again */
    ONCE,        /* they do not */
} counted;

static double
count_flops(papers_size actor, papers_size critic, papers_lengths l,
            counted what)
{
    bool real = what == AS_REAL;
    const papers_model *a = &papers_models[actor], *c = &papers_models[critic];
    double rows = l.batch, prompt = l.prompt, length = prompt + l.response;
    double pairs = rows * length * (real ? length : (length + 1) / 2);
    double head = real ? a->vocab : a->vocab * l.response / length;
    double sum = forward_flops(a, rows * prompt,
                               rows * prompt * (real ? prompt : prompt / 2),
                               real, real ? a->vocab : 0);
    for (int k = 0; k < l.response; k++)
        sum += forward_flops(a, rows, rows * (prompt + k), real, a->vocab);
    double actor_all = forward_flops(a, rows * length, pairs, real, head);
    double critic_all =
        forward_flops(c, rows * length, pairs, real, real ? c->vocab : 1);
    sum += (what == ONCE ? 4 : 5) * actor_all;
    sum += (what == ONCE ? 5 : 6) * critic_all;
    if (what == AS_COMPUTED)
        sum -= skipped(a, rows * length, head) + skipped(c, rows * length, 1);
    return sum;
}

double
papers_real_flops(papers_size actor, papers_size critic, papers_lengths l)
{
    return count_flops(actor, critic, l, AS_REAL);
}

double
papers_model_flops(papers_size actor, papers_size critic, papers_lengths l)
{
    return count_flops(actor, critic, l, AS_COMPUTED);
}

double
papers_least_flops(papers_size actor, papers_size critic, papers_lengths l)
{
    return count_flops(actor, critic, l, ONCE);
}

/* ---- problems ---- */

bool
papers_is_real(const rlf_choice *c, bool trains, int machines, int batch)
{
    int group = c->tp * c->dp, most = machines > 8 ? machines : 8;
    bool mesh = c->count % 8 == 0 ? c->first % 8 == 0
                                  : c->count == 4 && c->first % 4 == 0;
    bool even = group == 1 || group == 2 || group == 4 || group % 8 == 0;
    int rows = c->dp * c->pp * (trains ? 2 : 1);
    return mesh && even && c->tp <= 8 && (c->tp & (c->tp - 1)) == 0 &&
           c->pp <= most && (!trains || group <= 8) &&
           (!batch || rows <= batch);
}

void
papers_real_memory(papers_size size, papers_lengths l, int call, rlf_choice *c)
{
    const papers_model *m = &papers_models[size];
    double h = m->hidden, layers = m->layers, length = l.prompt + l.response;
    double n = 3.0 * m->vocab * h + (3 * h * m->ffn + 4 * h * h) * layers;
    double parts = (double)c->pp * c->tp;
    double rows = (double)l.batch / c->dp / (c->pp > 1 ? 2 * c->pp : 1);
    c->kept = c->own = c->lends = 0;
    if (call == PAPERS_ACTOR || call == PAPERS_CRITIC) {
        c->own = 4 * n / parts + 20 * n / parts / c->dp;
        c->work = rows * length * h * 2 * c->pp / parts;
    } else if (call == PAPERS_GENERATE) {
        c->own = 4 * n / parts;
        c->work = 4.0 * l.batch * length * h * layers / parts / c->dp;
    } else {
        bool host = call != PAPERS_VALUE;
        c->own = host ? 0 : 4 * n / parts;
        c->work = host ? 4 * n / parts : 0;
    }
}

enum { MOST_CUTS = 512 };

/* Choices of calls on a mesh of one size, at rank 0. */
typedef struct mesh_choices {
    rlf_choice list[PAPERS_CALLS][MOST_CUTS];
    int n[PAPERS_CALLS];
} mesh_choices;

static bool
is_real(papers_meshes which)
{
    return which == PAPERS_REAL || which == PAPERS_REAL_MEMORY;
}

static papers_family *
family_of(const papers_problem *p, int call)
{
    bool critic =
        call == PAPERS_REWARD || call == PAPERS_VALUE || call == PAPERS_CRITIC;
    return critic ? p->critic : p->actor;
}

static void
add_choice(mesh_choices *to, int c, const papers_cut *cut,
           const papers_call *call)
{
    if (to->n[c] == MOST_CUTS)
        return;
    to->list[c][to->n[c]++] = (rlf_choice){.count = cut->count,
                                           .tp = cut->tp,
                                           .pp = cut->pp,
                                           .dp = cut->dp,
                                           .variant = cut->waves,
                                           .seconds = call->seconds.total,
                                           .kept = call->kept,
                                           .own = call->own,
                                           .work = call->work};
}

/* Generation also of fewer samples at once, where keys and values of all are
 * more than half of a device. */
static void
add_waves(const papers_problem *p, const papers_cut *at, const papers_call *all,
          mesh_choices *to)
{
    double memory =
        p->actor->session->planning.cluster->parts[0].machine->device->memory;
    papers_call calls[PAPERS_CALLS];
    papers_cut cut = *at;
    for (cut.waves = 2;
         cut.waves <= 16 && 2 * all->work / cut.waves > memory / 2;
         cut.waves *= 2) {
        if (!papers_measure(p->actor, &cut, false, calls))
            return;
        calls[PAPERS_GENERATE].kept = all->kept;
        calls[PAPERS_GENERATE].own = all->own;
        add_choice(to, PAPERS_GENERATE, &cut, &calls[PAPERS_GENERATE]);
    }
}

static void
add_cut(const papers_problem *p, int count, int tp, int pp, mesh_choices *to)
{
    papers_family *both[] = {p->actor, p->critic};
    papers_call calls[PAPERS_CALLS];
    papers_cut cut = papers_cut_as_real(&p->actor->lengths, count, tp, pp);
    for (int k = 0; k < 2; k++) {
        if (!papers_measure(both[k], &cut, true, calls))
            continue;
        for (int c = 0; c < PAPERS_CALLS; c++)
            if (family_of(p, c) == both[k] && (k == 0 || both[0] != both[1]))
                add_choice(to, c, &cut, &calls[c]);
        if (k == 0)
            add_waves(p, &cut, &calls[PAPERS_GENERATE], to);
    }
}

/* Of the calls on a mesh those that such a problem has. */
static void
choose_cuts(const papers_problem *p, papers_meshes which, int machines,
            mesh_choices *to)
{
    const papers_lengths *lengths = &p->actor->lengths;
    for (int c = 0; c < PAPERS_CALLS; c++) {
        papers_size size =
            (papers_size)(family_of(p, c)->model - papers_models);
        bool trains = p->calls[c].kind == RLF_STAGE_UPDATE;
        int n = 0;
        for (int k = 0; k < to->n[c]; k++) {
            rlf_choice *at = &to->list[c][k];
            if (is_real(which) &&
                !papers_is_real(at, trains, machines, lengths->batch))
                continue;
            if (which == PAPERS_REAL_MEMORY && at->variant > 1)
                continue;
            if (which == PAPERS_REAL_MEMORY)
                papers_real_memory(size, *lengths, c, at);
            to->list[c][n++] = *at;
        }
        to->n[c] = rlf_choices_front(to->list[c], n);
    }
}

static void
cut_mesh(const papers_problem *p, int count, papers_meshes which, int machines,
         mesh_choices *to)
{
    bool real = is_real(which);
    memset(to->n, 0, sizeof to->n);
    int layers = p->actor->model->layers < p->critic->model->layers
                     ? p->actor->model->layers
                     : p->critic->model->layers;
    for (int tp = 1; tp <= 8 && tp <= count; tp *= 2)
        for (int pp = 1; pp <= MOST_STAGES && pp <= layers; pp++) {
            int dp = count / tp / pp;
            const rlf_choice at = {
                .count = count, .tp = tp, .pp = pp, .dp = dp};
            if (tp * pp * dp == count && dp <= MOST_DP &&
                dp <= p->actor->lengths.batch &&
                (!real || papers_is_real(&at, false, machines, 0)))
                add_cut(p, count, tp, pp, to);
        }
    choose_cuts(p, which, machines, to);
}

/* Each machine gets what its ranks need once, over its link, unless those who
 * have it are in it; then it spreads inside. */
static double
move(void *arg, const rlf_problem_move *between)
{
    const papers_problem *p = arg;
    const rlf_choice *from = between->from, *to = between->to;
    int model = p->calls[between->source].model;
    const papers_family *f = model == 1 ? p->critic : p->actor;
    const rlf_cluster *c = f->session->planning.cluster;
    const rlf_machine_kind *m = c->parts[0].machine;
    double all = 2 * papers_parameters(f->model, model == 1);
    double bytes = all / to->tp / to->pp;
    double pieces = fmax(1, ceil((double)from->pp / to->pp)) *
                    fmax(1, (double)from->tp / to->tp);
    double inside = m->start + bytes / m->link + pieces * f->piece;
    if (from->count <= m->count && from->first <= to->first &&
        from->first + from->count >= to->first + to->count)
        return inside;
    double parts = bytes * (to->count < m->count ? to->count : m->count);
    double link = f->pass.factor[RLF_SECONDS_SEND_ACROSS] / c->parts[0].link;
    return inside + c->start + fmin(parts, all) * link;
}

static void
fill_calls(papers_problem *p)
{
    static const int all[] = {0, 1, 2, 3};
    static const struct {
        const char *name;
        int model;
        rlf_stage_kind kind;
        int needs;
    } calls[PAPERS_CALLS] = {
        {"actor.generate", 0, RLF_STAGE_GENERATE, 0},
        {"judge.value", 3, RLF_STAGE_READ, 1},
        {"ref.logprob", 2, RLF_STAGE_READ, 1},
        {"critic.value", 1, RLF_STAGE_READ, 1},
        {"actor.update", 0, RLF_STAGE_UPDATE, 4},
        {"critic.update", 1, RLF_STAGE_UPDATE, 4},
    };
    for (int c = 0; c < PAPERS_CALLS; c++)
        p->calls[c] = (rlf_problem_call){.name = calls[c].name,
                                         .model = calls[c].model,
                                         .kind = calls[c].kind,
                                         .needs = all,
                                         .n_needs = calls[c].needs};
}

/* Halves, quarters and eighths, and what the last of them leaves. */
static rlf_cluster_mesh *
make_parts(int devices, rlf_arena *arena, int *n)
{
    rlf_cluster_mesh *out = RLF_NEW_ARRAY(arena, rlf_cluster_mesh, 32);
    *n = 0;
    for (int parts = 1; parts <= 8 && devices % parts == 0; parts *= 2)
        for (int i = 0; i < parts; i++)
            out[(*n)++] = (rlf_cluster_mesh){.first = i * (devices / parts),
                                             .n = devices / parts};
    for (int k = 4; k <= 8 && devices % k == 0; k *= 2)
        for (int i = 0; i < 2; i++)
            out[(*n)++] = (rlf_cluster_mesh){.first = i ? devices / k : 0,
                                             .n = devices - devices / k};
    return out;
}

void
papers_problem_make(papers_family *actor, papers_family *critic, int devices,
                    papers_meshes which, rlf_arena *arena, papers_problem *p)
{
    rlf_cluster *cluster;
    rlf_cluster_mesh *meshes;
    rlf_err err = RLF_ERR_NONE;
    const rlf_machine_kind *kind =
        actor->session->planning.cluster->parts[0].machine;
    int n, machine = kind->count;
    int machines = (devices + machine - 1) / machine;
    *p = (papers_problem){.actor = actor, .critic = critic};
    fill_calls(p);
    if (which == PAPERS_PARTS)
        meshes = make_parts(devices, arena, &n);
    else if (rlf_cluster_preset("a100x8", machines, arena, &err, &cluster) <
                 0 ||
             rlf_cluster_meshes(cluster, cluster->ranks, machines, arena, &err,
                                &meshes, &n) < 0)
        stop(err.sentence);
    mesh_choices *of = RLF_NEW(arena, mesh_choices);
    for (int c = 0; c < PAPERS_CALLS; c++)
        p->calls[c].choices =
            RLF_NEW_ARRAY(arena, rlf_choice, (size_t)n * MOST_CUTS);
    for (int i = 0; i < n; i++) {
        if (!i || meshes[i].n != meshes[i - 1].n)
            cut_mesh(p, meshes[i].n, which, machines, of);
        for (int c = 0; c < PAPERS_CALLS; c++)
            for (int k = 0; k < of->n[c]; k++) {
                rlf_problem_call *call = &p->calls[c];
                rlf_choice *to = &call->choices[call->n_choices];
                *to = of->list[c][k];
                to->first = meshes[i].first;
                call->n_choices++;
            }
    }
    double *memory = RLF_NEW_ARRAY(arena, double, devices);
    for (int i = 0; i < devices; i++)
        memory[i] = kind->device->memory;
    p->problem = (rlf_problem){.calls = p->calls,
                               .n_calls = PAPERS_CALLS,
                               .devices = devices,
                               .memory = memory,
                               .machine = which == PAPERS_PARTS ? 0 : machine,
                               .move = move,
                               .arg = p};
    if (rlf_problem_close(&p->problem, arena, &err) < 0)
        stop(err.sentence);
}

papers_placed
papers_place(const papers_problem *p, const int first[4], const int count[4])
{
    const rlf_search_options options = {.seed = 1, .moves = 100000};
    rlf_problem_call calls[PAPERS_CALLS];
    rlf_problem part = p->problem;
    rlf_found found;
    rlf_err err = RLF_ERR_NONE;
    papers_placed out = {.period = INFINITY};
    rlf_arena *arena = rlf_arena_new();
    bool runs = true;
    for (int c = 0; c < PAPERS_CALLS && runs; c++) {
        const rlf_problem_call *call = &p->calls[c];
        const rlf_mesh_span *m =
            rlf_search_mesh(call, first[call->model], count[call->model]);
        runs = m;
        if (!runs)
            break;
        calls[c] = *call;
        calls[c].n_choices = m->to - m->from;
        calls[c].choices = RLF_NEW_ARRAY(arena, rlf_choice, m->to - m->from);
        memcpy(calls[c].choices, call->choices + m->from,
               sizeof *call->choices * (size_t)(m->to - m->from));
    }
    part.calls = calls;
    part.machine = 0;
    if (runs && rlf_problem_close(&part, arena, &err) < 0)
        stop(err.sentence);
    if (runs) {
        rlf_search(&part, &options, arena, &found);
        out.period = found.best.period;
    }
    for (int c = 0; c < PAPERS_CALLS && isfinite(out.period); c++)
        out.call[c] = calls[c].choices[found.best.choice[c]];
    rlf_arena_free(arena);
    return out;
}
