/* Cluster files: see cluster.h.
 *
 * Arguments are matched and evaluated by the checker of programs, in a scope
 * in which nothing is named, so that its messages are those of programs. What
 * is wrong with a device is said once: machines of it are not looked at. */
#include "grammar/cluster.h"

#include "grammar/passes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Plausible numbers: a factor of a thousand that is missing is seen. */
#define RATE_LEAST 1e6
#define RATE_MOST 1e18
#define LINK_LEAST 1e6
#define START_MOST 0.1
#define NET_START_MOST 1
#define MEMORY_LEAST 1e6
#define MEMORY_MOST 1e16

// clang-format off
#define NUMBER(n, must, u, low, high, text)                            \
    {.name = n, .kind = RLF_FORMAL_NUMBER, .required = must,           \
     .labelled = true, .unit = u, .least = low, .most = high, .doc = text}
#define COUNT(n, must, usual, high, text)                              \
    {.name = n, .kind = RLF_FORMAL_INT, .required = must,              \
     .labelled = true, .fallback = usual, .least = 1, .most = high,    \
     .doc = text}

enum { BF16, F32, MEMORY, BANDWIDTH, LAUNCH, PROFILE, DEVICE_ARGS };
/* Of a GPU and of a CPU, of which the rate in bf16 may be left out. */
#define DEVICE_FORMALS(must) {                                               \
    [BF16] = NUMBER("bf16", must, RLF_UNIT_NONE, RATE_LEAST, RATE_MOST,      \
        "floating-point operations a second in bf16, as in 312e12"),         \
    [F32] = NUMBER("f32", true, RLF_UNIT_NONE, RATE_LEAST, RATE_MOST,        \
        "floating-point operations a second in f32, as in 19.5e12"),         \
    [MEMORY] = NUMBER("memory", true, RLF_UNIT_BYTES, MEMORY_LEAST,          \
        MEMORY_MOST, "bytes, as in 80e9"),                                   \
    [BANDWIDTH] = NUMBER("bandwidth", true, RLF_UNIT_NONE, RATE_LEAST,       \
        RATE_MOST, "bytes a second of its memory, as in 2e12"),              \
    [LAUNCH] = NUMBER("launch", true, RLF_UNIT_TIME, 0, START_MOST,          \
        "seconds to start an operation, as in 6e-6"),                        \
    [PROFILE] = {.name = "profile", .kind = RLF_FORMAL_PATH, .labelled = true, \
        .doc = "a file of rlflow profile: what was measured on such a device"}, \
}
static const rlf_formal device_formals[2][DEVICE_ARGS] = {
    DEVICE_FORMALS(false), DEVICE_FORMALS(true)};

enum { COUNT, LINK, START, HOST, COPY, CORES, MACHINE_ARGS };
static const rlf_formal machine_formals[MACHINE_ARGS] = {
    [COUNT] = COUNT("count", false, 1, RLF_CLUSTER_RANKS,
        "devices of the machine, as in 8"),
    [LINK] = NUMBER("link", false, RLF_UNIT_NONE, LINK_LEAST, RATE_MOST,
        "bytes a second from a device to others of the machine, as in 300e9"),
    [START] = NUMBER("start", false, RLF_UNIT_TIME, 0, START_MOST,
        "seconds that a message inside the machine takes at least, as in "
        "8e-6"),
    [HOST] = NUMBER("host", false, RLF_UNIT_BYTES, MEMORY_LEAST, MEMORY_MOST,
        "bytes of the machine's own memory, as in 1e12"),
    [COPY] = NUMBER("copy", false, RLF_UNIT_NONE, LINK_LEAST, RATE_MOST,
        "bytes a second between the machine's memory and a device, as in "
        "20e9"),
    [CORES] = COUNT("cores", true, 0, 1 << 20,
        "cores of the machine, as in 96"),
};

