/* The table of all node and resource classes: what engine/api hands to the
 * grammar and to sched. Rows: node.def and resource.def. */
#ifndef RLF_NODES_TABLE_H
#define RLF_NODES_TABLE_H

#include "engine/graph/class.h"

extern const rlf_classes rlf_node_classes;

#endif
