/* The grammar of .rlf: LALR(1), no conflicts, no precedence declarations.
 *
 * Actions only build nodes (ast.h). A separator T is `;` or the line end that
 * the filter in lex.c let through. After an error the parser goes on at the
 * next T or `}`, so that one run shows every broken statement. */
%define api.pure full
%define api.prefix {rlf_yy}
%define parse.error custom
%define parse.lac full
%define api.location.type {rlf_span}
%locations
%expect 0
%param {rlf_syntax *syntax}

%code requires {
#include "grammar/syntax.h"
}

%code provides {
/* The next token, from the filter (lex.c). */
int rlf_yylex(RLF_YYSTYPE *value, RLF_YYLTYPE *span, rlf_syntax *syntax);
void rlf_yyerror(RLF_YYLTYPE *span, rlf_syntax *syntax, const char *text);
}

%code {
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"

#include "grammar/report.h"

#define YYMAXDEPTH 4000
#define YYLLOC_DEFAULT(result, rhs, n)                   \
    do {                                                 \
        if (n) {                                         \
            (result) = YYRHSLOC(rhs, 1);                 \
            (result).last = YYRHSLOC(rhs, n).last;       \
        } else {                                         \
            (result) = YYRHSLOC(rhs, 0);                 \
            (result).first = (result).last;              \
        }                                                \
    } while (0)
#define M (&syntax->maker)
#define NONE ((rlf_ast_name){0})

static rlf_ast_decl *
decl(rlf_syntax *syntax, rlf_ast_decl_kind kind, rlf_span span,
     rlf_ast_name name, rlf_ast_expr *value)
{
    return rlf_ast_decl_new(M, kind, span, name, value);
}

static rlf_ast_formal
formal(rlf_span span, rlf_ast_name name, rlf_ast_name word,
       rlf_ast_expr *value)
{
    return (rlf_ast_formal){
        .span = span, .name = name, .word = word, .value = value};
}

/* The same with `least..word`, and `in low..high` where there are two. */
static rlf_ast_formal
ranged(rlf_ast_formal f, rlf_ast_name least, rlf_ast_expr *low,
       rlf_ast_expr *high)
{
    f.least = least;
    f.low = low;
    f.high = high;
    return f;
}

static rlf_ast_arg
arg(rlf_span span, rlf_ast_name label, rlf_ast_expr *value, rlf_ast_name over)
{
    return (rlf_ast_arg){
        .span = span, .label = label, .value = value, .over = over};
}

static rlf_ast_row
row(rlf_span span, rlf_ast_name model, rlf_ast_name call,
    rlf_ast_ranks *ranks, rlf_ast_args *args)
{
    return (rlf_ast_row){.span = span,
                         .model = model,
                         .call = call,
                         .ranks = ranks,
                         .args = args};
}

static rlf_ast_stmt *
stmt(rlf_syntax *syntax, rlf_ast_stmt_kind kind, rlf_span span,
     rlf_ast_expr *value)
{
    return rlf_ast_stmt_new(M, kind, span, value);
}
}

%union {
    rlf_ast_name name;
    rlf_ast_op op;
    rlf_ast_expr *expr;
    rlf_ast_arg arg;
    rlf_ast_args *args;
    rlf_ast_bind bind;
    rlf_ast_binds *binds;
    rlf_ast_formal formal;
    rlf_ast_formals *formals;
    rlf_ast_rank rank;
    rlf_ast_ranks *ranks;
    rlf_ast_row row;
    rlf_ast_rows *rows;
    rlf_ast_block *block;
    rlf_ast_stmt *stmt;
    rlf_ast_decl *decl;
    struct {
        rlf_ast_expr *low, *high;
    } within;
    struct {
        rlf_ast_name word;
        rlf_ast_formals *list;
    } gives;
}

