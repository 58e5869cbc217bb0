/* Decides how long the rows of a session's program are taken to be: what the
 * user says, of prompts and given responses what the data has; else as long as
 * can be. */
#ifndef RLF_API_SIMULATING_WORKLOAD_H
#define RLF_API_SIMULATING_WORKLOAD_H

#include "engine/api/session.h"
#include "engine/mesh/outline.h"
#include "engine/timing/workload.h"

/* Rows of a data set that are looked at, at most. */
enum { RLF_WORKLOAD_ROWS = 4096 };

typedef struct rlf_session_workload {
    rlf_workload workload; /* points to what follows */
    rlf_length_distribution prompts, responses;
    const rlf_length_distribution **data; /* per resource; NULL: as long as can
                                             be */
    uint64_t *rows;                       /* per resource: of that data, */
    uint32_t *seen; /* per resource: rows of these whose prompts were written;
                       0: none */
    int *model;     /* per resource: the model whose tokenizer wrote them */
    /* Per set whose responses are texts of a data set: that, and how many of
     * its rows were written; 0: none. */
    int *texts;
    uint32_t *written;
    /* The most that there can be, by the program and its models. */
    rlf_sizes sizes;
} rlf_session_workload;

/* In the session's arena; `out` has to stay where it is. RLF_USAGE for a text
 * of --lengths or --prompts that is none, or lengths that no row can have;
 * RLF_USER for a file of lengths that is wrong. */
rlf_status rlf_session_workload_make(rlf_session *session,
                                     const rlf_outline *outline, rlf_err *err,
                                     rlf_session_workload *out);
/* A line for each set of prompts and each of responses: how long they are taken
 * to be, and why; with `prefix` before each. */
void rlf_session_workload_print(const rlf_session *session,
                                const rlf_session_workload *workload,
                                const char *prefix, rlf_buf *out);
/* Lines that say what a step has that not each step of a run has: blocks of
 * `every` and `if`, rounds of a collect. Nothing if it has none. `mean`: the
 * step is one on average, where numbers decide. */
void rlf_session_workload_blocks(const rlf_session *session, bool mean,
                                 const char *prefix, rlf_buf *out);
/* A line for each data set that a step draws a number of rows from: how long an
 * epoch is with steps of so many seconds. */
void rlf_session_workload_epochs(const rlf_session *session,
                                 const rlf_session_workload *workload,
                                 double step, const char *prefix, rlf_buf *out);
/* Warns of lengths that nobody knows, a line for each option that would say
 * them. */
void rlf_session_workload_warn(const rlf_session *session,
                               const rlf_session_workload *workload,
                               rlf_buf *out);

#endif
