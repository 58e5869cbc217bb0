/* The trial of attention that a rank makes before a run: does a token have the
 * same bits in training, in pieces of a prefill and in decoding?
 *
 * attention_mma.cu gives every row the same instructions in the same order. It
 * also needs that a tensor core makes a row of its result from that row of its
 * operand alone, and that products of 0 add nothing: no document promises
 * either. */
#include "kernels/cuda/attention_mma.h"

#include <stdlib.h>
#include <string.h>

extern "C" {
#include "engine/base/arena.h"
#include "kernels/cuda/algorithms.h"
}

/* Keys of two splits. */
static constexpr int HEADS = 4, KV_HEADS = 2, TOKENS = 530, PAGE = 64;
static constexpr int PAGES = (TOKENS + PAGE - 1) / PAGE;

/* The last tokens are computed again: so many of them, as sequences of so many
 * each. */
static constexpr struct {
    int tokens, each;
} again[] = {{3, 1}, {9, 9}, {45, 45}};
static constexpr int TIMES = sizeof again / sizeof *again;
static constexpr int MOST_SEQS = 3;

/* In memory of the device, and the same on the host; of width D. */
template <int D> struct attention_probe {
    static constexpr int Q = HEADS * D, KV = KV_HEADS * D;
    uint16_t q[TOKENS][Q], k[TOKENS][KV], v[TOKENS][KV];
    uint16_t pages[PAGES][KV_HEADS][2][PAGE][D];
    int32_t table[MOST_SEQS][PAGES];
    alignas(16) uint16_t all[TOKENS][Q];
    uint16_t some[TIMES][TOKENS][Q];
};

template <int D>
static void
make_numbers(attention_probe<D> *p)
{
    uint32_t r = 2463534242u;
    uint16_t *to = &p->q[0][0];
    for (size_t i = 0; i < offsetof(attention_probe<D>, pages) / 2; i++) {
        r ^= r << 13, r ^= r >> 17, r ^= r << 5;
        /* of either sign, from 1/16 to 2 */
        to[i] = (uint16_t)((r & 0x807f) + ((123 + (r >> 20) % 5) << 7));
    }
    for (int t = 0; t < TOKENS; t++)
        for (int h = 0; h < KV_HEADS; h++) {
            auto *page = p->pages[t / PAGE][h];
            memcpy(page[0][t % PAGE], p->k[t] + h * D, sizeof page[0][0]);
            memcpy(page[1][t % PAGE], p->v[t] + h * D, sizeof page[1][0]);
        }
    for (int s = 0; s < MOST_SEQS; s++)
        for (int i = 0; i < PAGES; i++)
            p->table[s][i] = i;
}

/* Computes the last tokens of d again, as again[i] has it. */
template <int D>
static rlf_status
compute_again(rlf_queue *queue, attention_probe<D> *d, int i, rlf_err *err)
{
    int32_t offsets[MOST_SEQS + 1] = {0}, starts[MOST_SEQS];
    int first = TOKENS - again[i].tokens, n_seqs = 0;
    for (int at = 0; at < again[i].tokens; at += again[i].each) {
        starts[n_seqs] = first + at;
        offsets[++n_seqs] = at + again[i].each;
    }
    const rlf_attention_paged_args args = {
        .n_seqs = n_seqs,
        .offsets = offsets,
        .starts = starts,
        .pages = d->table[0],
        .ld_pages = PAGES,
        .heads = HEADS,
        .kv_heads = KV_HEADS,
        .d = D,
        .scale = 0.125f,
        .q = (const rlf_real *)d->q[first],
        .kv = (const rlf_real *)d->pages,
        .page_size = PAGE,
        .o = (rlf_real *)d->some[i][first]};
    return CUDA(mma_attention_paged)(queue, &args, err);
}

template <int D>
static rlf_status
compute(rlf_queue *queue, attention_probe<D> *d, rlf_err *err)
{
    static const int32_t offsets[] = {0, TOKENS};
    const rlf_attention_args args = {.n_seqs = 1,
                                     .offsets = offsets,
                                     .heads = HEADS,
                                     .kv_heads = KV_HEADS,
                                     .d = D,
                                     .scale = 0.125f,
                                     .q = (const rlf_real *)d->q,
                                     .k = (const rlf_real *)d->k,
                                     .v = (const rlf_real *)d->v,
                                     .o = (rlf_real *)d->all};
    RLF_TRY(CUDA(mma_attention)(queue, &args, err));
    for (int i = 0; i < TIMES; i++)
        RLF_TRY(compute_again(queue, d, i, err));
    return RLF_OK;
}

template <int D>
static bool
has_own_bits(const attention_probe<D> *p)
{
    bool same = true;
    for (int i = 0; i < TIMES; i++) {
        int first = TOKENS - again[i].tokens;
        same = same && memcmp(p->all[first], p->some[i][first],
                              sizeof p->all[0] * again[i].tokens) == 0;
    }
    return same;
}

/* RLFLOW_EMULATED_ATTENTION=wrong: one number of the emulation is another. */
template <int D>
static void
disturb(attention_probe<D> *p)
{
    if (EMULATED && getenv("RLFLOW_EMULATED_ATTENTION"))
        p->some[1][TOKENS - 2][3] ^= 1;
}

template <int D>
static rlf_status
send(rlf_queue *queue, attention_probe<D> *p, attention_probe<D> *d,
     rlf_err *err)
{
    RLF_TRY(rlf_queue_copy(queue, d, p, sizeof *p, RLF_COPY_TO_DEVICE, err));
    RLF_TRY(compute(queue, d, err));
    return rlf_queue_copy(queue, p, d, sizeof *p, RLF_COPY_TO_HOST, err);
}

template <int D>
static rlf_status
try_width(rlf_queue *queue, rlf_err *err)
{
    void *d;
    size_t bytes = sizeof(attention_probe<D>);
    RLF_TRY(rlf_device_alloc(queue->device, bytes, &d, err));
    auto *p = (attention_probe<D> *)rlf_calloc(1, bytes);
    make_numbers(p);
    rlf_status status = send(queue, p, (attention_probe<D> *)d, err);
    rlf_err after = RLF_ERR_NONE; /* what was started ends, also after one */
    rlf_status end = rlf_queue_sync(queue, status < 0 ? &after : err);
    status = status < 0 ? status : end;
    disturb(p);
    if (status >= 0 && !has_own_bits(p)) {
        status = rlf_fail(err, RLF_ENV,
                          "attention in bf16 gives a token other bits in "
                          "another batch on this GPU and driver, with heads of "
                          "%d elements",
                          D);
        rlf_err_hint(err, "compute in f32 (--dtype f32): what is sampled would "
                          "not be what is trained on");
    }
    free(p);
    rlf_device_release(queue->device, d, bytes);
    return status;
}

rlf_status
CUDA(try_attention)(rlf_queue *queue, rlf_err *err)
{
    RLF_TRY(try_width<64>(queue, err));
    return try_width<128>(queue, err);
}