/* Of nets; the same places in its table. `count` and `link` may be lists. */
enum { NET_ARGS = START + 1 };
static const rlf_formal net_formals[NET_ARGS] = {
    [COUNT] = COUNT("count", false, 1, RLF_CLUSTER_RANKS,
        "machines, as in 16; of several kinds a list, as in [16, 4]"),
    [LINK] = NUMBER("link", false, RLF_UNIT_NONE, LINK_LEAST, RATE_MOST,
        "bytes a second from a machine to the others, as in 25e9; where kinds "
        "differ a list"),
    [START] = NUMBER("start", false, RLF_UNIT_TIME, 0,
        NET_START_MOST, "seconds that a message between machines takes at least, as in 2e-5"),
};
// clang-format on

typedef struct known {
    const rlf_ast_decl *decl;
    const void *made; /* a device or machine kind; NULL: refused */
    bool used;
} known;

typedef struct maker {
    rlf_sema s;
    const rlf_ast_program *program;
    known *known; /* one a declaration of the program */
} maker;

const rlf_formal *
rlf_cluster_formals(const char *name, int *n)
{
    bool gpu = strcmp(name, "gpu") == 0;
    if (gpu || strcmp(name, "cpu") == 0) {
        *n = DEVICE_ARGS;
        return device_formals[gpu];
    }
    bool node = strcmp(name, "node") == 0, net = strcmp(name, "net") == 0;
    *n = node ? MACHINE_ARGS : NET_ARGS;
    return node ? machine_formals : net ? net_formals : NULL;
}

bool
rlf_cluster_declares(const rlf_ast_decl *decl)
{
    return decl->kind == RLF_AST_DEVICE || decl->kind == RLF_AST_MACHINE ||
           decl->kind == RLF_AST_CLUSTER;
}

bool
rlf_cluster_is_file(const rlf_ast_program *program)
{
    bool declares = false;
    for (size_t i = 0; i < program->decls.count; i++) {
        if (program->decls.data[i]->kind == RLF_AST_FLOW)
            return false;
        declares = declares || rlf_cluster_declares(program->decls.data[i]);
    }
    return declares;
}

/* ---- calls ---- */

/* `gpu(...)` of a declaration: which of `words` it is; NULL after a message. */
static const char *
called(maker *m, const rlf_ast_decl *decl, const char *const *words, size_t n)
{
    const rlf_ast_expr *e = decl->value;
    const char *kind = rlf_ast_decl_word(decl->kind);
    bool call = e->kind == RLF_AST_CALL && e->left->kind == RLF_AST_NAME;
    const char *name = call ? e->left->name.text : NULL;
    for (size_t i = 0; call && i < n; i++)
        if (!strcmp(words[i], name))
            return words[i];
    rlf_diag *diag =
        call ? rlf_diag_error(m->s.diags, "name", e->left->at,
                              "nothing named '%s(...)' makes a %s", name, kind)
             : rlf_diag_error(m->s.diags, "type", e->span,
                              "this does not make a %s", kind);
    const char *near = call ? rlf_str_nearest(name, words, n) : NULL;
    if (near)
        rlf_diag_hint(m->s.diags, diag, "did you mean '%s'?", near);
    else
        rlf_diag_hint(m->s.diags, diag,
                      n > 1 ? "it is made by %s(...) or %s(...)"
                            : "it is made by %s(...)",
                      words[0], words[n - 1]);
    return NULL;
}

/* The arguments of a call, by name and not; of a list of numbers its formal
 * becomes one of them. */
typedef struct call {
    const char *name;
    const rlf_ast_expr *e;
    rlf_ast_args plain, labelled;
    rlf_formal formals[MACHINE_ARGS];
    const rlf_formal *of; /* as they are for one number */
    int n;
    rlf_arg *args;
    int n_args;
} call;

