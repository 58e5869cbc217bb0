/* Weights on their way, round by round: see transfers.h. */
#include "engine/timing/transfers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All sends of a round from one rank to another. */
typedef struct message {
    int from, to;
    double bytes, seconds;
} message;

/* A direction of a machine's link: when it has sent all so far; of the round at
 * hand, its bytes and when the first of them could go. */
typedef struct wire {
    double free, bytes, begin;
} wire;

/* A rank: when it comes to the round at hand; seconds of what it sends and
 * receives in it; when it is through. */
typedef struct port {
    double at, out, in, end;
} port;

typedef struct transfers {
    const rlf_speeds *speeds;
    const rlf_realloc_job *job;
    port *ports;  /* per rank */
    wire *leaves; /* per machine */
    wire *enters;
    message *messages; /* of a round */
    int n;
} transfers;

static int
by_ends(const void *a, const void *b)
{
    const message *x = a, *y = b;
    int d = (x->from > y->from) - (x->from < y->from);
    return d ? d : (x->to > y->to) - (x->to < y->to);
}

/* The sends of a round as messages. */
static void
join(transfers *t, const rlf_send *const *sends, int n)
{
    message *list = t->messages;
    t->n = 0;
    for (int i = 0; i < n; i++)
        list[i] = (message){
            .from = sends[i]->from,
            .to = sends[i]->to,
            .bytes = (double)(rlf_box_count(sends[i]->box) *
                              rlf_realloc_element(t->job, sends[i]->tensor))};
    qsort(list, (size_t)n, sizeof *list, by_ends);
    for (int i = 0; i < n; i++)
        if (t->n && by_ends(&list[t->n - 1], &list[i]) == 0)
            list[t->n - 1].bytes += list[i].bytes;
        else
            list[t->n++] = list[i];
}

static void
enter_wire(wire *w, double at, double bytes)
{
    w->begin = w->bytes > 0 ? fmin(w->begin, at) : at;
    w->bytes += bytes;
}

/* Returns the moment at which all of the round that leaves or enters a machine
 * is over. */
static double
end_of(const transfers *t, const wire *w, int rank)
{
    const rlf_cluster *c = t->speeds->cluster;
    return fmax(w->free, w->begin) + c->start +
           w->bytes / rlf_cluster_part_of(c, rank)->link;
}

static void
meet(transfers *t, message *m)
{
    const rlf_cluster *c = t->speeds->cluster;
    port *from = &t->ports[m->from], *to = &t->ports[m->to];
    int a = rlf_cluster_machine(c, m->from), b = rlf_cluster_machine(c, m->to);
    double both = fmax(from->at, to->at);
    rlf_seconds seconds;
    rlf_seconds_message(t->speeds, m->from, m->to, m->bytes, &seconds);
    m->seconds = seconds.total;
    from->out += m->seconds;
    to->in += m->seconds;
    from->end = fmax(from->end, both + m->seconds);
    to->end = fmax(to->end, both + m->seconds);
    if (a != b) {
        enter_wire(&t->leaves[a], both, m->bytes);
        enter_wire(&t->enters[b], both, m->bytes);
    }
}

/* A message between machines is there when all that shares their links is. */
static void
wait_for_links(transfers *t)
{
    const rlf_cluster *c = t->speeds->cluster;
    for (int i = 0; i < t->n; i++) {
        const message *m = &t->messages[i];
        int a = rlf_cluster_machine(c, m->from);
        int b = rlf_cluster_machine(c, m->to);
        if (a == b)
            continue;
        double end = fmax(end_of(t, &t->leaves[a], m->from),
                          end_of(t, &t->enters[b], m->to));
        t->ports[m->from].end = fmax(t->ports[m->from].end, end);
        t->ports[m->to].end = fmax(t->ports[m->to].end, end);
    }
}

static void
leave(transfers *t)
{
    const rlf_cluster *c = t->speeds->cluster;
    for (int i = 0; i < t->n; i++) {
        const int ends[] = {t->messages[i].from, t->messages[i].to};
        for (int k = 0; k < 2; k++) {
            port *p = &t->ports[ends[k]];
            int machine = rlf_cluster_machine(c, ends[k]);
            wire *w = k ? &t->enters[machine] : &t->leaves[machine];
            if (w->bytes > 0)
                *w = (wire){.free = end_of(t, w, ends[k]) - c->start};
            if (p->out > 0 || p->in > 0)
                *p = (port){.at = fmax(p->end, p->at + fmax(p->out, p->in))};
        }
    }
}

/* Sends in the order of their rounds: those of round k are from first[k] on. */
static const rlf_send **
sort_rounds(const rlf_realloc_plan *plan, int *first, rlf_arena *scratch)
{
    const rlf_send **out =
        RLF_NEW_ARRAY(scratch, const rlf_send *, plan->n_sends + 1);
    int *at = RLF_NEW_ARRAY(scratch, int, plan->rounds + 1);
    for (int i = 0; i < plan->n_sends; i++)
        first[plan->sends[i].round + 1]++;
    for (int k = 0; k < plan->rounds; k++)
        first[k + 1] += first[k];
    memcpy(at, first, sizeof *at * (size_t)plan->rounds);
    for (int i = 0; i < plan->n_sends; i++)
        out[at[plan->sends[i].round]++] = &plan->sends[i];
    return out;
}

double
rlf_transfers_seconds(const rlf_speeds *speeds, const rlf_realloc_job *job,
                      const rlf_realloc_plan *plan, int ranks,
                      rlf_arena *scratch, double *ends)
{
    int machines = speeds->cluster->machines;
    int *first = RLF_NEW_ARRAY(scratch, int, plan->rounds + 2);
    const rlf_send **sends = sort_rounds(plan, first, scratch);
    transfers t = {.speeds = speeds,
                   .job = job,
                   .ports = RLF_NEW_ARRAY(scratch, port, ranks),
                   .leaves = RLF_NEW_ARRAY(scratch, wire, machines),
                   .enters = RLF_NEW_ARRAY(scratch, wire, machines),
                   .messages =
                       RLF_NEW_ARRAY(scratch, message, plan->n_sends + 1)};
    double last = 0;
    for (int k = 0; k < plan->rounds; k++) {
        join(&t, sends + first[k], first[k + 1] - first[k]);
        for (int i = 0; i < t.n; i++)
            meet(&t, &t.messages[i]);
        wait_for_links(&t);
        leave(&t);
    }
    for (int r = 0; r < ranks; r++) {
        last = fmax(last, t.ports[r].at);
        if (ends)
            ends[r] = t.ports[r].at;
    }
    return last;
}
