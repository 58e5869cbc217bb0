/* The model of a tokenizer file: see model.h. */
#include "engine/text/model.h"

void
rlf_model_work_free(rlf_model_work *work)
{
    rlf_bpe_work_free(&work->bpe);
    rlf_unigram_work_free(&work->unigram);
    rlf_buf_free(&work->spelled);
}

rlf_status
rlf_model_encode(const rlf_model *model, rlf_model_work *work, const char *p,
                 size_t n, rlf_err *err, rlf_ids *out)
{
    switch (model->kind) {
    case RLF_MODEL_UNIGRAM:
        return rlf_unigram_encode(&model->unigram, &work->unigram, p, n, err,
                                  out);
    case RLF_MODEL_WORDPIECE:
    case RLF_MODEL_WORDLEVEL:
        return rlf_wordpiece_encode(&model->wordpiece, &work->spelled, p, n,
                                    err, out);
    case RLF_MODEL_BPE:
        break;
    }
    return rlf_bpe_encode(&model->bpe, &work->bpe, p, n, err, out);
}

uint32_t
rlf_model_unknown(const rlf_model *model)
{
    return model->kind == RLF_MODEL_BPE       ? model->bpe.unk
           : model->kind == RLF_MODEL_UNIGRAM ? model->unigram.unk
                                              : model->wordpiece.unk;
}

/* Are there tokens for all bytes? */
static bool
has_bytes(const uint32_t ids[256])
{
    bool all = true;
    for (int i = 0; i < 256; i++)
        all = all && ids[i] != RLF_NO_ID;
    return all;
}

/* May one unknown token stand for any number of characters? */
static bool
is_unbounded(const rlf_model *model)
{
    const rlf_bpe *bpe = &model->bpe;
    if (rlf_model_unknown(model) == RLF_NO_ID)
        return false;
    switch (model->kind) {
    case RLF_MODEL_BPE:
        return bpe->fuse_unk &&
               !(bpe->byte_fallback && has_bytes(bpe->byte_ids));
    case RLF_MODEL_UNIGRAM:
        return !(model->unigram.byte_fallback &&
                 has_bytes(model->unigram.byte_ids));
    case RLF_MODEL_WORDPIECE:
    case RLF_MODEL_WORDLEVEL:
        break;
    }
    return true;
}

size_t
rlf_model_longest(const rlf_model *model)
{
    size_t longest = 4; /* a character that is unknown */
    for (uint32_t i = 0; i < model->vocabulary.n_tokens; i++)
        if (model->vocabulary.tokens[i].p &&
            model->vocabulary.tokens[i].n > longest)
            longest = model->vocabulary.tokens[i].n;
    return is_unbounded(model) ? 0 : longest;
}