static bool
read_call(maker *m, const char *name, const rlf_ast_expr *e, call *out)
{
    *out = (call){.name = name, .e = e};
    out->of = rlf_cluster_formals(name, &out->n);
    memcpy(out->formals, out->of, (size_t)out->n * sizeof *out->of);
    bool lists = strcmp(name, "net") == 0;
    for (size_t i = 0; e->args && i < e->args->count; i++) {
        const rlf_ast_arg *arg = &e->args->data[i];
        if (!arg->label.text) {
            RLF_PUSH_IN(m->s.arena, &out->plain, *arg);
            continue;
        }
        RLF_PUSH_IN(m->s.arena, &out->labelled, *arg);
        for (int k = COUNT; k <= LINK; k++)
            if (lists && arg->value->kind == RLF_AST_LIST &&
                !strcmp(out->formals[k].name, arg->label.text))
                out->formals[k].kind = RLF_FORMAL_NUMBERS;
    }
    rlf_constructor c = {
        .name = name, .formals = out->formals, .n_formals = out->n};
    rlf_ast_expr labelled = *e;
    labelled.args = &out->labelled;
    return rlf_args_constructor(&m->s, &labelled, &c, RLF_RESOURCE_DATA,
                                &out->args, &out->n_args);
}

static const rlf_arg *
find(const call *c, int formal)
{
    return rlf_args_find(c->args, c->n_args, c->of[formal].name);
}

/* A number that is there, or 0. */
static double
number(const call *c, int formal)
{
    const rlf_arg *arg = find(c, formal);
    return arg ? arg->number : 0;
}

/* ---- names ---- */

/* The kind with that name: of the file, or of a preset. */
static const void *
preset(rlf_ast_decl_kind kind, size_t i, const char **name)
{
    const rlf_device_kind *d =
        kind == RLF_AST_DEVICE ? rlf_device_preset(i) : NULL;
    const rlf_machine_kind *x =
        kind == RLF_AST_MACHINE ? rlf_machine_preset(i) : NULL;
    *name = d ? d->name : x ? x->name : NULL;
    return d ? (const void *)d : x;
}

static void
unknown(maker *m, const rlf_ast_name *name, rlf_ast_decl_kind kind)
{
    RLF_VEC(const char *) names = {0};
    const char *one;
    for (size_t i = 0; i < m->program->decls.count; i++)
        if (m->program->decls.data[i]->kind == kind)
            RLF_PUSH(&names, m->program->decls.data[i]->name.text);
    for (size_t i = 0; preset(kind, i, &one); i++)
        RLF_PUSH(&names, one);
    const char *word = rlf_ast_decl_word(kind);
    rlf_ast_decl_kind other =
        kind == RLF_AST_DEVICE ? RLF_AST_MACHINE : RLF_AST_DEVICE;
    for (size_t i = 0; preset(other, i, &one); i++)
        if (!strcmp(one, name->text)) {
            rlf_diag_error(m->s.diags, "type", name->span,
                           "this takes a %s, and '%s' is a %s", word, one,
                           rlf_ast_decl_word(other));
            RLF_VEC_FREE(&names);
            return;
        }
    rlf_diag *diag =
        rlf_diag_error(m->s.diags, "name", name->span,
                       "there is no %s named '%s'", word, name->text);
    const char *near = rlf_str_nearest(name->text, names.data, names.count);
    if (near)
        rlf_diag_hint(m->s.diags, diag, "did you mean '%s'?", near);
    else
        rlf_diag_hint(m->s.diags, diag, "declare it: %s %s = %s(...)", word,
                      name->text, kind == RLF_AST_DEVICE ? "gpu" : "node");
    RLF_VEC_FREE(&names);
}

/* The device or machine that an argument without a label names; NULL after a
 * message, or where there was one already. */
