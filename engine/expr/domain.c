/* Domains: reachability, meeting, paths. A domain only names domains that were
 * added before it, so indices grow downwards: that is what the searches here
 * lean on. See domain.h. */
#include "engine/expr/domain.h"

#include "engine/base/vec.h"

void
rlf_domains_init(rlf_domains *domains, rlf_arena *arena)
{
    *domains = (rlf_domains){.arena = arena};
    RLF_PUSH_IN(
        arena, &domains->list,
        (rlf_domain){.kind = RLF_DOMAIN_SCALAR, .name = "scalar", .owner = -1});
}

int
rlf_domains_add(rlf_domains *domains, rlf_domain domain)
{
    int index = (int)domains->list.count;
    bool listed = domain.owner < 0;
    for (int i = 0; i < domain.n_up; i++) {
        RLF_ASSERT(domain.up[i] > 0 && domain.up[i] < index);
        listed = listed || domain.up[i] == domain.owner;
    }
    RLF_ASSERT(domain.kind != RLF_DOMAIN_SCALAR);
    RLF_ASSERT(domain.kind == RLF_DOMAIN_ROWS || domain.owner > 0);
    if (!listed) {
        RLF_ASSERT(domain.n_up < RLF_DOMAIN_UPS && domain.owner < index);
        domain.up[domain.n_up++] = domain.owner;
    }
    RLF_PUSH_IN(domains->arena, &domains->list, domain);
    return index;
}

const rlf_domain *
rlf_domains_get(const rlf_domains *domains, int index)
{
    RLF_ASSERT(index >= 0 && (size_t)index < domains->list.count);
    return &domains->list.data[index];
}

int
rlf_domain_rows(const rlf_domains *domains, int index)
{
    const rlf_domain *d = rlf_domains_get(domains, index);
    while (d->kind == RLF_DOMAIN_TOKENS || d->kind == RLF_DOMAIN_VOCAB) {
        index = d->owner;
        d = rlf_domains_get(domains, index);
    }
    return index;
}

bool
rlf_domain_reaches(const rlf_domains *domains, int from, int to)
{
    if (from == 0 || from == to)
        return true;
    if (from > to)
        return false;
    const rlf_domain *d = rlf_domains_get(domains, to);
    for (int i = 0; i < d->n_up; i++)
        if (rlf_domain_reaches(domains, from, d->up[i]))
            return true;
    return false;
}

int
rlf_domain_meet(const rlf_domains *domains, int a, int b)
{
    /* Whatever reaches a domain has a smaller index, so the first that both
     * reach is a coarsest one. */
    for (int d = a > b ? a : b; d < (int)domains->list.count; d++)
        if (rlf_domain_reaches(domains, a, d) &&
            rlf_domain_reaches(domains, b, d))
            return d;
    return -1;
}

int
rlf_domain_path(const rlf_domains *domains, int from, int to, int room,
                int *path)
{
    RLF_ASSERT(rlf_domain_reaches(domains, from, to));
    int n = 0;
    while (to != from && n < room) {
        const rlf_domain *d = rlf_domains_get(domains, to);
        int next = 0; /* scalars go down to everything in one step */
        for (int i = 0; i < d->n_up && from != 0; i++)
            if (rlf_domain_reaches(domains, from, d->up[i])) {
                next = d->up[i];
                break;
            }
        path[n++] = to = next;
    }
    return n;
}
