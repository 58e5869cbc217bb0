/* Defaults of caps: see caps.h. */
#include "engine/graph/caps.h"

#include <stddef.h>

rlf_caps
rlf_caps_resolve(const rlf_caps *given, uint32_t context)
{
    rlf_caps caps = {0};
    if (given)
        caps = *given;
    if (!caps.longest || caps.longest > context)
        caps.longest = context;
    if (caps.reach < caps.longest)
        caps.reach = caps.longest;
    for (int use = 0; use < RLF_N_USES; use++) {
        uint64_t all = (uint64_t)caps.rows[use] * caps.longest;
        if (caps.cut[use] && use != RLF_USE_GENERATE)
            all = (all + caps.cut[use] - 1) / caps.cut[use];
        uint32_t *tokens = &caps.tokens[use];
        if (!*tokens) {
            *tokens =
                all && all < RLF_CAP_TOKENS ? (uint32_t)all : RLF_CAP_TOKENS;
            if (use != RLF_USE_GENERATE && *tokens < caps.longest)
                *tokens = caps.longest;
        }
        if (use == RLF_USE_GENERATE &&
            (!caps.rows[use] || caps.rows[use] > RLF_CAP_ACTIVE))
            caps.rows[use] = RLF_CAP_ACTIVE;
    }
    return caps;
}