static const void *
named(maker *m, const call *c, const rlf_ast_arg *arg, rlf_ast_decl_kind kind)
{
    const char *word = rlf_ast_decl_word(kind), *name;
    if (arg->value->kind != RLF_AST_NAME || arg->over.text) {
        rlf_diag *diag =
            rlf_diag_error(m->s.diags, "type", arg->span,
                           "'%s' takes the name of a %s here", c->name, word);
        if (arg->value->kind == RLF_AST_STRING)
            rlf_diag_hint(m->s.diags, diag, "write it without quotes");
        else if (arg->value->kind == RLF_AST_NUMBER)
            rlf_diag_hint(m->s.diags, diag,
                          "a number has a name before it, as in count: 8");
        return NULL;
    }
    for (size_t i = 0; i < m->program->decls.count; i++) {
        known *k = &m->known[i];
        if (strcmp(k->decl->name.text ? k->decl->name.text : "",
                   arg->value->name.text) != 0)
            continue;
        k->used = true;
        if (k->decl->kind == kind)
            return k->made;
        rlf_diag *diag = rlf_diag_error(m->s.diags, "type", arg->span,
                                        "'%s' takes a %s, and '%s' is a %s",
                                        c->name, word, k->decl->name.text,
                                        rlf_ast_decl_word(k->decl->kind));
        rlf_diag_note(m->s.diags, diag, k->decl->name.span,
                      "it is declared here");
        return NULL;
    }
    const void *made;
    for (size_t i = 0; (made = preset(kind, i, &name)); i++)
        if (!strcmp(name, arg->value->name.text))
            return made;
    unknown(m, &arg->value->name, kind);
    return NULL;
}

/* ---- devices ---- */

/* An argument that does not go with others; false. */
static bool
contradicts(maker *m, const rlf_arg *arg, const char *text, const char *hint)
{
    rlf_diag *diag =
        rlf_diag_error(m->s.diags, "cluster", arg->span, "%s", text);
    rlf_diag_hint(m->s.diags, diag, "%s", hint);
    return false;
}

/* Seconds in which a device reads all of its memory, and operations in the time
 * of a byte: what is outside of these bounds lacks a factor of a thousand, or
 * has one too many. (An H200 takes 0.03 s and computes 206 operations, a CPU
 * with 2 TB takes 20 s and computes 1 to 20.) */
#define READ_MOST 100
#define GPU_READ_MOST 10
#define INTENSITY_LEAST 0.05
#define GPU_INTENSITY_LEAST 1
#define INTENSITY_MOST 2e4

static void
warn_odd(maker *m, const rlf_arg *arg, const char *hint, const char *fmt,
         double x)
{
    char text[160];
    snprintf(text, sizeof text, fmt, x);
    rlf_diag *diag =
        rlf_diag_warning(m->s.diags, "cluster", arg->span, "%s", text);
    rlf_diag_hint(m->s.diags, diag, "%s", hint);
}

/* Numbers of a device that are each plausible, but not together. */
static void
warn_unbalanced(maker *m, const call *c, const rlf_device_kind *d)
{
    static const char hint[] =
        "if that is not meant, one of these numbers is wrong by a factor of a "
        "thousand";
    double reads = d->memory / d->bandwidth;
    double intensity = (d->gpu ? d->bf16 : d->f32) / d->bandwidth;
    if (reads > (d->gpu ? GPU_READ_MOST : READ_MOST))
        warn_odd(m, find(c, MEMORY), hint,
                 "this memory takes %.3g s to be read once, at its bandwidth",
                 reads);
    if (intensity > INTENSITY_MOST ||
        intensity < (d->gpu ? GPU_INTENSITY_LEAST : INTENSITY_LEAST))
        warn_odd(m, find(c, d->gpu ? BF16 : F32), hint,
                 "these are %.3g operations in the time in which its memory "
                 "gives one byte",
                 intensity);
}

