/* Calls of the controller (engine/order) that may fail for memory: it works on
 * lists alone, which are as long as the rows, ranks and iterations of a step
 * are many. */
#include "engine/sched/state.h"

typedef struct call {
    rlf_run *run;
    const rlf_rank_event *event;
    const rlf_rank_command *next;
    uint32_t step;
    int fresh;
} call;

static rlf_status
guarded(void (*fn)(void *), call *c, rlf_err *err)
{
    return rlf_memory_guard(fn, c, "the controller's lists", err);
}

static void
begin(void *p)
{
    call *c = p;
    c->fresh = rlf_control_begin(c->run->control);
}

rlf_status
rlf_controller_begin(rlf_run *run, rlf_err *err, uint32_t *fresh)
{
    call c = {.run = run};
    RLF_TRY(guarded(begin, &c, err));
    *fresh = (uint32_t)c.fresh;
    return RLF_OK;
}

static void
next(void *p)
{
    call *c = p;
    c->next = rlf_control_next(c->run->control);
}

rlf_status
rlf_controller_next(rlf_run *run, rlf_err *err, const rlf_rank_command **out)
{
    call c = {.run = run};
    RLF_TRY(guarded(next, &c, err));
    *out = c.next;
    return RLF_OK;
}

static void
tell(void *p)
{
    call *c = p;
    rlf_control_tell(c->run->control, c->event);
}

rlf_status
rlf_controller_tell(rlf_run *run, const rlf_rank_event *event, rlf_err *err)
{
    return guarded(tell, &(call){.run = run, .event = event}, err);
}

static void
gather(void *p)
{
    call *c = p;
    rlf_control_gather(c->run->control);
}

rlf_status
rlf_controller_gather(rlf_run *run, rlf_err *err)
{
    return guarded(gather, &(call){.run = run}, err);
}

static void
restore(void *p)
{
    call *c = p;
    rlf_control_restore(c->run->control, c->step);
}

rlf_status
rlf_controller_restore(rlf_run *run, uint32_t step, rlf_err *err)
{
    return guarded(restore, &(call){.run = run, .step = step}, err);
}
