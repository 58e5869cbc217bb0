/* Sizes are functions of their own, so that plans print what is allocated. */
#include "nodes/model/work.h"

static rlf_pass_options
pass_options(bool train, int longest)
{
    return (rlf_pass_options){
        .tokens = longest > RLF_WORK_TOKENS ? longest : RLF_WORK_TOKENS,
        .train = train};
}

rlf_status
rlf_work_pass(rlf_model *model, bool train, int longest, rlf_err *err,
              rlf_pass **out)
{
    rlf_pass **pass = train ? &model->work.train : &model->work.infer;
    if (!*pass || (*pass)->options.tokens < longest) {
        rlf_pass_options options = pass_options(train, longest);
        rlf_pass_free(*pass);
        *pass = NULL;
        RLF_TRY(rlf_pass_new(model, &options, err, pass));
    }
    *out = *pass;
    return RLF_OK;
}

rlf_status
rlf_work_sampler(rlf_model *model, rlf_err *err, rlf_pass **out)
{
    if (!model->work.sampler) {
        rlf_pass_options options = pass_options(false, 0);
        RLF_TRY(rlf_pass_new(model, &options, err, &model->work.sampler));
    }
    *out = model->work.sampler;
    return RLF_OK;
}

/* Short sequences waste less in small pages, long ones are read faster in
 * large ones; no choice changes a bit. */
static int
page_size(const rlf_table *t)
{
    return t->config.context <= 128 ? 16 : 64;
}

static int
page_count(const rlf_table *t, int longest)
{
    int size = page_size(t);
    int64_t each = (t->config.context + size - 1) / size;
    int64_t least = (longest + size - 1) / size;
    int64_t most = (int64_t)(RLF_WORK_KV_BYTES / rlf_kv_page_bytes(t, size));
    int64_t want = each * RLF_WORK_ACTIVE;
    if (want > most)
        want = most;
    return (int)(want > least ? want : least);
}

rlf_status
rlf_work_pages(rlf_model *model, int longest, rlf_err *err, rlf_kv **out)
{
    rlf_kv **kv = &model->work.kv;
    int count = page_count(model->table, longest);
    if (!*kv || (*kv)->n_pages < count) {
        rlf_kv_free(*kv);
        *kv = NULL;
        RLF_TRY(rlf_kv_new(model, page_size(model->table), count, err, kv));
    }
    *out = *kv;
    return RLF_OK;
}

void
rlf_work_free(rlf_work *work)
{
    rlf_pass_free(work->train);
    rlf_pass_free(work->infer);
    rlf_pass_free(work->sampler);
    rlf_kv_free(work->kv);
    *work = (rlf_work){0};
}

size_t
rlf_work_pass_bytes(const rlf_table *table, const rlf_kernels *kernels,
                    bool train, int longest)
{
    rlf_pass_options options = pass_options(train, longest);
    return rlf_pass_count_bytes(table, kernels, &options);
}

size_t
rlf_work_kv_bytes(const rlf_table *table, int longest)
{
    return rlf_kv_page_bytes(table, page_size(table)) *
           (size_t)page_count(table, longest);
}