static const void *
make_device(maker *m, const rlf_ast_decl *decl)
{
    static const char *const words[] = {"gpu", "cpu"};
    const char *word = called(m, decl, words, RLF_COUNT(words));
    call c;
    if (!word || !read_call(m, word, decl->value, &c))
        return NULL;
    if (c.plain.count) {
        rlf_diag_error(m->s.diags, "argument", c.plain.data[0].span,
                       "'%s' takes no argument without a name", word);
        return NULL;
    }
    bool gpu = word == words[0];
    rlf_device_kind *d = RLF_NEW(m->s.arena, rlf_device_kind);
    *d = (rlf_device_kind){.name = decl->name.text,
                           .gpu = gpu,
                           .bf16 = find(&c, BF16) ? number(&c, BF16) : 0,
                           .f32 = number(&c, F32),
                           .memory = number(&c, MEMORY),
                           .bandwidth = number(&c, BANDWIDTH),
                           .launch = number(&c, LAUNCH)};
    const rlf_arg *profile = find(&c, PROFILE);
    d->profile = profile ? profile->text : NULL;
    d->profile_span = profile ? profile->span : (rlf_span){0};
    if (gpu && d->f32 > d->bf16) {
        contradicts(m, find(&c, F32), "f32 is faster than bf16 here",
                    "no device is: were the two exchanged?");
        return NULL;
    }
    warn_unbalanced(m, &c, d);
    return d;
}

/* ---- machines ---- */

/* Links are there where there is something to link, and only there. */
static bool
check_links(maker *m, const call *c, bool several, const char *what)
{
    const rlf_arg *count = find(c, COUNT);
    for (int i = LINK; i <= START; i++) {
        const rlf_arg *arg = find(c, i);
        rlf_diag *diag;
        if (several && !arg) {
            diag = rlf_diag_error(m->s.diags, "argument", c->e->at,
                                  "'%s' of several %ss lacks '%s:'", c->name,
                                  what, c->of[i].name);
            rlf_diag_hint(m->s.diags, diag, "%s", c->of[i].doc);
            return false;
        }
        if (!several && arg && !(count && count->given)) {
            diag = rlf_diag_error(m->s.diags, "cluster", arg->span,
                                  "a single %s has no '%s:' to others", what,
                                  c->of[i].name);
            rlf_diag_hint(m->s.diags, diag, "say how many there are: count: 8");
            return false;
        }
    }
    return true;
}

/* A machine of GPUs has a memory of its own; one of CPUs has that of its
 * devices. */
static bool
check_host(maker *m, const call *c, bool gpu)
{
    for (int i = HOST; i <= COPY; i++) {
        const rlf_arg *arg = find(c, i);
        if (!arg == !gpu)
            continue;
        rlf_diag *diag = gpu ? rlf_diag_error(m->s.diags, "argument", c->e->at,
                                              "'%s' of GPUs lacks '%s:'",
                                              c->name, c->of[i].name)
                             : rlf_diag_error(m->s.diags, "cluster", arg->span,
                                              "a machine of CPUs has no '%s:'",
                                              c->of[i].name);
        rlf_diag_hint(m->s.diags, diag, "%s",
                      gpu ? c->of[i].doc
                          : "its memory is that of its devices: leave it out");
        return false;
    }
    return true;
}

static const void *
make_machine(maker *m, const rlf_ast_decl *decl)
{
    static const char *const words[] = {"node"};
    const char *word = called(m, decl, words, RLF_COUNT(words));
    call c;
    bool good = word && read_call(m, word, decl->value, &c);
    if (!word)
        return NULL;
    const rlf_device_kind *device =
        c.plain.count ? named(m, &c, &c.plain.data[0], RLF_AST_DEVICE) : NULL;
    if (!c.plain.count) {
        rlf_diag *diag = rlf_diag_error(m->s.diags, "argument", c.e->at,
                                        "a machine without devices");
        rlf_diag_hint(m->s.diags, diag,
                      "name their kind first: node(a100, count: 8, ...)");
    } else if (c.plain.count > 1) {
        bool number = c.plain.data[1].value->kind == RLF_AST_NUMBER;
        rlf_diag *diag = rlf_diag_error(
            m->s.diags, "argument", c.plain.data[1].span,
            "the devices of a machine are of one kind, which is named already");
        rlf_diag_hint(m->s.diags, diag,
                      number ? "how many there are has a name before it, as in "
                               "count: 8"
                             : "devices of another kind are in machines of "
                               "their own");
        return NULL;
    }
    if (!device || !good)
        return NULL;
    int count = (int)number(&c, COUNT);
    if (!check_links(m, &c, count > 1, "device") ||
        !check_host(m, &c, device->gpu))
        return NULL;
    for (int i = LINK; i <= COPY; i += COPY - LINK)
        if (number(&c, i) > device->bandwidth) {
            contradicts(
                m, find(&c, i), "this is faster than the memory of its devices",
                "bytes pass through that memory: its bandwidth: is the most");
            return NULL;
        }
    rlf_machine_kind *x = RLF_NEW(m->s.arena, rlf_machine_kind);
    *x = (rlf_machine_kind){.name = decl->name.text,
                            .device = device,
                            .count = count,
                            .link = count > 1 ? number(&c, LINK) : INFINITY,
                            .start = count > 1 ? number(&c, START) : 0,
                            .host = number(&c, HOST),
                            .copy = number(&c, COPY),
                            .cores = (int)number(&c, CORES)};
    return x;
}

