/* A plan file (--plan) that was printed says which program and how many ranks
 * it is of (grammar/origin.h). Here that is compared with what it is taken for.
 */
#ifndef RLF_API_PLAN_ORIGIN_H
#define RLF_API_PLAN_ORIGIN_H

#include "engine/api/session.h"

/* Of a session with a plan. RLF_USER, at the plan's line, if that is of another
 * program and does not place all calls of this one. A warning goes to
 * session->program.diags if it places them all, and another one if ranks are
 * left without calls that the plan did not know of. Nothing, without a plan
 * file. */
rlf_status rlf_plan_origin_check(rlf_session *session, rlf_err *err);

#endif
