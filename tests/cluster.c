/* Cluster files against golden files: tests/cluster/NAME.t (golden.h) in the
 * modes
 *
 *   errors   the diagnostics
 *   print    the warnings, and each cluster as a file, which gives it again
 *
 * Then mutations of a right file: each is refused, or gives clusters with
 * possible numbers whose prints give them again. */
#include "tests/golden.h"

#include "grammar/cluster.h"
#include "grammar/parse.h"

enum { MUTATIONS = 6000, MOST_TEXT = 8192 };

typedef struct reading {
    rlf_arena *arena;
    rlf_sources sources;
    rlf_diags diags;
    rlf_err err;
    rlf_clusters all;
    rlf_status status;
} reading;

static void
read_text(reading *r, const char *text, size_t size)
{
    *r = (reading){.arena = rlf_arena_new(), .err = RLF_ERR_NONE};
    r->sources.arena = r->diags.arena = r->arena;
    r->diags.sources = &r->sources;
    uint32_t source = rlf_sources_add(&r->sources, "test.rlf", text, size);
    const rlf_ast_program *program =
        rlf_parse(&r->sources, source, r->arena, &r->diags);
    r->status = rlf_clusters_make(program, r->arena, &r->sources, &r->diags,
                                  &r->err, &r->all);
}

/* Is the print of a cluster a file that gives it again? */
static bool
reads_again(const rlf_buf *print)
{
    reading again;
    rlf_buf twice = {0};
    read_text(&again, print->p, print->n);
    bool good = again.status >= 0 && again.all.n == 1;
    if (good)
        rlf_cluster_print(again.all.list[0], &twice);
    good = good && strcmp(twice.p, print->p) == 0;
    rlf_buf_free(&twice);
    rlf_arena_free(again.arena);
    return good;
}

static void
run(const char *name, const char *mode, const char *source, size_t size,
    bool quiet, rlf_buf *out)
{
    reading r;
    read_text(&r, source, size);
    rlf_diags_print(&r.diags, out);
    if (r.err.status < 0)
        rlf_err_print(&r.err, &r.sources, out);
    for (int i = 0; i < r.all.n && r.status >= 0; i++) {
        rlf_buf print = {0};
        rlf_cluster_print(r.all.list[i], &print);
        if (!strcmp(mode, "print"))
            rlf_buf_puts(out, print.p);
        if (!quiet)
            ok(reads_again(&print), "%s: its print gives it again", name);
        rlf_buf_free(&print);
    }
    rlf_arena_free(r.arena);
}

/* ---- mutations ---- */

static uint32_t
draw(uint64_t *state, size_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

/* Returns the length of the word that begins at `p`: a name, a number, or a
 * sign. */
static size_t
word_length(const char *p)
{
    size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_.");
    return n ? n : 1;
}

/* Exchange, drop or double words of the text, or put others there. */
static void
mutate(uint64_t *state, char *text)
{
    static const char *const words[] = {
        "0",    "-1",     "1e300",   "2.5",      "3s",  "1GB",     "(",
        ")",    "[1, 2]", "[",       "]",        ",",   ":",       "=",
        "a100", "box",    "link",    "node",     "net", "gpu",     "\"x\"",
        "not",  "over",   "device",  "if",       ".",   "count",   "1 / 0",
        "true", "cpu",    "cluster", "a100_box", "7e9", "2 * 3e6", "12"};
    for (uint32_t k = 1 + draw(state, 2); k; k--) {
        size_t n = strlen(text), from = draw(state, n), at = 0;
        while (at + word_length(text + at) <= from)
            at += word_length(text + at);
        size_t end = at + word_length(text + at);
        const char *word = words[draw(state, RLF_COUNT(words))];
        uint32_t how = draw(state, 4);
        size_t more = how == 0 ? 0 : strlen(word), cut = how == 1 ? at : end;
        if (n + more + 1 >= MOST_TEXT)
            continue;
        memmove(text + at + more, text + cut, n - cut + 1);
        memcpy(text + at, word, more);
    }
}

static bool
possible(const rlf_cluster *c)
{
    bool good = c->ranks >= 1 && c->ranks <= RLF_CLUSTER_RANKS;
    for (int i = 0; i < c->n_parts; i++) {
        const rlf_cluster_part *part = &c->parts[i];
        const rlf_machine_kind *m = part->machine;
        good = good && part->count > 0 && part->link > 0 && m->count > 0 &&
               m->link > 0 && m->start >= 0 && m->cores > 0 &&
               m->device->memory >= 1e6 && m->device->bandwidth >= 1e6 &&
               m->device->f32 >= 1e6 && isfinite(m->device->f32);
    }
    return good;
}

static void
check_mutations(void)
{
    static const char right[] =
        "device a = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, "
        "bandwidth: 2.04e12, launch: 6e-6)\n"
        "machine box = node(a, count: 8, link: 300e9, start: 8e-6, "
        "host: 1e12, copy: 20e9, cores: 96)\n"
        "cluster hf = net(box, a100_box, count: [16, 2], link: [25e9, 3e10], "
        "start: 2e-5)\n";
    uint64_t state = 7;
    int accepted = 0, refused = 0;
    bool good = true;
    for (int i = 0; i < MUTATIONS; i++) {
        char text[MOST_TEXT];
        reading r;
        memcpy(text, right, sizeof right);
        mutate(&state, text);
        read_text(&r, text, strlen(text));
        accepted += r.status >= 0;
        refused += r.status == RLF_USER && (r.diags.errors || r.err.status);
        for (int k = 0; r.status >= 0 && k < r.all.n; k++) {
            rlf_buf print = {0};
            rlf_cluster_print(r.all.list[k], &print);
            bool fine = possible(r.all.list[k]) && reads_again(&print);
            if (!fine)
                note("%s", text);
            good = good && fine;
            rlf_buf_free(&print);
        }
        rlf_arena_free(r.arena);
    }
    ok(good && accepted > 100, "%d mutations give what is possible", accepted);
    is_int(accepted + refused, MUTATIONS,
           "all others are refused, and say why");
}

int
main(int argc, char **argv)
{
    if (!getenv("RLFLOW_WRITE_GOLDEN"))
        check_mutations();
    return golden_run(run, "cluster", argc > 1 ? argv[1] : NULL);
}