%token END 0 "the end of the file"
%token T "the end of the line"
%token <name> NAME "a name"
%token NUMBER "a number" STRING "a string" STRAY "a stray character"
%token <name> IMPORT "import" AS "as" PARAM "param" IN "in" DATA "data"
%token <name> MODEL "model" HOOK "hook" STATE "state" DEF "def" FLOW "flow"
%token <name> DEVICE "device" MACHINE "machine" CLUSTER "cluster"
%token <name> PLACE "place" ON "on" UPDATE "update" MINIMIZE "minimize"
%token <name> REPORT "report" FOR "for" IF "if" ELSE "else" EVERY "every"
%token <name> COLLECT "collect" KEEP "keep" BREAK "break" RETURN "return"
%token <name> CHECKPOINT "checkpoint" OVER "over"
%token AND "and" OR "or" NOT "not" TRUE "true" FALSE "false"
%token ASSIGN ":=" ARROW "->" DOTS ".." EQ "==" NE "!=" LE "<=" GE ">="

%type <name> word
%type <expr> expr or and not cmp sum prod unary power postfix primary string
%type <expr> init_ help_ number
%type <op> cmpop
%type <arg> arg
%type <args> args args_ trailing_ opts_
%type <binds> draws draws_ metrics loops
%type <formal> formal give
%type <formals> formals formals_ gives
%type <gives> gives_
%type <within> within_ range_
%type <rank> rank
%type <ranks> ranks
%type <row> row
%type <rows> rows
%type <block> block stmts
%type <stmt> stmt stmt_ if
%type <decl> decl

%%

program
    : decls
    ;

sep
    : T                 { yyerrok; }
    ;

decls
    : decl_
    | decls sep decl_
    ;

decl_
    : %empty
    | decl              { RLF_PUSH_IN(M->arena, &syntax->program->decls, $1); }
    | error             { rlf_lex_recover(syntax, RLF_LEX_SKIP_DECL, yychar); }
    ;

decl
    : IMPORT string
        { $$ = decl(syntax, RLF_AST_IMPORT, @$, NONE, $2); }
    | IMPORT string AS NAME
        { $$ = decl(syntax, RLF_AST_IMPORT, @$, $4, $2); }
    | PARAM NAME ':' word init_ within_ help_
        {
            $$ = decl(syntax, RLF_AST_PARAM, @$, $2, $5);
            $$->word = $4;
            $$->low = $6.low;
            $$->high = $6.high;
            $$->help = $7;
        }
    | DATA NAME '=' expr
        { $$ = decl(syntax, RLF_AST_DATA, @$, $2, $4); }
    | MODEL NAME '=' expr
        { $$ = decl(syntax, RLF_AST_MODEL, @$, $2, $4); }
    | HOOK NAME '=' expr gives_
        {
            $$ = decl(syntax, RLF_AST_HOOK, @$, $2, $4);
            $$->word = $5.word;
            $$->formals = $5.list;
        }
    | STATE NAME '=' expr
        { $$ = decl(syntax, RLF_AST_STATE, @$, $2, $4); }
    | STATE NAME ':' NAME '=' expr
        { $$ = decl(syntax, RLF_AST_STATE, @$, $2, $6); $$->word = $4; }
    | DEF NAME '(' formals_ ')' '=' expr
        {
            $$ = decl(syntax, RLF_AST_DEF, @$, $2, NULL);
            $$->formals = $4;
            $$->body = rlf_ast_block_brief(
                M, stmt(syntax, RLF_AST_RETURN, @7, $7));
        }
    | DEF NAME '(' formals_ ')' block
        {
            $$ = decl(syntax, RLF_AST_DEF, @$, $2, NULL);
            $$->formals = $4;
            $$->body = $6;
        }
    | FLOW NAME '(' draws_ ')' block
        {
            $$ = decl(syntax, RLF_AST_FLOW, @$, $2, NULL);
            $$->binds = $4;
            $$->body = $6;
        }
    | PLACE NAME
        { $$ = decl(syntax, RLF_AST_PLACE, @$, $2, NULL); }
    | PLACE '{' rows '}'
        { $$ = decl(syntax, RLF_AST_PLACE, @$, NONE, NULL); $$->rows = $3; }
    | PLACE NAME '{' rows '}'
        { $$ = decl(syntax, RLF_AST_PLACE, @$, $2, NULL); $$->rows = $4; }
    | DEVICE NAME '=' expr
        { $$ = decl(syntax, RLF_AST_DEVICE, @$, $2, $4); }
    | MACHINE NAME '=' expr
        { $$ = decl(syntax, RLF_AST_MACHINE, @$, $2, $4); }
    | CLUSTER NAME '=' expr
        { $$ = decl(syntax, RLF_AST_CLUSTER, @$, $2, $4); }
    ;

