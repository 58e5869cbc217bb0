/* The algorithms that the devices of a run compute by, where there is a choice.
 *
 * Bits depend on it: the log-probabilities that one rank samples with are those
 * that another trains on. So every rank tries what its device has, and all use
 * what is right on all of them. */
#include "engine/sched/rank.h"

#include "engine/base/log.h"
#include "engine/comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank tells the others which algorithms are right there, and then what it
 * computes by. */
typedef struct told {
    uint32_t algorithms;
    char text[140];
} told;

/* Ranks share a log, so each says who it is. */
static void
log_notes(const rlf_rank *rank, const rlf_buf *notes)
{
    const char *at = notes->p ? notes->p : "";
    while (*at) {
        int n = (int)strcspn(at, "\n");
        rlf_log_warn(rank->options->log, SCHED, "rank %d: %.*s", rank->rank, n,
                     at);
        at += n + (at[n] == '\n');
    }
}

/* Gathers what every rank tells, in order; a rank alone has its own. */
static rlf_status
tell(const rlf_rank *rank, const told *own, told *all, rlf_err *err)
{
    if (rank->comm)
        return rlf_group_all_gather(rlf_group_world(rank->comm), own,
                                    sizeof *own, all, err);
    all[0] = *own;
    return RLF_OK;
}

static int
n_ranks(const rlf_rank *rank)
{
    return rank->comm ? rank->plan->ranks : 1;
}

/* Returns what all ranks can use; the log says which rank's lack leaves some of
 * this rank's unused. */
static uint32_t
common(const rlf_rank *rank, const told *all, uint32_t own)
{
    uint32_t out = own;
    for (int i = 0; i < n_ranks(rank); i++) {
        if (own & ~all[i].algorithms && out == own)
            rlf_log_warn(rank->options->log, SCHED,
                         "rank %d: an algorithm of its GPU is not used, since "
                         "rank %d cannot use it",
                         rank->rank, i);
        out &= all[i].algorithms;
    }
    return out;
}

/* Writes one text for all ranks: rank 0's, and where later ranks have another.
 */
static void
join(const rlf_rank *rank, const told *all, rlf_buf *out)
{
    rlf_buf_puts(out, all[0].text);
    for (int i = 1; i < n_ranks(rank); i++)
        if (strcmp(all[i].text, all[i - 1].text) != 0)
            rlf_buf_printf(out, "; from rank %d on: %s", i, all[i].text);
}

static rlf_status
agree(rlf_rank *rank, const rlf_backend *backend, told *all, rlf_err *err)
{
    const rlf_run_options *o = rank->options;
    told own = {0};
    rlf_buf text = {0};
    rlf_status status =
        backend->prepare(rank->queue, o->real, &own.algorithms, &text, err);
    log_notes(rank, &text);
    rlf_buf_free(&text);
    RLF_TRY(status);
    RLF_TRY(tell(rank, &own, all, err));
    backend->choose(rank->queue, o->real, common(rank, all, own.algorithms),
                    &text);
    snprintf(own.text, sizeof own.text, "%s", text.p ? text.p : "");
    rlf_buf_free(&text);
    RLF_TRY(tell(rank, &own, all, err));
    join(rank, all, &rank->products);
    return RLF_OK;
}

rlf_status
rlf_rank_choose_algorithms(rlf_rank *rank, const rlf_backend *backend,
                           rlf_err *err)
{
    told *all = rlf_calloc((size_t)n_ranks(rank), sizeof *all);
    rlf_status status = agree(rank, backend, all, err);
    free(all);
    return status;
}
