/* What a file declares, and what its flow names. */
#include "grammar/look_inside.h"

typedef struct listing {
    rlf_look *look;
    rlf_look_symbols list;
} listing;

static void
put_block(listing *l, const rlf_ast_block *block)
{
    for (size_t i = 0; block && i < block->stmts.count; i++) {
        const rlf_ast_stmt *stmt = block->stmts.data[i];
        if (stmt->kind == RLF_AST_LET && stmt->name.text) {
            rlf_look_symbol symbol = {
                .name = stmt->name.text,
                .kind = "value",
                .detail = rlf_look_value(
                    l->look, rlf_look_entity_given(l->look, stmt->name.span)),
                .depth = 1,
                .span = stmt->span,
                .name_span = stmt->name.span};
            RLF_PUSH_IN(l->look->arena, &l->list, symbol);
        }
        put_block(l, stmt->body);
        put_block(l, stmt->other);
    }
}

rlf_look_symbols
rlf_look_symbols_of(rlf_look *look)
{
    listing l = {.look = look};
    const rlf_ast_program *program = look->sema->modules.data[0]->program;
    for (size_t i = 0; i < program->decls.count; i++) {
        const rlf_ast_decl *decl = program->decls.data[i];
        rlf_look_symbol symbol = {.kind = rlf_ast_decl_word(decl->kind),
                                  .name = decl->name.text,
                                  .detail = rlf_look_declaration(look, decl),
                                  .span = decl->span,
                                  .name_span = decl->name.text ? decl->name.span
                                                               : decl->span};
        if (decl->kind == RLF_AST_IMPORT && decl->value)
            symbol.name = decl->value->string.p;
        if (!symbol.name || !*symbol.name)
            symbol.name = symbol.kind;
        RLF_PUSH_IN(look->arena, &l.list, symbol);
        if (decl->kind == RLF_AST_FLOW)
            put_block(&l, decl->body);
    }
    return l.list;
}
