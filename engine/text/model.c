/* The model of a tokenizer file: see model.h. */
#include "engine/text/model.h"

#include <string.h>

/* Words that were encoded of late: short ones, a place for each hash. */
enum { KNOWN = 1 << 13, KNOWN_BYTES = 22, KNOWN_IDS = 10 };
struct rlf_known_word {
    uint8_t n, count; /* bytes, 0: none; and ids */
    char text[KNOWN_BYTES];
    uint32_t ids[KNOWN_IDS];
};

void
rlf_word_model_work_free(rlf_word_model_work *work)
{
    free(work->known);
    work->known = NULL;
    rlf_bpe_work_free(&work->bpe);
    rlf_unigram_work_free(&work->unigram);
    rlf_buf_free(&work->spelled);
}

static rlf_status
encode_new(const rlf_word_model *model, rlf_word_model_work *work,
           const char *p, size_t n, rlf_err *err, rlf_ids *out)
{
    switch (model->kind) {
    case RLF_WORD_MODEL_UNIGRAM:
        return rlf_unigram_encode(&model->unigram, &work->unigram, p, n, err,
                                  out);
    case RLF_WORD_MODEL_WORDPIECE:
    case RLF_WORD_MODEL_WORDLEVEL:
        return rlf_wordpiece_encode(&model->wordpiece, &work->spelled, p, n,
                                    err, out);
    case RLF_WORD_MODEL_BPE:
        break;
    }
    return rlf_bpe_encode(&model->bpe, &work->bpe, p, n, err, out);
}

static size_t
place_of(const char *p, size_t n)
{
    uint64_t a = 0, b = 0, c = 0;
    memcpy(&a, p, n < 8 ? n : 8);
    if (n > 8)
        memcpy(&b, p + 8, n < 16 ? n - 8 : 8);
    if (n > 16)
        memcpy(&c, p + 16, n - 16);
    a = (a ^ n) * UINT64_C(0x9e3779b97f4a7c15);
    a = ((a ^ a >> 32) + b) * UINT64_C(0xc2b2ae3d27d4eb4f);
    a = ((a ^ a >> 32) + c) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(a >> 40) & (KNOWN - 1);
}

/* A word, or a part of one that is encoded as if it were one. */
static rlf_status
encode_part(const rlf_word_model *model, rlf_word_model_work *work,
            const char *p, size_t n, rlf_err *err, rlf_ids *out)
{
    if (n > KNOWN_BYTES || !n)
        return encode_new(model, work, p, n, err, out);
    if (!work->known) /* without memory for them all goes on */
        work->known = rlf_try_calloc(KNOWN, sizeof *work->known);
    if (!work->known)
        return encode_new(model, work, p, n, err, out);
    struct rlf_known_word *known = &work->known[place_of(p, n)];
    if (known->n == n && memcmp(known->text, p, n) == 0) {
        RLF_TRY_ROOM(out, KNOWN_IDS, "the tokens of a text");
        memcpy(out->data + out->count, known->ids,
               known->count * sizeof *known->ids);
        out->count += known->count;
        return RLF_OK;
    }
    size_t first = out->count;
    RLF_TRY(encode_new(model, work, p, n, err, out));
    size_t count = out->count - first;
    if (count > KNOWN_IDS)
        return RLF_OK;
    known->n = (uint8_t)n;
    known->count = (uint8_t)count;
    memcpy(known->text, p, n);
    if (count)
        memcpy(known->ids, out->data + first, count * sizeof *known->ids);
    return RLF_OK;
}

rlf_status
rlf_word_model_encode(const rlf_word_model *model, rlf_word_model_work *work,
                      const char *p, size_t n, rlf_err *err, rlf_ids *out)
{
    while (model->kind == RLF_WORD_MODEL_BPE && n > KNOWN_BYTES) {
        size_t k = rlf_bpe_cut(&model->bpe, p, n);
        if (k == n)
            break;
        RLF_TRY(encode_part(model, work, p, k, err, out));
        p += k;
        n -= k;
    }
    return encode_part(model, work, p, n, err, out);
}

uint32_t
rlf_word_model_unknown(const rlf_word_model *model)
{
    return model->kind == RLF_WORD_MODEL_BPE       ? model->bpe.unk
           : model->kind == RLF_WORD_MODEL_UNIGRAM ? model->unigram.unk
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
is_unbounded(const rlf_word_model *model)
{
    const rlf_bpe *bpe = &model->bpe;
    if (rlf_word_model_unknown(model) == RLF_NO_ID)
        return false;
    switch (model->kind) {
    case RLF_WORD_MODEL_BPE:
        return bpe->fuse_unk &&
               !(bpe->byte_fallback && has_bytes(bpe->byte_ids));
    case RLF_WORD_MODEL_UNIGRAM:
        return !(model->unigram.byte_fallback &&
                 has_bytes(model->unigram.byte_ids));
    case RLF_WORD_MODEL_WORDPIECE:
    case RLF_WORD_MODEL_WORDLEVEL:
        break;
    }
    return true;
}

size_t
rlf_word_model_longest(const rlf_word_model *model)
{
    size_t longest = 4; /* a character that is unknown */
    for (uint32_t i = 0; i < model->vocabulary.n_tokens; i++)
        if (model->vocabulary.tokens[i].p &&
            model->vocabulary.tokens[i].n > longest)
            longest = model->vocabulary.tokens[i].n;
    return is_unbounded(model) ? 0 : longest;
}
