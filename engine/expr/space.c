/* Spaces: following rows up the graph of domains. See space.h. */
#include "engine/expr/space.h"

enum { DEEPEST = 64 }; /* direct edges from a set to one it came from */

static const rlf_space_up *
up_to(const rlf_domains *domains, const rlf_space *space, int domain)
{
    const rlf_domain *d = rlf_domains_get(domains, space->domain);
    for (int i = 0; i < d->n_up; i++)
        if (d->up[i] == domain) {
            RLF_ASSERT(space->up[i].to && space->up[i].to->domain == domain);
            return &space->up[i];
        }
    rlf_bug_at(__FILE__, __LINE__, "no direct edge to that domain");
}

uint32_t
rlf_space_row(const rlf_domains *domains, const rlf_space *space, uint32_t row,
              int to)
{
    if (to == 0)
        return 0;
    /* rows of tokens are the rows of their owner */
    while (rlf_domains_get(domains, space->domain)->kind > RLF_DOMAIN_ROWS)
        space = up_to(domains, space,
                      rlf_domains_get(domains, space->domain)->owner)
                    ->to;
    to = rlf_domain_rows(domains, to);
    int path[DEEPEST];
    int n = rlf_domain_path(domains, to, space->domain, DEEPEST, path);
    RLF_ASSERT(n < DEEPEST);
    for (int i = 0; i < n; i++) {
        const rlf_space_up *up = up_to(domains, space, path[i]);
        row = up->index ? up->index[row] : row;
        space = up->to;
    }
    return row;
}

const rlf_space *
rlf_space_above(const rlf_domains *domains, const rlf_space *space, int to)
{
    int path[DEEPEST];
    RLF_ASSERT(to > 0);
    int n = rlf_domain_path(domains, to, space->domain, DEEPEST, path);
    RLF_ASSERT(n < DEEPEST);
    for (int i = 0; i < n; i++)
        space = up_to(domains, space, path[i])->to;
    return space;
}