init_
    : %empty            { $$ = NULL; }
    | '=' expr          { $$ = $2; }
    ;
within_
    : %empty            { $$.low = $$.high = NULL; }
    | IN expr           { $$.low = $2; $$.high = NULL; }
    | IN expr DOTS expr { $$.low = $2; $$.high = $4; }
    ;
help_
    : %empty            { $$ = NULL; }
    | string
    ;

gives_
    : %empty            { $$.word = NONE; $$.list = NULL; }
    | ARROW word        { $$.word = $2; $$.list = NULL; }
    | ARROW '(' gives ')' { $$.word = NONE; $$.list = $3; }
    ;
gives
    : give              { $$ = rlf_ast_formals_add(M, NULL, $1); }
    | gives ',' give    { $$ = rlf_ast_formals_add(M, $1, $3); }
    ;
give
    : word              { $$ = formal(@$, $1, NONE, NULL); }
    | word ':' word     { $$ = formal(@$, $1, $3, NULL); }
    ;

formals_
    : %empty            { $$ = NULL; }
    | formals
    ;
formals
    : formal            { $$ = rlf_ast_formals_add(M, NULL, $1); }
    | formals ',' formal { $$ = rlf_ast_formals_add(M, $1, $3); }
    ;
formal
    : NAME init_ range_
        { $$ = ranged(formal(@$, $1, NONE, $2), NONE, $3.low, $3.high); }
    | NAME ':' word init_ range_
        { $$ = ranged(formal(@$, $1, $3, $4), NONE, $5.low, $5.high); }
    | NAME ':' word DOTS word init_ range_
        { $$ = ranged(formal(@$, $1, $5, $6), $3, $7.low, $7.high); }
    ;
range_
    : %empty            { $$.low = $$.high = NULL; }
    | IN expr DOTS expr { $$.low = $2; $$.high = $4; }
    | IN expr DOTS      { $$.low = $2; $$.high = NULL; }
    ;

draws_
    : %empty            { $$ = NULL; }
    | draws
    ;
draws
    : NAME ':' expr     { $$ = rlf_ast_binds_add(M, NULL, $1, $3); }
    | draws ',' NAME ':' expr { $$ = rlf_ast_binds_add(M, $1, $3, $5); }
    ;

rows
    : %empty            { $$ = rlf_ast_rows_add(M, NULL, (rlf_ast_row){0}); }
    | row               { $$ = rlf_ast_rows_add(M, NULL, $1); }
    | error
        {
            rlf_lex_recover(syntax, RLF_LEX_SKIP_STMT, yychar);
            $$ = rlf_ast_rows_add(M, NULL, (rlf_ast_row){0});
        }
    | rows sep          { $$ = $1; }
    | rows sep row      { $$ = rlf_ast_rows_add(M, $1, $3); }
    | rows sep error
        {
            rlf_lex_recover(syntax, RLF_LEX_SKIP_STMT, yychar);
            $$ = $1;
        }
    ;
row
    : NAME ON ranks opts_
        { $$ = row(@$, $1, NONE, $3, $4); }
    | NAME '.' word ON ranks opts_
        { $$ = row(@$, $1, $3, $5, $6); }
    | NAME '(' args_ ')'
        { $$ = row(@$, $1, NONE, NULL, $3); }
    | NAME '.' word '(' args_ ')'
        { $$ = row(@$, $1, $3, NULL, $5); }
    ;
ranks
    : rank              { $$ = rlf_ast_ranks_add(M, NULL, $1); }
    | ranks ',' rank    { $$ = rlf_ast_ranks_add(M, $1, $3); }
    ;
rank
    : number            { $$ = (rlf_ast_rank){@$, $1, NULL}; }
    | number DOTS number { $$ = (rlf_ast_rank){@$, $1, $3}; }
    ;
opts_
    : %empty            { $$ = NULL; }
    | '(' args_ ')'     { $$ = $2; }
    ;

block
    : '{' stmts '}'     { $$ = $2; $$->span = @$; yyerrok; }
    ;
stmts
    : stmt_             { $$ = rlf_ast_block_add(M, NULL, $1); }
    | stmts sep stmt_   { $$ = rlf_ast_block_add(M, $1, $3); }
    ;
