/* The controller's calls. It works on lists alone (order), which are as long as
 * the rows, ranks and iterations of a step are many; here is where they may
 * fail for memory. */
#include "engine/sched/state.h"

typedef struct call {
    rlf_run *run;
    const rlf_rank_event *event;
    const rlf_rank_command *next;
    uint32_t step;
    int fresh;
} call;

static rlf_status
lead(void (*fn)(void *), call *c, rlf_err *err)
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
rlf_lead_begin(rlf_run *run, rlf_err *err, uint32_t *fresh)
{
    call c = {.run = run};
    RLF_TRY(lead(begin, &c, err));
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
rlf_lead_next(rlf_run *run, rlf_err *err, const rlf_rank_command **out)
{
    call c = {.run = run};
    RLF_TRY(lead(next, &c, err));
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
rlf_lead_tell(rlf_run *run, const rlf_rank_event *event, rlf_err *err)
{
    return lead(tell, &(call){.run = run, .event = event}, err);
}

static void
gather(void *p)
{
    call *c = p;
    rlf_control_gather(c->run->control);
}

rlf_status
rlf_lead_gather(rlf_run *run, rlf_err *err)
{
    return lead(gather, &(call){.run = run}, err);
}

static void
restore(void *p)
{
    call *c = p;
    rlf_control_restore(c->run->control, c->step);
}

rlf_status
rlf_lead_restore(rlf_run *run, uint32_t step, rlf_err *err)
{
    return lead(restore, &(call){.run = run, .step = step}, err);
}
