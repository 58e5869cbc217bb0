/* One rank's part in a command: see part.h. */
#include "engine/order/part.h"

static const rlf_share *
share_of(const rlf_rank_command *command, int rank)
{
    for (int i = 0; i < command->n_shares; i++)
        if (command->shares[i].rank == rank)
            return &command->shares[i];
    return NULL;
}

static bool
is_of(const rlf_move *move, int rank)
{
    return move->from == rank || move->to == rank;
}

static void
take_moves(const rlf_rank_command *command, int rank, rlf_arena *arena,
           rlf_rank_part *out)
{
    int n = 0;
    for (int i = 0; i < command->n_moves; i++)
        n += is_of(&command->moves[i], rank);
    rlf_move *moves = n ? RLF_NEW_ARRAY(arena, rlf_move, n) : NULL;
    for (int i = 0; i < command->n_moves; i++)
        if (is_of(&command->moves[i], rank))
            moves[out->n_moves++] = command->moves[i];
    out->moves = moves;
}

/* Has the rank weights of either side? */
static bool
has_weights(const rlf_control *control, const rlf_rank_command *command,
            int rank)
{
    const rlf_weight_copies *copies =
        &rlf_control_plan(control)->copies[command->model];
    return rlf_layout_find(&copies->list[command->from].mesh.layout, rank).tp >=
               0 ||
           rlf_layout_find(&copies->list[command->copy].mesh.layout, rank).tp >=
               0;
}

bool
rlf_rank_part_of(const rlf_control *control, const rlf_rank_command *command,
                 int rank, rlf_arena *arena, rlf_rank_part *out)
{
    *out = (rlf_rank_part){0};
    switch (rlf_do_participants[command->kind]) {
    case RLF_PARTICIPANTS_ALL:
        out->works = true;
        break;
    case RLF_PARTICIPANTS_SHARE:
        out->share = share_of(command, rank);
        out->works = out->share != NULL;
        break;
    case RLF_PARTICIPANTS_MOVES:
        take_moves(command, rank, arena, out);
        out->works = out->n_moves > 0;
        break;
    case RLF_PARTICIPANTS_COPIES:
        out->works = has_weights(control, command, rank);
        break;
    }
    return out->works || command->everyone;
}

bool
rlf_rank_command_for(const rlf_control *control,
                     const rlf_rank_command *command, int rank,
                     rlf_arena *arena, rlf_rank_command *out)
{
    rlf_rank_part part;
    if (!rlf_rank_part_of(control, command, rank, arena, &part))
        return false;
    *out = *command;
    out->shares = part.share;
    out->n_shares = part.share != NULL;
    out->moves = part.moves;
    out->n_moves = part.n_moves;
    return true;
}

void
rlf_rank_parts_of(const rlf_control *control, const rlf_rank_command *command,
                  rlf_arena *arena, rlf_rank_part *out, bool *told)
{
    int n = rlf_control_plan(control)->ranks;
    rlf_move **moves = RLF_NEW_ARRAY(arena, rlf_move *, n);
    rlf_participants who = rlf_do_participants[command->kind];
    for (int r = 0; r < n; r++)
        out[r] = (rlf_rank_part){.works = who == RLF_PARTICIPANTS_ALL ||
                                          (who == RLF_PARTICIPANTS_COPIES &&
                                           has_weights(control, command, r))};
    for (int i = 0; i < command->n_shares; i++) {
        rlf_rank_part *part = &out[command->shares[i].rank];
        part->share = &command->shares[i];
        part->works = true;
    }
    for (int i = 0; i < command->n_moves; i++) {
        out[command->moves[i].from].n_moves++;
        out[command->moves[i].to].n_moves++;
    }
    for (int r = 0; r < n; r++) {
        out[r].moves = moves[r] =
            RLF_NEW_ARRAY(arena, rlf_move, out[r].n_moves);
        out[r].works |= out[r].n_moves > 0;
        told[r] = out[r].works || command->everyone;
    }
    for (int i = 0; i < command->n_moves; i++) {
        *moves[command->moves[i].from]++ = command->moves[i];
        *moves[command->moves[i].to]++ = command->moves[i];
    }
}