/* ---- clusters ---- */

/* Number i of n that an argument gives, which may be one for all; false after
 * a message. */
static bool
spread(maker *m, const call *c, int formal, int n, int i, double *out)
{
    const rlf_arg *arg = find(c, formal);
    char why[RLF_FORMAL_WHY];
    *out = arg ? arg->number : 0;
    if (!arg || arg->kind != RLF_ARG_LIST)
        return true;
    const char *label = c->of[formal].name;
    if (arg->n_list != n) {
        rlf_diag_error(m->s.diags, "cluster", arg->span,
                       "'%s:' has %d number%s for %d kind%s of machines", label,
                       arg->n_list, arg->n_list == 1 ? "" : "s", n,
                       n == 1 ? "" : "s");
        return false;
    }
    *out = arg->list[i].number;
    if (rlf_formal_takes(&c->of[formal], *out, why))
        return true;
    rlf_diag *diag = rlf_diag_error(m->s.diags, "argument", arg->list[i].span,
                                    "'%s:' of '%s' %s", label, c->name, why);
    rlf_diag_hint(m->s.diags, diag, "%s", c->of[formal].doc);
    return false;
}

/* Messages between machines come from their devices: a link that is faster
 * than all of these is refused, one that is faster than their links warned of;
 * as are messages that take longer inside of a machine (but for a start of 0,
 * with which nobody counts it). */
static bool
check_net(maker *m, const call *c, const rlf_cluster *cluster)
{
    bool good = true;
    const rlf_arg *link = find(c, LINK), *start = find(c, START);
    for (int i = 0; i < cluster->n_parts && cluster->machines > 1; i++) {
        const rlf_cluster_part *part = &cluster->parts[i];
        const rlf_machine_kind *x = part->machine;
        rlf_arg at = *link;
        at.span = link->kind == RLF_ARG_LIST ? link->list[i].span : link->span;
        if (part->link > x->count * x->device->bandwidth)
            good = contradicts(
                m, &at,
                rlf_arena_printf(
                    m->s.arena,
                    "this is faster than the memory of all devices "
                    "of a machine '%s' (%.6g)",
                    x->name, x->count * x->device->bandwidth),
                "bytes pass through that memory: the sum of bandwidth: is the "
                "most");
        else if (part->link > x->count * x->link)
            warn_odd(m, &at, "were 'link:' of node and of net exchanged?",
                     "machines are linked faster than all devices in one, "
                     "which have %.6g together",
                     x->count * x->link);
        if (x->count > 1 && cluster->start > 0 && x->start > cluster->start)
            warn_odd(m, start, "were 'start:' of node and of net exchanged?",
                     "a message between machines is faster than one inside, "
                     "which takes %.6g s",
                     x->start);
    }
    return good;
}

