/* Sessions that make steps of a run again, to look at one sample. */
#ifndef RLF_API_RETRACING_RETRACING_H
#define RLF_API_RETRACING_RETRACING_H

#include "engine/api/session.h"
#include "engine/base/str.h"

#include <jansson.h>

/* A trace (rlf_session_sample_trace) as a text in lines. */
void rlf_retraced_print(const json_t *trace, rlf_buf *out);

#endif
