/* The search of a session: where the calls of its program run best on the
 * cluster that it is planned for. */
#ifndef RLF_API_SEARCH_H
#define RLF_API_SEARCH_H

#include "engine/api/session.h"
#include "engine/search/baseline.h"
#include "engine/search/fronts.h"

typedef struct rlf_session_found {
    rlf_fronts fronts;
    rlf_placing baseline[RLF_BASELINES];
    bool is_known;       /* what the session's own plan says is among what is
                            searched: */
    rlf_placing program; /* that */
    rlf_found found;
    rlf_plan *plan; /* of the best placement */
    double memory;  /* bytes of the rank with most, as that plan has them */
} rlf_session_found;

/* After rlf_session_plan of a session with a cluster; in its arena. What the
 * program says of placement does not change what is found. */
rlf_result rlf_session_search(rlf_session *session,
                              const rlf_search_options *options,
                              rlf_session_found *out);

#endif