stmt_
    : %empty            { $$ = NULL; }
    | stmt
    | error
        {
            rlf_lex_recover(syntax, RLF_LEX_SKIP_STMT, yychar);
            $$ = NULL;
        }
    ;

stmt
    : NAME '=' expr
        { $$ = stmt(syntax, RLF_AST_LET, @$, $3); $$->name = $1; }
    | NAME ASSIGN expr
        { $$ = stmt(syntax, RLF_AST_SET, @$, $3); $$->name = $1; }
    | UPDATE NAME opts_ MINIMIZE expr
        {
            rlf_span inner = rlf_span_join(@4, @5);
            $$ = stmt(syntax, RLF_AST_UPDATE, @$, NULL);
            $$->name = $2;
            $$->args = $3;
            $$->body = rlf_ast_block_brief(
                M, stmt(syntax, RLF_AST_MINIMIZE, inner, $5));
        }
    | UPDATE NAME opts_ block
        {
            $$ = stmt(syntax, RLF_AST_UPDATE, @$, NULL);
            $$->name = $2;
            $$->args = $3;
            $$->body = $4;
        }
    | MINIMIZE expr     { $$ = stmt(syntax, RLF_AST_MINIMIZE, @$, $2); }
    | RETURN expr       { $$ = stmt(syntax, RLF_AST_RETURN, @$, $2); }
    | KEEP expr         { $$ = stmt(syntax, RLF_AST_KEEP, @$, $2); }
    | BREAK IF expr     { $$ = stmt(syntax, RLF_AST_BREAK, @$, $3); }
    | CHECKPOINT        { $$ = stmt(syntax, RLF_AST_CHECKPOINT, @$, NULL); }
    | REPORT metrics
        { $$ = stmt(syntax, RLF_AST_REPORT, @$, NULL); $$->binds = $2; }
    | FOR loops block
        {
            $$ = stmt(syntax, RLF_AST_FOR, @$, NULL);
            $$->binds = $2;
            $$->body = $3;
        }
    | EVERY expr NAME block
        {
            if (strcmp($3.text, "steps"))
                rlf_report_steps(syntax, $3);
            $$ = stmt(syntax, RLF_AST_EVERY, @$, $2);
            $$->name = $3;
            $$->body = $4;
        }
    | COLLECT NAME opts_ block
        {
            $$ = stmt(syntax, RLF_AST_COLLECT, @$, NULL);
            $$->name = $2;
            $$->args = $3;
            $$->body = $4;
        }
    | if
    ;
if
    : IF expr block
        { $$ = stmt(syntax, RLF_AST_IF, @$, $2); $$->body = $3; }
    | IF expr block ELSE block
        {
            $$ = stmt(syntax, RLF_AST_IF, @$, $2);
            $$->body = $3;
            $$->other = $5;
        }
    | IF expr block ELSE if
        {
            $$ = stmt(syntax, RLF_AST_IF, @$, $2);
            $$->body = $3;
            $$->other = rlf_ast_block_brief(M, $5);
        }
    ;
metrics
    : word '=' expr     { $$ = rlf_ast_binds_add(M, NULL, $1, $3); }
    | metrics ',' word '=' expr { $$ = rlf_ast_binds_add(M, $1, $3, $5); }
    ;
loops
    : NAME IN expr      { $$ = rlf_ast_binds_add(M, NULL, $1, $3); }
    | loops ',' NAME IN expr { $$ = rlf_ast_binds_add(M, $1, $3, $5); }
    ;

expr
    : or
    | or '?' expr ':' expr { $$ = rlf_ast_expr_choice(M, @2, $1, $3, $5); }
    ;
or
    : and
    | or OR and         { $$ = rlf_ast_expr_binary(M, RLF_AST_OR, @2, $1, $3); }
    ;
and
    : not
    | and AND not       { $$ = rlf_ast_expr_binary(M, RLF_AST_AND, @2, $1, $3); }
    ;
not
    : cmp
    | NOT not           { $$ = rlf_ast_expr_unary(M, RLF_AST_NOT, @1, $2); }
    ;
cmp
    : sum
    | sum cmpop sum     { $$ = rlf_ast_expr_binary(M, $2, @2, $1, $3); }
    ;
