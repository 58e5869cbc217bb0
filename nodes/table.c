/* The table of classes, made of the rows in node.def and resource.def. */
#include "nodes/table.h"

#include "engine/base/vec.h"

#define NODE(name) extern const rlf_node_class rlf_node_##name;
#include "nodes/node.def"
#undef NODE
#define RESOURCE(kind, name) \
    extern const rlf_resource_class rlf_resource_##name;
#include "nodes/resource.def"
#undef RESOURCE

static const rlf_node_class *const nodes[] = {
#define NODE(name) &rlf_node_##name,
#include "nodes/node.def"
#undef NODE
};

static const rlf_resource_class *const resources[] = {
#define RESOURCE(kind, name) [RLF_RESOURCE_##kind] = &rlf_resource_##name,
#include "nodes/resource.def"
#undef RESOURCE
};
_Static_assert(RLF_COUNT(resources) == RLF_RESOURCE_KINDS,
               "every kind of resource has a class");

const rlf_classes rlf_node_classes = {
    .node = nodes,
    .n_nodes = RLF_COUNT(nodes),
    .resource = resources,
};
