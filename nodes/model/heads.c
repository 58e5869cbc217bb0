/* Each head is one kernel over the rows; the head's own sums over ranks are the
 * kernel's (parallel.h). */
#include "nodes/model/heads.h"

#include "nodes/model/block.h"
#include "nodes/model/gradient.h"
#include "nodes/model/parallel.h"

const float *
rlf_head_bias(const rlf_model *m)
{
    int64_t at = m->table->lm_bias;
    return at == RLF_NO_SLOT ? NULL : rlf_block_place(m, at);
}

static rlf_head_logprob_args
head_args(const rlf_model *model, rlf_pass *p, bool with_entropy)
{
    const rlf_model_config *c = &model->table->config;
    return (rlf_head_logprob_args){
        .m = p->n_rows,
        .v = c->vocab,
        .d = c->hidden,
        .part = rlf_parallel_head(model),
        .x = p->hidden,
        .packed = model->lm.forward,
        .bf16 = model->lm.bf16,
        .bias = rlf_head_bias(model),
        .scale = (float)c->logits_scale,
        .cap = (float)c->logits_cap,
        .temperature = p->n_rows ? p->host_floats[0] : 1,
        .temperatures = p->one_temperature ? NULL : p->temperatures,
        .targets = p->targets,
        .logprob = p->logprob,
        .entropy = with_entropy ? p->entropy : NULL,
        .work = p->work,
        .work_bytes = p->work_bytes};
}

rlf_status
rlf_head_logprobs(const rlf_model *model, rlf_pass *p, bool with_entropy,
                  rlf_err *err)
{
    rlf_head_logprob_args args = head_args(model, p, with_entropy);
    return p->kernels->head_logprob(p->queue, &args, err);
}

/* 32 rows of the head's tile are left, which is enough for all that it does. */
static int64_t
words_room(const rlf_table *t, int64_t work_rows)
{
    int64_t most = (work_rows - 32) / t->cut.ranks;
    return (most > 1 ? most : 1) * t->config.vocab * (int64_t)sizeof(float);
}

int64_t
rlf_head_words_fit(const rlf_table *t, int64_t work_rows, size_t each)
{
    int64_t row = t->config.vocab * (int64_t)sizeof(float);
    int64_t rows = words_room(t, work_rows) / (row + (int64_t)each);
    return rows > 1 ? rows : 1;
}

int64_t
rlf_head_words_rows(const rlf_pass *p, size_t each)
{
    return rlf_head_words_fit(p->table, p->work_rows, each);
}

static size_t
work_before(const rlf_pass *p, size_t bytes)
{
    return (p->work_bytes - bytes) / 64 * 64;
}

void *
rlf_head_beside(const rlf_pass *p, size_t beside)
{
    return (char *)p->work + work_before(p, beside);
}

rlf_status
rlf_head_words(const rlf_model *model, rlf_pass *p, int64_t first, int64_t n,
               size_t beside, rlf_err *err, float **words)
{
    rlf_head_logprob_args args = head_args(model, p, false);
    size_t bytes = (size_t)(n * args.v) * sizeof **words + 63;
    args.m = n;
    args.x = rlf_real_at(p->kernels, args.x, first * args.d);
    args.targets += first;
    args.logprob += first;
    if (args.temperatures)
        args.temperatures += first;
    args.work_bytes = work_before(p, bytes + beside);
    *words = args.words = (float *)((char *)p->work + args.work_bytes);
    RLF_TRY(p->kernels->head_logprob(p->queue, &args, err));
    return rlf_parallel_gather_words(model, *words, n, err);
}

rlf_status
rlf_head_scalars(const rlf_model *model, rlf_pass *p, rlf_err *err)
{
    rlf_product_args args = {.m = p->n_rows,
                             .n = 1,
                             .k = model->table->config.hidden,
                             .x = p->hidden,
                             .packed = model->score.forward,
                             .c = p->scalar,
                             .c_f32 = true};
    return p->kernels->product(p->queue, &args, err);
}

