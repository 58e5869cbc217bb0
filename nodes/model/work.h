/* The buffers that calls on one model share: a pass that trains, one that does
 * not, one that samples, and the key/value pages. Each is made when first asked
 * for (of a declared model: when it is opened) and kept; asked for more, it is
 * made anew, larger. One call uses them at
 * a time.
 */
#ifndef RLF_MODEL_WORK_H
#define RLF_MODEL_WORK_H

#include "nodes/model/kv.h"
#include "nodes/model/pass.h"

enum {
    RLF_WORK_TOKENS = 2048, /* of a micro-batch, if no sequence is longer */
    RLF_WORK_ACTIVE = 256,  /* sequences generated at once */
};

/* Of pages, if one sequence does not need more. */
#define RLF_WORK_KV_BYTES ((size_t)512 << 20)

/* A pass for sequences of up to `longest` tokens. */
rlf_status rlf_work_pass(rlf_model *model, bool train, int longest,
                         rlf_err *err, rlf_pass **out);
/* A pass for generation, which takes sequences of any length piece by piece: it
 * is never made anew. */
rlf_status rlf_work_sampler(rlf_model *model, rlf_err *err, rlf_pass **out);
/* Pages for RLF_WORK_ACTIVE sequences as long as the model's context, or
 * RLF_WORK_KV_BYTES if that is less; more only if one sequence of `longest`
 * tokens needs more. */
rlf_status rlf_work_pages(rlf_model *model, int longest, rlf_err *err,
                          rlf_kv **out);
void rlf_work_free(rlf_work *work);

/* Device bytes that the calls above take, for plans. */
size_t rlf_work_pass_bytes(const rlf_table *table, const rlf_kernels *kernels,
                           bool train, int longest);
size_t rlf_work_kv_bytes(const rlf_table *table, int longest);

#endif
