/* The buffers that calls on one model share: passes that train, one that does
 * not, one that samples, and the key/value pages. Each is made when first asked
 * for (of a declared model: before the first step) as large as the model's caps
 * say, and kept. One call uses them at a time. */
#ifndef RLF_MODEL_BUFFERS_H
#define RLF_MODEL_BUFFERS_H

#include "engine/graph/resource.h"
#include "nodes/model/kv.h"
#include "nodes/model/pass.h"

/* The pass of a use; of an update the first. */
rlf_status rlf_buffers_pass(rlf_model *model, rlf_use use, rlf_err *err,
                            rlf_pass **out);
/* Makes pass `i` of the model->flights[chunk] passes that an update keeps for a
 * chunk. All use the scratch of the first pass of the first chunk. */
rlf_status rlf_buffers_flight(rlf_model *model, int chunk, int i, rlf_err *err,
                              rlf_pass **out);
/* Makes pass `i` of the model->owed[chunk] passes that an update which
 * recomputes keeps for weights: the layers' buffers (rlf_pass_borrow). */
rlf_status rlf_buffers_owed(rlf_model *model, int chunk, int i, rlf_err *err,
                            rlf_pass **out);
/* Make all passes of a use. */
rlf_status rlf_buffers_reserve(rlf_model *model, rlf_use use, rlf_err *err);
/* Pages for as many sequences of the longest length as are generated at once,
 * or RLF_CAP_KV_BYTES if that is less; more only if one sequence needs more, or
 * if the pool was given more. */
rlf_status rlf_buffers_pages(rlf_model *model, rlf_err *err, rlf_kv **out);
/* Returns those pages as a pool, before they are made. */
rlf_pool rlf_buffers_pool(rlf_model *model);
/* Device memory of what the steps of a generation send and give (generate.h).
 */
rlf_status rlf_buffers_arrays(rlf_model *model, rlf_err *err, void **out);
/* Recordings of its steps, that live as long as the buffers; NULL where the
 * device does not record. */
struct rlf_replays *rlf_buffers_replays(rlf_model *model);
void rlf_buffers_free(rlf_model *model);

/* Device bytes that the calls above take, for plans. */
size_t rlf_buffers_pass_bytes(const rlf_model *model, rlf_use use);
/* Host bytes of the copies of its index arrays. */
size_t rlf_buffers_pass_host_bytes(const rlf_model *model, rlf_use use);
size_t rlf_buffers_pages_bytes(const rlf_model *model);
size_t rlf_buffers_arrays_bytes(const rlf_model *model);

#endif
