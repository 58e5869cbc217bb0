/* One rank's part in a post: see post.h. */
#include "engine/order/post.h"

static const rlf_share *
share_of(const rlf_post *post, int rank)
{
    for (int i = 0; i < post->n_shares; i++)
        if (post->shares[i].rank == rank)
            return &post->shares[i];
    return NULL;
}

static bool
is_of(const rlf_move *move, int rank)
{
    return move->from == rank || move->to == rank;
}

static void
take_moves(const rlf_post *post, int rank, rlf_arena *arena, rlf_duty *out)
{
    int n = 0;
    for (int i = 0; i < post->n_moves; i++)
        n += is_of(&post->moves[i], rank);
    rlf_move *moves = n ? RLF_NEW_ARRAY(arena, rlf_move, n) : NULL;
    for (int i = 0; i < post->n_moves; i++)
        if (is_of(&post->moves[i], rank))
            moves[out->n_moves++] = post->moves[i];
    out->moves = moves;
}

/* Has the rank weights of either side? */
static bool
has_weights(const rlf_control *control, const rlf_post *post, int rank)
{
    const rlf_holds *holds = &rlf_control_plan(control)->holds[post->model];
    return rlf_layout_find(&holds->list[post->from].mesh.layout, rank).tp >=
               0 ||
           rlf_layout_find(&holds->list[post->hold].mesh.layout, rank).tp >= 0;
}

bool
rlf_post_part(const rlf_control *control, const rlf_post *post, int rank,
              rlf_arena *arena, rlf_duty *out)
{
    *out = (rlf_duty){0};
    switch (post->kind) {
    case RLF_POST_WAIT:
        return false;
    case RLF_POST_RUN:
        out->share = share_of(post, rank);
        out->works = out->share != NULL;
        break;
    case RLF_POST_EDGE:
    case RLF_POST_MOVE:
        take_moves(post, rank, arena, out);
        out->works = out->n_moves > 0;
        break;
    case RLF_POST_WEIGHTS:
        out->works = has_weights(control, post, rank);
        break;
    case RLF_POST_OPEN:
    case RLF_POST_END:
        out->works = true;
        break;
    }
    return out->works || post->everyone;
}

void
rlf_post_parts(const rlf_control *control, const rlf_post *post,
               rlf_arena *arena, rlf_duty *out, bool *told)
{
    int n = rlf_control_plan(control)->ranks;
    rlf_move **moves = RLF_NEW_ARRAY(arena, rlf_move *, n);
    bool sends = post->kind == RLF_POST_EDGE || post->kind == RLF_POST_MOVE;
    for (int r = 0; r < n; r++) {
        out[r] = (rlf_duty){.works = post->kind == RLF_POST_OPEN ||
                                     post->kind == RLF_POST_END};
        if (post->kind == RLF_POST_WEIGHTS)
            out[r].works = has_weights(control, post, r);
    }
    for (int i = 0; i < post->n_shares; i++) {
        rlf_duty *duty = &out[post->shares[i].rank];
        duty->share = &post->shares[i];
        duty->works = true;
    }
    for (int i = 0; i < post->n_moves && sends; i++) {
        out[post->moves[i].from].n_moves++;
        out[post->moves[i].to].n_moves++;
    }
    for (int r = 0; r < n; r++) {
        out[r].moves = moves[r] =
            RLF_NEW_ARRAY(arena, rlf_move, out[r].n_moves);
        out[r].works |= out[r].n_moves > 0;
        told[r] = out[r].works || post->everyone;
    }
    for (int i = 0; i < post->n_moves && sends; i++) {
        *moves[post->moves[i].from]++ = post->moves[i];
        *moves[post->moves[i].to]++ = post->moves[i];
    }
}
