/* Calls of classes, shared by call.c and hook.c. Private to grammar. */
#ifndef RLF_GRAMMAR_CALL_H
#define RLF_GRAMMAR_CALL_H

#include "grammar/passes.h"

/* An error if the class cannot run yet. */
void rlf_call_check_supported(rlf_sema *s, const rlf_node_class *class,
                              rlf_span span);
/* The first argument that is a set, -1: none is. */
int rlf_call_set_argument(const rlf_item *item);
/* Resources that arguments name are read by the call. */
void rlf_call_read_arguments(rlf_sema *s, rlf_item *item);

#endif
