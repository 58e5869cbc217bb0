/* Defaults of caps: see caps.h. */
#include "engine/graph/caps.h"

#include <math.h>

uint32_t
rlf_caps_least(const rlf_caps *caps, rlf_use use)
{
    uint64_t own = caps->own[use], longest = caps->longest;
    if (caps->together[use] < 2)
        return caps->longest;
    own = own && own < longest ? own : longest;
    uint64_t all = longest + (caps->together[use] - 1) * own, row = longest;
    if (caps->sets[use] > 1)
        row += (caps->sets[use] - 1) * own;
    all = all < RLF_SHARED_TOKENS ? all : RLF_SHARED_TOKENS;
    all = all > row ? all : row;
    return all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
}

uint32_t
rlf_caps_least_of_all(const rlf_caps *caps)
{
    uint32_t read = rlf_caps_least(caps, RLF_USE_READ),
             update = rlf_caps_least(caps, RLF_USE_UPDATE);
    return read > update ? read : update;
}

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
    for (rlf_use use = 0; use < RLF_N_USES; use++) {
        uint64_t all = (uint64_t)caps.rows[use] * caps.longest;
        if (caps.cut[use] && use != RLF_USE_GENERATE)
            all = (all + caps.cut[use] - 1) / caps.cut[use];
        uint32_t *tokens = &caps.tokens[use];
        if (!*tokens) {
            *tokens =
                all && all < RLF_CAP_TOKENS ? (uint32_t)all : RLF_CAP_TOKENS;
            if (use != RLF_USE_GENERATE && *tokens < rlf_caps_least(&caps, use))
                *tokens = rlf_caps_least(&caps, use);
        }
        if (use == RLF_USE_GENERATE &&
            (!caps.rows[use] || caps.rows[use] > RLF_CAP_ACTIVE))
            caps.rows[use] = RLF_CAP_ACTIVE;
    }
    return caps;
}

/* All but the first have the prompt's last token of their own, as what they
 * begin with is read there. */
double
rlf_caps_shared(double prompt, double response, double each, int sets)
{
    double left = RLF_SHARED_TOKENS - prompt - response;
    double more = floor(left / (response + 1));
    double rows = floor((1 + more) / sets); /* that fit */
    return fmin(fmax(1, rows) * sets, fmax(1, each));
}