/* The arguments that both kinds of losses have in common. */
static rlf_head_loss_args
loss_args(rlf_model *model, rlf_pass *p, bool with_entropy, void *ctx)
{
    const rlf_table *t = model->table;
    bool adapted = rlf_table_adapted(t), bias = t->lm_bias != RLF_NO_SLOT;
    rlf_gradient_select(model, t->cut.chunks - 1, RLF_GRADIENT_REST);
    return (rlf_head_loss_args){
        .forward = head_args(model, p, with_entropy),
        .packed_back = model->lm.backward,
        .loss_ctx = ctx,
        .dx = p->d_hidden,
        .dw = adapted                ? NULL
              : model->gradient.tied ? model->gradient.tied
                                     : rlf_gradient_of(model, t->lm),
        .dbias = adapted || !bias ? NULL : rlf_gradient_of(model, t->lm_bias)};
}

rlf_status
rlf_head_loss(rlf_model *model, rlf_pass *p, rlf_head_tile_fn *loss, void *ctx,
              bool with_entropy, rlf_err *err)
{
    rlf_head_loss_args args = loss_args(model, p, with_entropy, ctx);
    args.loss = loss;
    args.with_entropy = with_entropy;
    args.dlogprob = loss ? NULL : p->d_logprob;
    args.dentropy = loss || !with_entropy ? NULL : p->d_entropy;
    RLF_TRY(p->kernels->head_loss(p->queue, &args, err));
    return rlf_parallel_sum(model, p->d_hidden, p->n_rows * args.forward.d,
                            err);
}

/* A loss that is called with all words, also of a model in parts. */
typedef struct whole_loss {
    const rlf_model *model;
    rlf_head_words_fn *loss;
    void *ctx;
} whole_loss;

static rlf_status
call_with_words(void *ctx, rlf_queue *queue, int64_t first, int64_t n,
                const float *logprob, float *words, float *dlogprob,
                rlf_err *err)
{
    const whole_loss *w = ctx;
    RLF_TRY(rlf_parallel_gather_words(w->model, words, n, err));
    return w->loss(w->ctx, queue, first, n, logprob, words, dlogprob, err);
}

rlf_status
rlf_head_words_loss(rlf_model *model, rlf_pass *p, rlf_head_words_fn *loss,
                    void *ctx, size_t beside, rlf_err *err)
{
    whole_loss whole = {model, loss, ctx};
    rlf_head_loss_args args = loss_args(model, p, false, &whole);
    args.words_loss = call_with_words;
    args.forward.work_bytes = work_before(p, beside);
    RLF_TRY(p->kernels->head_loss(p->queue, &args, err));
    return rlf_parallel_sum(model, p->d_hidden, p->n_rows * args.forward.d,
                            err);
}

rlf_status
rlf_head_scalar_back(rlf_model *model, rlf_pass *p, bool add, rlf_err *err)
{
    int64_t d = model->table->config.hidden;
    rlf_gradient_select(model, model->table->cut.chunks - 1, RLF_GRADIENT_REST);
    rlf_product_grad_args grad = {
        .m = p->n_rows,
        .n = 1,
        .k = d,
        .dy = p->d_scalar_real,
        .x = p->hidden,
        .dw = rlf_gradient_of(model, model->table->score)};
    if (p->d_scalar_real != p->d_scalar) {
        rlf_cast_args cast = {.n = p->n_rows,
                              .from = RLF_CAST_F32,
                              .to = p->kernels->real,
                              .x = p->d_scalar,
                              .y = p->d_scalar_real};
        RLF_TRY(p->kernels->cast(p->queue, &cast, err));
    }
    RLF_TRY(p->kernels->product_grad(p->queue, &grad, err));
    rlf_product_args args = {.m = p->n_rows,
                             .n = d,
                             .k = 1,
                             .x = p->d_scalar_real,
                             .packed = model->score.backward,
                             .form = RLF_PRODUCT_BACKWARD,
                             .c = p->d_hidden,
                             .add = add};
    return p->kernels->product(p->queue, &args, err);
}
