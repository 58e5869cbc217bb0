/* Rows of a generation at work that leave ranks before these go to work.
 *
 * A rank that has made its samples begins with what it reads of them, while
 * others still sample. These will read samples as well once they are done, and
 * would then wait for a rank that is at work for long. So the rank sends them
 * what it has before it begins: it waits for no receiver, and a rank that
 * samples takes at once what is there. */
#include "engine/graph/class.h"
#include "engine/order/control_state.h"

/* The ranks of the call that are free now, so that what they send comes at
 * once. */
static const word *
free_ranks(rlf_control *c, const ready *next)
{
    word *set = rlf_control_at_work(c);
    for (int k = 0; k < c->n_words; k++)
        set[k] = next->own[k] & ~set[k];
    return set;
}

static bool
any_of(const rlf_control *c, const word *a, const word *b)
{
    for (int k = 0; k < c->n_words; k++)
        if (a[k] & b[k])
            return true;
    return false;
}

/* Marks the rows of an input that some of the ranks have, and that nobody will
 * have who is not at work. Returns how many they are. */
static uint32_t
mark_leaving(const rlf_control *c, const track *t, const word *from,
             const word *busy, bool *leaves)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        const word *have = rlf_control_ranks_with(c, t, i);
        leaves[i] = any_of(c, have, from) && is_within(c, have, busy);
        n += leaves[i];
    }
    return n;
}

/* Is it a call on other ranks than those, of samples of the generation? */
static bool
reads_elsewhere(rlf_control *c, int instance, const word *own)
{
    const rlf_node *node = rlf_control_instance(c, instance)->node;
    const rlf_node_place *place = rlf_control_place(c, node);
    if (place->partition != RLF_PARTITION_ROWS ||
        !rlf_control_takes_time(node) ||
        !rlf_control_reads_sampling(c, instance) ||
        !rlf_control_knows_rows(c, instance))
        return false;
    for (int i = 0; i < place->layout.n_ranks; i++)
        if (has(own, place->layout.ranks[i]))
            return false;
    return true;
}

/* Sends the marked rows of an input to the replicas that they are assigned. */
static void
send(rlf_control *c, int of, int reader, const bool *leaves, uint32_t n)
{
    uint32_t *rows = RLF_NEW_ARRAY(c->arena, uint32_t, n);
    for (uint32_t i = 0, k = 0; k < n; i++)
        if (leaves[i])
            rows[k++] = i;
    rlf_control_bring_rows(c, of, reader, rows, n,
                           rlf_control_assign(c, reader, rows, n));
}

void
rlf_control_forward(rlf_control *c, const ready *next)
{
    int posted = next->decision.instance, id = c->sampling;
    if (id < 0 || !rlf_control_takes_time(rlf_control_instance(c, posted)->node))
        return;
    const word *from = free_ranks(c, next);
    word *busy = rlf_control_at_work(c);
    for (int k = 0; k < c->n_words; k++)
        busy[k] |= next->own[k];
    while ((id = rlf_order_behind(c->order, id)) >= 0) {
        if (id == posted || !reads_elsewhere(c, id, next->own))
            continue;
        const rlf_instance *in = rlf_control_instance(c, id);
        bool *leaves =
            RLF_NEW_ARRAY(c->arena, bool, rlf_control_track(c, id)->n_rows);
        for (int i = 0, of; (of = rlf_control_input(c, in, &i)) >= 0;) {
            const track *t = rlf_control_track(c, of);
            if (!lies_by_row(t) || !rlf_control_aligned(c, in->node, of))
                continue;
            uint32_t n = mark_leaving(c, t, from, busy, leaves);
            if (n)
                send(c, of, id, leaves, n);
        }
    }
}
