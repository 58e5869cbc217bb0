/* Log-probabilities, entropies, values and all gradients against PyTorch in
 * double precision (tests/oracle/transformers_llama.py): Llama with biases and
 * llama3 rotation, Qwen2 (tied, a sliding layer, bf16), Qwen3 (norms of heads,
 * f16), Mistral (window, linear rotation), a Llama critic. The same with
 * recomputation, and in micro-batches of one sequence. */
#include "engine/io/safetensors.h"
#include "tests/unit/model.h"

#define MOST_SEQS 16

typedef struct fixture {
    test_machine *machine;
    rlf_safetensors *expected;
    rlf_model *model;
    rlf_sequence seqs[MOST_SEQS];
    uint32_t n_seqs;
    uint32_t *tokens;
    const char *name;
} fixture;

/* All elements of a tensor of the fixture. */
static const double *
expected(const fixture *f, const char *name, rlf_arena *arena, size_t *n)
{
    const rlf_tensor *x = rlf_safetensors_get(f->expected, name);
    if (!x)
        bail("no %s in the fixture %s", name, f->name);
    double *out = RLF_NEW_ARRAY(arena, double, x->count);
    float *row = RLF_NEW_ARRAY(arena, float, x->count);
    if (x->element == RLF_ELEMENT_F64) {
        memcpy(out, x->data, x->bytes);
    } else {
        MUST(f->machine,
             rlf_tensor_read_f32(x, 0, x->count, &f->machine->err, row));
        for (size_t i = 0; i < x->count; i++)
            out[i] = (double)row[i];
    }
    *n = x->count;
    return out;
}

/* Largest |got - want| / (1 + |want|). */
static void
is_near(const float *got, const double *want, size_t n, double bound,
        const char *what, const char *name)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double e = fabs((double)got[i] - want[i]) / (1 + fabs(want[i]));
        if (!(e <= worst))
            worst = e;
    }
    ok(worst <= bound, "%s: %s within %g", name, what, bound);
    if (!(worst <= bound))
        note("worst %g of %zu", worst, n);
}

static void
read_sequences(fixture *f, rlf_arena *arena)
{
    size_t n, n_tokens, unused;
    const double *lengths = expected(f, "lengths", arena, &n);
    const double *tokens = expected(f, "tokens", arena, &n_tokens);
    const double *temperature = expected(f, "temperature", arena, &unused);
    f->n_seqs = (uint32_t)n / 2;
    f->tokens = RLF_NEW_ARRAY(arena, uint32_t, n_tokens);
    for (size_t i = 0; i < n_tokens; i++)
        f->tokens[i] = (uint32_t)tokens[i];
    uint32_t *next = f->tokens;
    for (uint32_t i = 0; i < f->n_seqs; i++) {
        rlf_sequence *s = &f->seqs[i];
        s->n_prompt = (uint32_t)lengths[2 * i];
        s->n_response = (uint32_t)lengths[2 * i + 1];
        s->prompt = next;
        s->response = next + s->n_prompt;
        s->temperature = (float)temperature[i];
        next += s->n_prompt + s->n_response;
    }
}

/* What one run gives: head outputs of all rows. */
typedef struct outputs {
    float logprob[512], entropy[512], scalar[512], last[512];
    uint32_t n;
} outputs;

/* Forward and backward of all sequences, `each` at a time; gradients of the
 * fixture's weighted loss are added to the model's. */
static void
run(fixture *f, const rlf_pass_options *options, uint32_t each,
    rlf_arena *arena, outputs *out)
{
    test_machine *t = f->machine;
    bool scalar = f->model->table->head == RLF_HEAD_SCALAR;
    size_t n;
    const double *a = expected(f, "weight", arena, &n);
    const double *b = expected(f, "entropy_weight", arena, &n);
    float weights[2][512];
    for (size_t i = 0; i < n; i++) {
        weights[0][i] = (float)a[i];
        weights[1][i] = (float)b[i];
    }
    rlf_pass *p = NULL;
    MUST(t, rlf_pass_new(f->model, options, &t->err, &p));
    out->n = 0;
    for (uint32_t i = 0; i < f->n_seqs; i += each) {
        uint32_t count = f->n_seqs - i < each ? f->n_seqs - i : each;
        MUST(t,
             rlf_pass_load(p, f->seqs + i, count, i, RLF_ROWS_TOKENS, &t->err));
        MUST(t, rlf_transformer_forward(f->model, p, &t->err));
        MUST(t, rlf_pass_write(p, weights[0] + out->n, p->n_rows, &t->err,
                               scalar ? p->d_scalar : p->d_logprob));
        MUST(t, rlf_pass_write(p, weights[1] + out->n, p->n_rows, &t->err,
                               p->d_entropy));
        if (scalar) {
            MUST(t, rlf_head_scalars(f->model, p, &t->err));
            MUST(t, rlf_pass_read(p, p->scalar, p->n_rows, &t->err,
                                  out->scalar + out->n));
            MUST(t, rlf_head_scalar_back(f->model, p, false, &t->err));
        } else {
            MUST(t, rlf_head_loss(f->model, p, NULL, NULL, true, &t->err));
            MUST(t, rlf_pass_read(p, p->logprob, p->n_rows, &t->err,
                                  out->logprob + out->n));
            MUST(t, rlf_pass_read(p, p->entropy, p->n_rows, &t->err,
                                  out->entropy + out->n));
        }
        MUST(t, rlf_transformer_backward(f->model, p, &t->err));
        out->n += (uint32_t)p->n_rows;
    }
    if (scalar) {
        MUST(t,
             rlf_pass_load(p, f->seqs, f->n_seqs, 0, RLF_ROWS_LAST, &t->err));
        MUST(t, rlf_transformer_forward(f->model, p, &t->err));
        MUST(t, rlf_head_scalars(f->model, p, &t->err));
        MUST(t, rlf_pass_read(p, p->scalar, p->n_rows, &t->err, out->last));
    }
    rlf_pass_free(p);
}