/* A run computes on devices of one sort. */
static bool
of_one_sort(maker *m, const call *c, const rlf_cluster *cluster)
{
    bool gpu = cluster->parts[0].machine->device->gpu;
    for (int i = 1; i < cluster->n_parts; i++) {
        if (cluster->parts[i].machine->device->gpu == gpu)
            continue;
        rlf_diag *diag = rlf_diag_error(
            m->s.diags, "cluster", c->plain.data[i].span,
            "'%s' has %s, and '%s' has %s", cluster->parts[i].machine->name,
            gpu ? "CPUs" : "GPUs", cluster->parts[0].machine->name,
            gpu ? "GPUs" : "CPUs");
        rlf_diag_hint(
            m->s.diags, diag,
            "a run computes on GPUs or on CPUs: declare two clusters");
        return false;
    }
    return true;
}

/* The machines of a net, each named once. */
static bool
read_machines(maker *m, const call *c, rlf_cluster *out)
{
    bool good = true;
    for (int i = 0; i < out->n_parts; i++) {
        const rlf_ast_arg *arg = &c->plain.data[i];
        out->parts[i].machine = named(m, c, arg, RLF_AST_MACHINE);
        good = good && out->parts[i].machine;
        for (int k = 0; k < i && out->parts[i].machine; k++) {
            if (out->parts[k].machine != out->parts[i].machine)
                continue;
            rlf_diag *diag = rlf_diag_error(m->s.diags, "cluster", arg->span,
                                            "'%s' is named twice",
                                            out->parts[i].machine->name);
            rlf_diag_note(m->s.diags, diag, c->plain.data[k].span,
                          "first here");
            rlf_diag_hint(m->s.diags, diag,
                          "'count:' says how many there are of it");
            return false;
        }
    }
    return good && of_one_sort(m, c, out);
}

static rlf_cluster *
make_cluster(maker *m, const rlf_ast_decl *decl)
{
    static const char *const words[] = {"net"};
    const char *word = called(m, decl, words, RLF_COUNT(words));
    rlf_err err = RLF_ERR_NONE;
    call c;
    bool good = word && read_call(m, word, decl->value, &c);
    if (!word)
        return NULL;
    if (!c.plain.count) {
        rlf_diag *diag = rlf_diag_error(m->s.diags, "argument", c.e->at,
                                        "a net without machines");
        rlf_diag_hint(m->s.diags, diag,
                      "name them first: net(box, count: 16, ...)");
        return NULL;
    }
    rlf_cluster *out = RLF_NEW(m->s.arena, rlf_cluster);
    out->name = decl->name.text;
    out->n_parts = (int)c.plain.count;
    out->parts = RLF_NEW_ARRAY(m->s.arena, rlf_cluster_part, out->n_parts);
    good = read_machines(m, &c, out) && good;
    double machines = 0;
    for (int i = 0; i < out->n_parts && good; i++) {
        double count, link;
        good = spread(m, &c, COUNT, out->n_parts, i, &count) &&
               spread(m, &c, LINK, out->n_parts, i, &link);
        machines += good ? count : 0;
        out->parts[i].count = good ? (int)count : 0;
        out->parts[i].link = good ? link : 0;
    }
    if (!good || !check_links(m, &c, machines > 1, "machine"))
        return NULL;
    for (int i = 0; i < out->n_parts && machines <= 1; i++)
        out->parts[i].link = INFINITY;
    out->start = machines > 1 ? number(&c, START) : 0;
    if (rlf_cluster_number(out, &err) >= 0)
        return check_net(m, &c, out) ? out : NULL;
    rlf_diag_error(m->s.diags, "cluster", c.e->span, "%s", err.sentence);
    return NULL;
}

/* ---- the file ---- */

