/* Four classes of nodes and one of resources, with roles that no class of
 * nodes/ has (roles.c). */
#ifndef TESTS_UNIT_ROLES_H
#define TESTS_UNIT_ROLES_H

#include "engine/graph/class.h"

#include <stdatomic.h>

/* roll.digits(): how many digits each sample's text has. A method of sets whose
 * rows are assigned to the ranks as soon as they are there, as a hook's are. */
extern const rlf_node_class role_digits;
/* Samples that it has looked at so far, on all ranks. */
extern _Atomic uint64_t role_looked;
/* actor.shrink(0.5): all weights of a model times a number, which it gives. A
 * method that writes its model, on all its ranks together, as `:=` does. */
extern const rlf_node_class role_shrink;
/* last(x, 2): x; when it is 2 or more, this step is the run's last. A function
 * that decides the control flow, as `break` does. */
extern const rlf_node_class role_last;
/* echo(batch.answer): the class that is called respond, by another name, as it
 * is found in a table. */
rlf_node_class role_echo(const rlf_classes *classes);
/* Hooks of which checkpoints have something: how often role_looked was raised
 * before, in a file of the hook's. */
rlf_resource_class role_hook(const rlf_classes *classes);
/* The number that a hook of that class read when it was restored. */
extern _Atomic uint64_t role_restored;

#endif
