/* What a rank is told and what it reports, and both as bytes.
 *
 * A task is a command of the controller (engine/order/control.h) as one rank
 * sees it: its own share, its own moves, and what the instance is, so that a
 * rank needs nothing but its tasks to know what to do. With one rank tasks are
 * made and carried out by the same thread; else they are written to bytes,
 * which travel as mail in pieces of a fixed size. */
#ifndef RLF_SCHED_TASK_H
#define RLF_SCHED_TASK_H

#include "engine/order/control.h"
#include "engine/sched/metrics.h"
#include "engine/sched/run.h"

typedef enum rlf_task_kind {
    RLF_TASK_BEGIN,   /* step `step` */
    RLF_TASK_OPEN,    /* make the instance's outputs and report its rows */
    RLF_TASK_RUN,     /* the same unless made, and compute the share */
    RLF_TASK_EDGE,    /* carry out the moves */
    RLF_TASK_MOVE,    /* samples in the making go to another replica */
    RLF_TASK_WEIGHTS, /* weights of `model` go from its hold `from` to `hold` */
    RLF_TASK_END,     /* report when all before is done */
    RLF_TASK_SAVE,    /* resources to `directory`, or back */
    RLF_TASK_RESTORE, /* of the step `step` */
    RLF_TASK_STOP,    /* close the rank */
} rlf_task_kind;

typedef struct rlf_task {
    rlf_task_kind kind;
    uint64_t n;
    uint32_t step;
    uint32_t fresh; /* BEGIN: so many steps begin, the last of those that are
                       under way */
    const char *directory;
    /* The instance: node, loop counters, who makes its inputs. */
    int instance, node;
    uint64_t iteration;
    bool loop;
    uint32_t turn; /* of a loop */
    const struct rlf_origin *input;
    int n_input;
    /* RUN */
    bool works; /* has a share */
    bool reports;
    bool joint;           /* with the next task, a RUN */
    const uint32_t *rows; /* NULL: all */
    uint32_t n_rows;
    const rlf_move *moves; /* EDGE, MOVE: those from or to this rank */
    int n_moves;
    rlf_price price;       /* MOVE */
    int model, from, hold; /* WEIGHTS */
} rlf_task;

/* The command as `rank` sees it; arrays are the command's, or in `arena`. False
 * if it is not for this rank. */
bool rlf_task_of(const rlf_control *control, const rlf_graph *graph,
                 const rlf_rank_command *command, int rank, rlf_arena *arena,
                 rlf_task *out);
/* As bytes, and back (arrays in `arena`). RLF_BUG if they are torn. */
/* About how many bytes it will be: what grows with rows is all in it. */
size_t rlf_task_bytes(const rlf_task *task);
void rlf_task_write(const rlf_task *task, rlf_buf *out);
rlf_status rlf_task_read(const char *bytes, size_t n, rlf_arena *arena,
                         rlf_err *err, rlf_task *out);

/* A report besides those of the controller. */
typedef struct rlf_notice {
    enum {
        RLF_NOTICE_REPORT, /* `report` */
        RLF_NOTICE_READY, /* the rank is open; `plan` is the digest of its plan;
                             where the run is dry, `needs` what it takes */
        RLF_NOTICE_SAVED, /* SAVE, RESTORE are done */
        RLF_NOTICE_TAKEN, /* `count` pieces of mail were taken */
        RLF_NOTICE_KINDS
    } kind;
    int rank;
    rlf_rank_event event;
    rlf_digest plan;
    const rlf_needs *needs; /* or NULL */
    uint32_t count;
    bool at_end; /* the report is that of an END; with that, and with SAVED: */
    /* Reported and generated here since it was told, per step under way
     * (rlf_rank.steps): at an END of the step that ends, else of all. */
    const rlf_metrics *metrics;
    const uint64_t *tokens;
    uint32_t n_steps;
    double seconds[RLF_TIMES]; /* at an END: since the step began here */
    const double *calls;       /* likewise of each node; n_calls */
    uint32_t n_calls;
} rlf_notice;

size_t rlf_notice_bytes(const rlf_notice *notice);
void rlf_notice_write(const rlf_notice *notice, rlf_buf *out);
rlf_status rlf_notice_read(const char *bytes, size_t n, rlf_arena *arena,
                           rlf_err *err, rlf_notice *out);

#endif
