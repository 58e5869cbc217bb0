/* The calls of a pass (compile.h), chunk by chunk, and what goes from stage to
 * stage. */
#include "nodes/model/transformer.h"

#include "nodes/model/gradient.h"
#include "nodes/model/parallel.h"

rlf_status
rlf_transformer_forward_chunk(const rlf_model *model, rlf_pass *p, int chunk,
                              rlf_err *err)
{
    RLF_ASSERT(model->table->count == p->table->count);
    return rlf_calls_run(p->paged ? &p->code->paged[chunk]
                                  : &p->code->forward[chunk],
                         model, p, err);
}

rlf_status
rlf_transformer_settle(rlf_pass *p, rlf_err *err)
{
    return p->sending ? rlf_device_wait(&p->sending, err) : RLF_OK;
}

rlf_status
rlf_transformer_receive(const rlf_model *model, rlf_pass *p, int chunk,
                        rlf_err *err)
{
    const rlf_table *t = model->table;
    if (!model->stages || rlf_table_begins(t, chunk))
        return RLF_OK;
    return rlf_parallel_receive(model, rlf_table_neighbour(t, chunk, -1),
                                rlf_pass_input(p, chunk),
                                p->m * t->config.hidden, err);
}

rlf_status
rlf_transformer_hand_on(const rlf_model *model, rlf_pass *p, int chunk,
                        rlf_err *err)
{
    const rlf_table *t = model->table;
    int64_t n = p->m * t->config.hidden;
    if (!model->stages || rlf_table_ends(t, chunk))
        return RLF_OK;
    RLF_ASSERT(p->outbox);
    RLF_TRY(rlf_transformer_settle(p, err));
    RLF_TRY(rlf_queue_copy(p->queue, p->outbox, rlf_pass_output(p, chunk),
                           (size_t)n * rlf_real_bytes(p->kernels),
                           RLF_COPY_ON_DEVICE, err));
    return rlf_parallel_start(model, rlf_table_neighbour(t, chunk, 1),
                              p->outbox, n, err, &p->sending);
}

rlf_status
rlf_transformer_forward_part(const rlf_model *model, rlf_pass *p, int chunk,
                             rlf_err *err)
{
    RLF_TRY(rlf_transformer_receive(model, p, chunk, err));
    RLF_TRY(rlf_transformer_forward_chunk(model, p, chunk, err));
    return rlf_transformer_hand_on(model, p, chunk, err);
}

rlf_status
rlf_transformer_forward(const rlf_model *model, rlf_pass *p, rlf_err *err)
{
    for (int i = 0; i < model->table->cut.chunks; i++)
        RLF_TRY(rlf_transformer_forward_part(model, p, i, err));
    return RLF_OK;
}

rlf_status
rlf_transformer_backward_chunk(rlf_model *model, rlf_pass *p, int chunk,
                               rlf_err *err)
{
    RLF_ASSERT(model->trained && p->options.train && !p->paged &&
               p->options.chunk == chunk);
    /* then others have used what layers share in between */
    bool several = model->table->cut.stages > 1 || model->flights[chunk] > 1 ||
                   p->options.split;
    rlf_gradient_select(model, chunk, RLF_GRADIENT_REST);
    if (several)
        RLF_TRY(rlf_calls_run(&p->code->again, model, p, err));
    return rlf_calls_run(&p->code->backward, model, p, err);
}

rlf_status
rlf_transformer_weights_chunk(rlf_model *model, rlf_pass *p, int chunk,
                              rlf_err *err)
{
    RLF_ASSERT(p->options.split && p->options.chunk == chunk);
    rlf_gradient_select(model, chunk, RLF_GRADIENT_MATRICES);
    return rlf_calls_run(&p->code->weights, model, p, err);
}
