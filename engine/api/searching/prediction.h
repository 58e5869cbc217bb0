/* The prediction of the search that placed a run: prediction.json in the
 * run's directory, with the plan, for a resume and for the report at the end.
 */
#ifndef RLF_API_SEARCHING_PREDICTION_H
#define RLF_API_SEARCHING_PREDICTION_H

#include "engine/api/searching/search.h"

typedef struct rlf_prediction {
    const char *place;   /* the plan as text */
    const char *cluster; /* the cluster that the plan was found for */
    bool guessed;        /* nobody has measured the rates of the cluster */
    bool simulated; /* the numbers below are a simulation's; else only the plan
                       is known, and a step by the estimate */
    /* Numbers of the plan, as in rlf_search_candidate. */
    double step, tokens, idle, memory;
    const double *calls; /* per node: seconds of a step that has it */
} rlf_prediction;

/* The prediction is in the session's arena. */
rlf_prediction *rlf_prediction_make(rlf_session *session,
                                    const rlf_session_found *found,
                                    const char *place);
/* Reads the prediction of the run's directory to session->planning.prediction,
 * and its plan to *text; NULL, if there is none, or if it is of another
 * program, for other devices or another number of ranks: then
 * session->warned.lines say so. */
rlf_status rlf_prediction_read(rlf_session *session, rlf_err *err,
                               const char **text);
/* prediction.json, if the session has one, with what was measured so far. */
rlf_status rlf_prediction_write(const rlf_session *session, rlf_err *err);
/* A table of what was predicted and what the run has taken so far; nothing,
 * where there is no prediction or no step was taken. */
void rlf_prediction_compare(const rlf_session *session, rlf_buf *out);

#endif