cmpop
    : '<'               { $$ = RLF_AST_LT; }
    | '>'               { $$ = RLF_AST_GT; }
    | LE                { $$ = RLF_AST_LE; }
    | GE                { $$ = RLF_AST_GE; }
    | EQ                { $$ = RLF_AST_EQ; }
    | NE                { $$ = RLF_AST_NE; }
    ;
sum
    : prod
    | sum '+' prod      { $$ = rlf_ast_expr_binary(M, RLF_AST_ADD, @2, $1, $3); }
    | sum '-' prod      { $$ = rlf_ast_expr_binary(M, RLF_AST_SUB, @2, $1, $3); }
    ;
prod
    : unary
    | prod '*' unary    { $$ = rlf_ast_expr_binary(M, RLF_AST_MUL, @2, $1, $3); }
    | prod '/' unary    { $$ = rlf_ast_expr_binary(M, RLF_AST_DIV, @2, $1, $3); }
    | prod '%' unary    { $$ = rlf_ast_expr_binary(M, RLF_AST_MOD, @2, $1, $3); }
    ;
unary
    : power
    | '-' unary         { $$ = rlf_ast_expr_unary(M, RLF_AST_NEG, @1, $2); }
    ;
power
    : postfix
    | postfix '^' unary { $$ = rlf_ast_expr_binary(M, RLF_AST_POW, @2, $1, $3); }
    ;
postfix
    : primary
    | postfix '.' word  { $$ = rlf_ast_expr_field(M, $1, $3); }
    | postfix '(' args_ ')'
        { $$ = rlf_ast_expr_apply(M, RLF_AST_CALL, $1, $3, @4); }
    | postfix '[' trailing_ ']'
        { $$ = rlf_ast_expr_apply(M, RLF_AST_INDEX, $1, $3, @4); }
    ;
primary
    : NAME              { $$ = rlf_ast_expr_name(M, $1); }
    | number
    | string
    | TRUE              { $$ = rlf_ast_expr_truth(M, @1, true); }
    | FALSE             { $$ = rlf_ast_expr_truth(M, @1, false); }
    | '(' expr ')'      { $$ = rlf_ast_expr_paren($2, @$); }
    | '[' args_ ']'     { $$ = rlf_ast_expr_list(M, @$, $2); }
    ;
number
    : NUMBER            { $$ = rlf_ast_expr_number(M, @1); }
    ;
string
    : STRING            { $$ = rlf_ast_expr_string(M, @1); }
    ;

args_
    : %empty            { $$ = NULL; }
    | trailing_
    ;
trailing_
    : args
    | args ','          { $$ = $1; }
    ;
args
    : arg               { $$ = rlf_ast_args_add(M, NULL, $1); }
    | args ',' arg      { $$ = rlf_ast_args_add(M, $1, $3); }
    ;
arg
    : expr              { $$ = arg(@$, NONE, $1, NONE); }
    | expr OVER NAME    { $$ = arg(@$, NONE, $1, $3); }
    | word ':' expr     { $$ = arg(@$, $1, $3, NONE); }
    ;

word
    : NAME
    | IMPORT | AS | PARAM | IN | DATA | MODEL | HOOK | STATE | DEF | FLOW
    | PLACE | ON | UPDATE | MINIMIZE | REPORT | FOR | IF | ELSE | EVERY
    | COLLECT | KEEP | BREAK | RETURN | CHECKPOINT | OVER
    ;

%%

/* The parser's own stack: only nesting can fill it. */
void
rlf_yyerror(RLF_YYLTYPE *span, rlf_syntax *syntax, const char *text)
{
    (void)text;
    rlf_diag_error(M->diags, "syntax", *span, "this is nested too deeply");
}

static int
yyreport_syntax_error(const yypcontext_t *context, rlf_syntax *syntax)
{
    rlf_report report = {.span = *yypcontext_location(context)};
    yysymbol_kind_t kinds[YYNTOKENS];
    int n = yypcontext_expected_tokens(context, kinds, YYNTOKENS);
    for (int i = 0; i < n; i++)
        rlf_report_expect(&report, yysymbol_name(kinds[i]));
    report.token = yysymbol_name(yypcontext_token(context));
    rlf_report_syntax(syntax, &report);
    return 0;
}