static void
index_names(maker *m)
{
    rlf_map names = {.arena = m->s.arena};
    for (size_t i = 0; i < m->program->decls.count; i++) {
        rlf_ast_decl *decl = m->program->decls.data[i];
        m->known[i].decl = decl;
        if (!rlf_cluster_declares(decl)) {
            rlf_diag *diag = rlf_diag_error(m->s.diags, "cluster", decl->span,
                                            "a cluster file has no %s",
                                            rlf_ast_decl_word(decl->kind));
            rlf_diag_hint(m->s.diags, diag,
                          "it declares device, machine and cluster, and "
                          "nothing else");
            continue;
        }
        rlf_ast_decl *before = rlf_map_get(&names, decl->name.text);
        if (!before) {
            rlf_map_put(&names, decl->name.text, decl);
            continue;
        }
        rlf_diag *diag =
            rlf_diag_error(m->s.diags, "name", decl->name.span,
                           "'%s' is declared twice", decl->name.text);
        rlf_diag_note(m->s.diags, diag, before->name.span, "first here");
    }
}

static void
warn_unused(maker *m)
{
    for (size_t i = 0; i < m->program->decls.count; i++) {
        const known *k = &m->known[i];
        if (k->used || k->decl->kind == RLF_AST_CLUSTER)
            continue;
        rlf_diag *diag = rlf_diag_warning(
            m->s.diags, "unused", k->decl->name.span,
            "'%s' is declared and never used", k->decl->name.text);
        rlf_diag_hint(m->s.diags, diag, "take it out, or use it");
    }
}

/* Devices first, then machines: the order of the file does not matter. */
static void
make_all(maker *m, rlf_clusters *out)
{
    size_t n = m->program->decls.count;
    for (size_t i = 0; i < n; i++)
        if (m->known[i].decl->kind == RLF_AST_DEVICE)
            m->known[i].made = make_device(m, m->known[i].decl);
    for (size_t i = 0; i < n; i++)
        if (m->known[i].decl->kind == RLF_AST_MACHINE)
            m->known[i].made = make_machine(m, m->known[i].decl);
    out->list = RLF_NEW_ARRAY(m->s.arena, rlf_cluster *, n);
    for (size_t i = 0; i < n; i++)
        if (m->known[i].decl->kind == RLF_AST_CLUSTER)
            out->list[out->n++] = make_cluster(m, m->known[i].decl);
}

/* Of the file, up to its last slash: "" is where the command is. */
static const char *
directory_of(const rlf_ast_program *program, const rlf_sources *sources,
             rlf_arena *arena)
{
    if (!program->decls.count)
        return "";
    uint32_t source = program->decls.data[0]->span.source;
    const char *path = rlf_sources_get(sources, source)->path;
    const char *slash = strrchr(path, '/');
    return rlf_arena_strndup(arena, path,
                             slash ? (size_t)(slash - path) + 1 : 0);
}

rlf_status
rlf_clusters_make(const rlf_ast_program *program, rlf_arena *arena,
                  rlf_sources *sources, rlf_diags *diags, rlf_err *err,
                  rlf_clusters *out)
{
    static const rlf_classes none = {0};
    const rlf_compile_options options = {.classes = &none};
    rlf_module nothing = {.program = (rlf_ast_program *)(uintptr_t)program,
                          .path = "",
                          .directory = directory_of(program, sources, arena),
                          .names.arena = arena,
                          .used.arena = arena};
    maker m = {.program = program};
    *out = (rlf_clusters){0};
    if (diags->errors)
        return RLF_USER;
    rlf_sema_start(&m.s, &options, arena, sources, diags);
    m.s.part = m.s.update = -1;
    rlf_scope_push(&m.s, NULL, &nothing);
    m.known = RLF_NEW_ARRAY(arena, known, program->decls.count);
    index_names(&m);
    if (!diags->errors)
        make_all(&m, out);
    if (diags->errors)
        return RLF_USER;
    if (!out->n) {
        rlf_fail(err, RLF_USER, "%s: there is no 'cluster' in this file",
                 rlf_sources_get(sources, program->source)->path);
        rlf_err_hint(err, "add one: cluster NAME = net(MACHINE, count: 1)");
        return RLF_USER;
    }
    warn_unused(&m);
    return RLF_OK;
}