static void
check_gradients(fixture *f, rlf_arena *arena)
{
    const rlf_table *table = f->model->table;
    if (f->model->gradient.tied) {
        const float *x = f->model->gradient.tied;
        float *y = f->model->gradient.weights + table->embed;
        for (int64_t i = 0;
             i < (int64_t)table->config.vocab * table->config.hidden; i++)
            y[i] += x[i];
    }
    for (int i = 0; i < table->n_slots; i++) {
        const rlf_slot *slot = &table->slots[i];
        size_t n;
        const double *want = expected(
            f, rlf_arena_printf(arena, "grad.%s", slot->name), arena, &n);
        is_near(f->model->gradient.weights + slot->offset, want, n, 2e-5,
                rlf_arena_printf(arena, "gradient of %s", slot->name), f->name);
    }
}

static void
check_outputs(fixture *f, const outputs *out, rlf_arena *arena)
{
    size_t n;
    const double *want;
    if (f->model->table->head == RLF_HEAD_SCALAR) {
        want = expected(f, "scalar", arena, &n);
        is_near(out->scalar, want, n, 1e-5, "values", f->name);
        want = expected(f, "last", arena, &n);
        is_near(out->last, want, n, 1e-5, "scores", f->name);
        return;
    }
    want = expected(f, "logprob", arena, &n);
    is_int((int64_t)out->n, (int64_t)n, "as many rows as response tokens");
    is_near(out->logprob, want, n, 1e-5, "log-probabilities", f->name);
    want = expected(f, "entropy", arena, &n);
    is_near(out->entropy, want, n, 1e-5, "entropies", f->name);
}

static void
test_model(test_machine *t, const char *name, rlf_model_head head)
{
    rlf_arena *arena = rlf_arena_new();
    fixture f = {.machine = t, .name = name};
    const char *dir = source_path(
        arena, rlf_arena_printf(arena, "tests/data/models/%s", name));
    const char *path = rlf_arena_printf(arena, "%s/expected.safetensors", dir);
    MUST(t, rlf_safetensors_open(path, &t->err, &f.expected));
    rlf_model_config config;
    MUST(t, rlf_model_config_read(dir, arena, &t->err, &config));
    rlf_model_options options = {.head = head, .trained = true};
    MUST(t, rlf_model_new(t->queue, rlf_kernels_cpu(), &config, &options,
                          &t->err, &f.model));
    path = rlf_arena_printf(arena, "%s/model.safetensors", dir);
    MUST(t, rlf_weights_load(f.model, path, &t->err));
    read_sequences(&f, arena);

    outputs whole, again;
    size_t bytes = (size_t)f.model->table->count * sizeof(float);
    float *first = rlf_malloc(bytes);
    rlf_pass_options pass = {.tokens = 128, .train = true};
    run(&f, &pass, MOST_SEQS, arena, &whole);
    memcpy(first, f.model->gradient.weights, bytes);

    for (int i = 0; i < 2; i++) { /* in pieces; recomputed in pieces */
        memset(f.model->gradient.weights, 0, bytes);
        if (f.model->gradient.tied)
            memset(f.model->gradient.tied, 0,
                   (size_t)config.vocab * (size_t)config.hidden *
                       sizeof(float));
        pass.recompute = i == 1;
        run(&f, &pass, 1 + (uint32_t)i, arena, &again);
        const char *how = i ? "recomputed, two sequences at a time"
                            : "one sequence at a time";
        ok(!memcmp(f.model->gradient.weights, first, bytes),
           "%s: the same bits of all gradients, %s", name, how);
        ok(!memcmp(again.logprob, whole.logprob, whole.n * sizeof(float)) ||
               head == RLF_HEAD_SCALAR,
           "%s: the same log-probabilities, %s", name, how);
    }
    check_outputs(&f, &whole, arena);
    check_gradients(&f, arena);
    free(first);
    rlf_model_free(f.model);
    rlf_safetensors_close(f.expected);
    rlf_arena_free(arena);
}

int
main(void)
{
    test_machine t;
    test_machine_open(&t, 2);
    test_model(&t, "llama", RLF_HEAD_LM);
    test_model(&t, "qwen2", RLF_HEAD_LM);
    test_model(&t, "qwen3", RLF_HEAD_LM);
    test_model(&t, "mistral", RLF_HEAD_LM);
    test_model(&t, "critic", RLF_HEAD_SCALAR);
    test_machine_close(&t);
    return done();
}
