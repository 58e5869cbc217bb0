/* Declarations that the files of this folder share: values, nodes, and the two
 * states that they are made and worked on in. Nobody outside includes this.
 *
 * An error leaves by longjmp (jinja_stop) to where parsing or rendering was
 * entered: all memory is an arena's, so there is nothing to undo, and functions
 * give their results as values. */
#ifndef RLF_JINJA_INSIDE_H
#define RLF_JINJA_INSIDE_H

#include "engine/jinja/jinja.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct jinja_run jinja_run;
typedef struct jinja_node jinja_node;

/* ---- values ---- */

typedef enum jinja_kind {
    JINJA_MISSING, /* no value: an argument that is not given, a name not set */
    JINJA_UNDEFINED,
    JINJA_NONE,
    JINJA_BOOL,
    JINJA_INT,
    JINJA_FLOAT,
    JINJA_TEXT,
    JINJA_LIST,
    JINJA_TUPLE,
    JINJA_DICT,
    JINJA_RANGE,
    JINJA_VIEW, /* d.keys(), d.values(), d.items() */
    JINJA_ITER, /* a generator */
    JINJA_NAMESPACE,
    JINJA_MACRO,
    JINJA_METHOD, /* a function with its receiver */
    JINJA_FUNCTION,
    JINJA_LOOP,
    JINJA_CYCLER,
    JINJA_JOINER,
} jinja_kind;

enum { JINJA_KEYS, JINJA_VALUES, JINJA_ITEMS }; /* which view */

typedef struct jinja_value jinja_value;
typedef struct jinja_text {
    const char *p; /* valid UTF-8 */
    size_t n;
    size_t chars; /* SIZE_MAX: not counted yet */
} jinja_text;
typedef struct jinja_list jinja_list;
typedef struct jinja_dict jinja_dict;
typedef struct jinja_undefined jinja_undefined;
typedef struct jinja_range jinja_range;
typedef struct jinja_iter jinja_iter;
typedef struct jinja_macro jinja_macro;
typedef struct jinja_method jinja_method;
typedef struct jinja_builtin jinja_builtin;
typedef struct jinja_loop jinja_loop;
typedef struct jinja_cycler jinja_cycler;

struct jinja_value {
    uint8_t kind;
    uint8_t view;  /* the kind of a JINJA_VIEW */
    bool markup;   /* a JINJA_TEXT was marked by the filter `safe` */
    bool grouping; /* a JINJA_TUPLE is an element of groupby, whose members have
                      names */
    union {
        bool b;
        int64_t i;
        double f;
        jinja_text *text;
        jinja_list *list; /* the items of a list or tuple */
        jinja_dict *dict; /* the entries of a dict, namespace or view */
        jinja_undefined *undefined;
        jinja_range *range;
        jinja_iter *iter;
        jinja_macro *macro;
        jinja_method *method;
        const jinja_builtin *function;
        jinja_loop *loop;
        jinja_cycler *cycler; /* the state of a cycler or joiner */
    };
};

struct jinja_list {
    jinja_value *data;
    size_t count, room;
};
typedef struct jinja_pair {
    jinja_value key, value;
} jinja_pair;
/* Entries in the order of insertion. */
struct jinja_dict {
    jinja_pair *data;
    size_t count, room;
};
/* Why a value is not defined, for the error of who needs it. */
struct jinja_undefined {
    const char *hint; /* the whole message, or NULL */
    const char *of; /* the thing that lacks the member: "dict object"; NULL: it
                       is a name */
    jinja_value name;
    bool unsafe; /* the member is there, but a template must not use it */
};
struct jinja_range {
    int64_t first, last, step;
};
struct jinja_cycler {
    jinja_value items; /* the items of a cycler; of a joiner its separator */
    size_t at; /* times that a joiner was called; the place of a cycler */
};

#define JINJA_TEXT_KINDS (1u << JINJA_TEXT)

/* Arguments as a call gives them; of a builtin with `parameters`: `v` has one
 * for each of them, JINJA_MISSING where it is not given, and no names. */
typedef struct jinja_args {
    jinja_value *v;
    size_t n;
    jinja_pair *named; /* keys are texts */
    size_t n_named;
} jinja_args;

typedef jinja_value (*jinja_native)(jinja_run *r, jinja_value self,
                                    const jinja_args *args);

/* A filter, a test, a method or a function. */
struct jinja_builtin {
    const char *name;
    const char *parameters; /* "a b? c?": ? need not be given; NULL: any */
    jinja_native call;
    uint32_t kinds; /* kinds of a method's receivers, as bits */
    bool changes;   /* the method would change its receiver, and is not for
                       templates */
};
struct jinja_method {
    const jinja_builtin *builtin;
    jinja_value self;
};

/* Something to go through once. */
struct jinja_iter {
    bool (*next)(jinja_run *r, jinja_iter *it,
                 jinja_value *out); /* false: the end */
    const char *name; /* the name of a generator, as it is printed */
    jinja_value source;
    size_t at;
    int64_t number;
    jinja_iter *from; /* the iterator that its elements come from */
    const jinja_args *args;
    const jinja_builtin *builtin;
    jinja_value attribute, fallback;
    jinja_dict *seen;
    bool negate, begun;
    /* The condition of a loop, and the frame in which it is evaluated. */
    const jinja_node *node;
    struct jinja_frame *frame;
};

/* ---- nodes ---- */

typedef enum jinja_op {
    /* expressions */
    JINJA_CONST,
    JINJA_NAME,
    JINJA_NSREF, /* name.attribute, as a target */
    JINJA_TUPLE_OF,
    JINJA_LIST_OF,
    JINJA_DICT_OF,
    JINJA_NEGATIVE,
    JINJA_POSITIVE,
    JINJA_NOT,
    JINJA_AND,
    JINJA_OR,
    JINJA_ADD,
    JINJA_SUB,
    JINJA_MUL,
    JINJA_DIV,
    JINJA_FLOORDIV,
    JINJA_MOD,
    JINJA_POW,
    JINJA_CONCAT,
    JINJA_COMPARE,
    JINJA_OPERAND,
    JINJA_COND,
    JINJA_FILTER,
    JINJA_TEST,
    JINJA_CALL,
    JINJA_KEYWORD,
    JINJA_GETATTR,
    JINJA_GETITEM,
    JINJA_SLICE,
    /* statements */
    JINJA_OUTPUT,
    JINJA_FOR,
    JINJA_IF,
    JINJA_SET,
    JINJA_SET_BLOCK,
    JINJA_MACRO_OF,
    JINJA_CALL_BLOCK,
    JINJA_GENERATION,
    JINJA_FILTER_BLOCK,
    JINJA_WITH,
    JINJA_BREAK,
    JINJA_CONTINUE,
} jinja_op;

typedef enum jinja_relation {
    JINJA_EQ,
    JINJA_NE,
    JINJA_LT,
    JINJA_LE,
    JINJA_GT,
    JINJA_GE,
    JINJA_IN,
    JINJA_NOT_IN
} jinja_relation;

typedef struct jinja_nodes {
    jinja_node **data;
    size_t count, room;
} jinja_nodes;

/* A variable: number `slot` of the frame of the function at `depth`. */
typedef struct jinja_ref {
    uint32_t depth, slot;
} jinja_ref;

/* The ways in which a scope loads a variable when it is entered. */
typedef enum jinja_load {
    JINJA_LOAD_PARAMETER,
    JINJA_LOAD_RESOLVE, /* look the name up outside of the template */
    JINJA_LOAD_ALIAS,   /* it is an alias of an outer variable */
    JINJA_LOAD_UNDEFINED
} jinja_load;
typedef struct jinja_entry {
    const jinja_text *name;
    jinja_ref ref, from;
    jinja_load load;
} jinja_entry;
typedef struct jinja_entries {
    jinja_entry *data;
    size_t count, room;
} jinja_entries;

/* A part of a template that has a frame of its own when it runs: the template,
 * a macro, the body of a call block, a loop's condition. */
typedef struct jinja_function {
    struct jinja_function *outer;
    uint32_t depth;
    struct {
        struct {
            const jinja_text *name;
            uint32_t level;
        } * data;
        size_t count, room;
    } slots;
} jinja_function;

struct jinja_node {
    jinja_op op;
    jinja_relation relation;  /* the relation of an operand */
    uint32_t at;              /* byte of the source */
    bool negated;             /* a test is negated */
    /* A loop is recursive; a loop has a variable `loop`. */
    bool recursive, extended;
    /* A macro takes a caller, further keywords, further arguments. */
    bool takes_caller, takes_kwargs, takes_varargs;
    const jinja_text *name, *attribute;
    jinja_value value;
    jinja_node *a, *b, *c;
    jinja_nodes list, more, body;
    jinja_node *dyn_args, *dyn_kwargs;
    /* The function of a filter or test; NULL: it is unknown. */
    const jinja_builtin *builtin;
    /* scopes: of the body, of `else` or of a condition */
    jinja_ref ref, loop_ref, caller_ref, kwargs_ref, varargs_ref;
    jinja_entries enter, enter_else, enter_test;
    jinja_function *function, *test_function;
    jinja_node *test_target;
};

/* ---- parsing ---- */

typedef enum jinja_token_kind {
    JINJA_T_DATA,
    JINJA_T_NAME,
    JINJA_T_TEXT,
    JINJA_T_INT,
    JINJA_T_FLOAT,
    JINJA_T_OPERATOR,
    JINJA_T_VARIABLE_BEGIN,
    JINJA_T_VARIABLE_END,
    JINJA_T_BLOCK_BEGIN,
    JINJA_T_BLOCK_END,
    JINJA_T_END
} jinja_token_kind;

typedef struct jinja_token {
    jinja_token_kind kind;
    uint32_t at;
    jinja_text *text; /* data, names, texts; operators as written */
    int64_t i;
    double f;
} jinja_token;

struct rlf_jinja {
    const char *file, *part; /* part NULL: the source is all of it */
    rlf_str source; /* the template with line feeds, without the last one */
    jinja_nodes body;
    jinja_entries enter;
    jinja_function *function;
    bool generates;
};

typedef struct jinja_tokens {
    jinja_token *data;
    size_t count, room;
} jinja_tokens;

/* ---- the state of parsing or rendering ---- */

typedef struct jinja_buf {
    char *p;
    size_t n, room;
} jinja_buf;

/* The variables of a function that runs. */
typedef struct jinja_frame {
    struct jinja_frame *outer;
    uint32_t depth;
    jinja_value *slots;
} jinja_frame;

struct jinja_run {
    rlf_arena *arena;
    rlf_err *err;
    const rlf_jinja *jinja;
    jmp_buf stop;
    rlf_status status;
    uint32_t at;  /* byte of the source that is worked on */
    size_t depth; /* the depth of constructs within each other */
    bool raised;
    /* rendering */
    int64_t steps;
    size_t memory, memory_at_first;
    rlf_jinja_date now;
    jinja_dict *variables;
    jinja_buf *out, *root; /* the output at hand, and the template's */
    size_t root_counted, root_chars;
    struct {
        rlf_jinja_span *data;
        size_t count, room;
    } spans;
};

/* Ends what was entered with RLF_USER: "FILE:LINE:COLUMN: MESSAGE". */
_Noreturn void jinja_stop(jinja_run *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same with a text of any bytes behind the sentence. */
_Noreturn void jinja_stop_text(jinja_run *r, const char *sentence,
                               rlf_str text);
/* Counts n steps. */
void jinja_pay(jinja_run *r, size_t n);
/* Zeroed memory of the arena, within the limit. */
void *jinja_alloc(jinja_run *r, size_t n);
#define JINJA_NEW(r, type) ((type *)jinja_alloc((r), sizeof(type)))
/* Into and out of something that is in something else. */
void jinja_enter(jinja_run *r);
void jinja_leave(jinja_run *r);

#define JINJA_PUSH(r, v, ...)                                                  \
    do {                                                                       \
        if ((v)->count == (v)->room) {                                         \
            size_t jinja_room_ = (v)->room ? 2 * (v)->room : 4;                \
            void *jinja_new_ =                                                 \
                jinja_alloc((r), jinja_room_ * sizeof *(v)->data);             \
            if ((v)->count)                                                    \
                memcpy(jinja_new_, (v)->data, (v)->count * sizeof *(v)->data); \
            (v)->data = jinja_new_;                                            \
            (v)->room = jinja_room_;                                           \
        }                                                                      \
        (v)->data[(v)->count++] = (__VA_ARGS__);                               \
    } while (0)

/* ---- buffers ---- */

void jinja_add(jinja_run *r, jinja_buf *buf, const char *p, size_t n);
void jinja_puts(jinja_run *r, jinja_buf *buf, const char *p);
void jinja_put(jinja_run *r, jinja_buf *buf, uint32_t code);
jinja_value jinja_taken(jinja_run *r,
                        jinja_buf *buf); /* as a text; the buffer's no more */

/* ---- lexer.c, parse.c, expression.c, scope.c ---- */

typedef struct jinja_parser {
    jinja_run *r;
    jinja_tokens tokens;
    size_t next;
    bool generates; /* a generation block was met */
} jinja_parser;

jinja_tokens jinja_lex(jinja_run *r, rlf_str source);
jinja_nodes jinja_parse(jinja_parser *p);
/* Resolves names and looks filters up. */
void jinja_resolve(jinja_run *r, rlf_jinja *jinja);
/* Parts of expressions that statements need. */
jinja_node *jinja_parse_expression(jinja_parser *p);
jinja_node *jinja_parse_filter(jinja_parser *p, jinja_node *input, bool first);
typedef struct jinja_tuple_rule {
    bool simple, no_condition, parentheses, with_namespace;
    const char *end; /* a name that ends it; or NULL */
} jinja_tuple_rule;
jinja_node *jinja_parse_tuple(jinja_parser *p, const jinja_tuple_rule *rule);
jinja_node *jinja_node_new(jinja_parser *p, jinja_op op, uint32_t at);
const jinja_token *jinja_peek(const jinja_parser *p, size_t ahead);
const jinja_token *jinja_take(jinja_parser *p);
bool jinja_is(const jinja_token *t, const char *op);
bool jinja_is_name(const jinja_token *t, const char *name);
bool jinja_skip_if(jinja_parser *p, const char *op);
bool jinja_skip_name(jinja_parser *p, const char *name);
const jinja_token *jinja_expect(jinja_parser *p, jinja_token_kind kind,
                                const char *op);
_Noreturn void jinja_unexpected(jinja_parser *p, const char *want);

/* ---- value.c ---- */

jinja_value jinja_none(void);
jinja_value jinja_bool(bool b);
jinja_value jinja_int(int64_t i);
jinja_value jinja_float(double f);
jinja_value jinja_text_of(jinja_run *r, const char *p,
                          size_t n); /* not copied */
jinja_value jinja_text_z(jinja_run *r, const char *p);
jinja_value jinja_list_new(jinja_run *r, jinja_kind kind);
void jinja_push(jinja_run *r, jinja_value list, jinja_value element);
jinja_value jinja_dict_new(jinja_run *r);
/* NULL: there is none. Of a key that cannot be one a TypeError. */
jinja_value *jinja_find(jinja_run *r, const jinja_dict *dict, jinja_value key);
jinja_value *jinja_find_text(jinja_run *r, const jinja_dict *dict, rlf_str key);
void jinja_store(jinja_run *r, jinja_dict *dict, jinja_value key,
                 jinja_value value);
jinja_value jinja_hinted(jinja_run *r, const char *hint); /* undefined */
jinja_value jinja_unnamed(jinja_run *r,
                          const jinja_text *name); /* the same, of a name */
jinja_value jinja_lacking(jinja_run *r, jinja_value of, jinja_value name);
jinja_value jinja_unsafe(jinja_run *r, jinja_value of, const jinja_text *name);
_Noreturn void jinja_stop_undefined(jinja_run *r, jinja_value undefined);
bool jinja_truth(jinja_run *r, jinja_value v);
size_t jinja_length(jinja_run *r, jinja_value v); /* or a TypeError */
bool jinja_has_length(jinja_value v);
bool jinja_equal(jinja_run *r, jinja_value a, jinja_value b);
bool jinja_same(jinja_value a, jinja_value b); /* is */
/* a < b: negative; a TypeError where they have no order. */
int jinja_order(jinja_run *r, jinja_value a, jinja_value b, const char *op);
bool jinja_relate(jinja_run *r, jinja_relation relation, jinja_value a,
                  jinja_value b);
bool jinja_contains(jinja_run *r, jinja_value in, jinja_value v);
bool jinja_hashable(jinja_value v);
const char *jinja_type(jinja_value v); /* "str", "list": for messages */
/* The number of an int or bool; false: it is neither. */
bool jinja_as_int(jinja_value v, int64_t *out);
bool jinja_as_number(jinja_value v, double *out);
int64_t jinja_need_int(jinja_run *r, jinja_value v); /* or a TypeError */
const jinja_text *jinja_need_text(jinja_run *r, jinja_value v);
jinja_value jinja_from_json(jinja_run *r, const json_t *json);
uint64_t jinja_range_count(const jinja_range *range);
/* The element of a list or tuple, of a range, of a text; i is in it. */
jinja_value jinja_element(jinja_run *r, jinja_value v, size_t i);

/* ---- iterate.c ---- */

jinja_iter *jinja_iterate(jinja_run *r, jinja_value v); /* or a TypeError */
bool jinja_iterable(jinja_value v);
bool jinja_next(jinja_run *r, jinja_iter *it, jinja_value *out);
jinja_value jinja_listed(jinja_run *r, jinja_value v,
                         jinja_kind kind); /* all elements */
jinja_value jinja_generator(jinja_iter *it);

/* ---- operate.c ---- */

jinja_value jinja_binary(jinja_run *r, jinja_op op, jinja_value a,
                         jinja_value b);
jinja_value jinja_unary(jinja_run *r, jinja_op op, jinja_value a);
jinja_value jinja_joined(jinja_run *r, jinja_value a,
                         jinja_value b); /* two texts, a + b */
jinja_value jinja_repeated(jinja_run *r, jinja_value text, int64_t times);

/* ---- print.c, json.c, format.c ---- */

void jinja_print(jinja_run *r, jinja_buf *out, jinja_value v); /* str(v) */
void jinja_repr(jinja_run *r, jinja_buf *out, jinja_value v);
jinja_value jinja_str(jinja_run *r, jinja_value v);
/* Converts as str does, but what is marked as safe stays so. */
jinja_value jinja_soft(jinja_run *r, jinja_value v);
enum { JINJA_FLOAT_TEXT = 40 };
const char *jinja_float_text(double f, char out[JINJA_FLOAT_TEXT]);
jinja_value jinja_to_json(jinja_run *r, jinja_value v, const jinja_args *args);
jinja_value jinja_percent(jinja_run *r, jinja_value format, jinja_value args);
jinja_value jinja_format(jinja_run *r, jinja_value format,
                         const jinja_args *args);
jinja_value jinja_escaped(jinja_run *r, jinja_value v); /* Markup.escape */

/* ---- attribute.c ---- */

jinja_value jinja_getattr(jinja_run *r, jinja_value of, const jinja_text *name);
jinja_value jinja_getitem(jinja_run *r, jinja_value of, jinja_value key);
jinja_value jinja_slice(jinja_run *r, jinja_value of, jinja_value first,
                        jinja_value last, jinja_value step);
/* An attribute of its own, not of what it holds; MISSING: it has none. */
jinja_value jinja_own_attribute(jinja_run *r, jinja_value of,
                                const jinja_text *name);

/* ---- methods: text.c, case.c, attribute.c ---- */

const jinja_builtin *jinja_method_find(jinja_kind kind, const jinja_text *name);
extern const jinja_builtin jinja_text_methods[], jinja_text_tests[];
extern const size_t jinja_n_text_methods, jinja_n_text_tests;
jinja_value jinja_strip(jinja_run *r, jinja_value text, jinja_value chars,
                        int ends);
jinja_value jinja_split(jinja_run *r, jinja_value text, jinja_value by,
                        int64_t most, bool from_end);
jinja_value jinja_lines(jinja_run *r, jinja_value text, bool keep);
jinja_value jinja_replaced(jinja_run *r, jinja_value text, jinja_value old,
                           jinja_value by, int64_t most);
/* Length in characters; bytes before character i. */
size_t jinja_chars(jinja_text *text);
size_t jinja_byte_of(jinja_run *r, jinja_text *text, size_t i);
jinja_value jinja_part(jinja_run *r, jinja_value text, size_t first,
                       size_t last); /* bytes */

/* ---- case.c ---- */

jinja_value jinja_upper(jinja_run *r, jinja_value text);
jinja_value jinja_lower(jinja_run *r, jinja_value text);
jinja_value jinja_title(jinja_run *r, jinja_value text);
jinja_value jinja_capitalize(jinja_run *r, jinja_value text);
jinja_value jinja_swapcase(jinja_run *r, jinja_value text);
jinja_value jinja_casefold(jinja_run *r, jinja_value text);
bool jinja_is_space(uint32_t code);
bool jinja_is_printable(uint32_t code);
bool jinja_is_alnum(uint32_t code);
/* True: it combines with the character before it, or is one of the few that
 * names may have as it, too. */
bool jinja_is_mark(uint32_t code);
/* May a name have it, as its first character or behind that? */
bool jinja_can_name(uint32_t code, bool first);
bool jinja_all_lower(const jinja_text *t); /* str.islower() */
bool jinja_all_upper(const jinja_text *t);
/* The character at p and its bytes. */
uint32_t jinja_code(const char *p, size_t *n);

/* ---- filter.c, filter_list.c, test.c, global.c, date.c ---- */

#define JINJA_FILTER(name)                                  \
    static jinja_value name(jinja_run *r, jinja_value self, \
                            const jinja_args *args)
/* Is an argument there, and not none? */
bool jinja_is_given(jinja_value v);
/* The truth of an argument that may not be there: false. */
bool jinja_flag(jinja_run *r, jinja_value v);

/* The one of that name in a list; NULL: none is. */
const jinja_builtin *jinja_builtin_find(const jinja_builtin *list, size_t n,
                                        const jinja_text *name);
const jinja_builtin *jinja_filter_find(const jinja_text *name);
const jinja_builtin *jinja_test_find(const jinja_text *name);
/* Is it one of jinja2's own that is not here? */
bool jinja_filter_is_absent(const jinja_text *name);
const jinja_builtin *jinja_global_find(const jinja_text *name);
extern const jinja_builtin jinja_list_filters[];
extern const size_t jinja_n_list_filters;
/* strftime of the run's date. */
jinja_value jinja_date(jinja_run *r, jinja_value format);

/* ---- eval.c, call.c, statement.c ---- */

jinja_value jinja_eval(jinja_run *r, jinja_frame *f, const jinja_node *n);
void jinja_exec(jinja_run *r, jinja_frame *f, const jinja_nodes *body);
void jinja_begin_scope(jinja_run *r, jinja_frame *f,
                       const jinja_entries *enter);
void jinja_end_scope(jinja_frame *f, const jinja_entries *enter);
jinja_frame *jinja_frame_new(jinja_run *r, jinja_frame *outer,
                             const jinja_function *function);
jinja_value *jinja_slot(jinja_frame *f, jinja_ref ref);
jinja_value jinja_call(jinja_run *r, jinja_value callee,
                       const jinja_args *args);
jinja_value jinja_call_builtin(jinja_run *r, const jinja_builtin *b,
                               jinja_value self, const jinja_args *args);
jinja_value jinja_call_node(jinja_run *r, jinja_frame *f, const jinja_node *n,
                            jinja_value caller);
/* A filter or test on `input`; a chain of filters, of a block. */
jinja_value jinja_apply(jinja_run *r, jinja_frame *f, const jinja_node *n,
                        jinja_value input);
jinja_value jinja_filtered(jinja_run *r, jinja_frame *f, const jinja_node *n,
                           jinja_value input);
jinja_value jinja_loop_attribute(jinja_run *r, jinja_loop *loop,
                                 const jinja_text *name);
jinja_value jinja_loop_call(jinja_run *r, jinja_loop *loop,
                            const jinja_args *args);
size_t jinja_loop_length(jinja_run *r, jinja_loop *loop);

/* A macro, or the body of a call block. */
struct jinja_macro {
    const jinja_node *node;
    jinja_frame *frame; /* the frame in which it was made */
};
struct jinja_loop {
    jinja_iter *iter;
    jinja_value source;
    int64_t index; /* the index, from 0 */
    size_t depth;
    bool has_length, has_after;
    size_t length;
    jinja_value before, current, after, changed;
    const jinja_node *node;
    jinja_frame *frame; /* the frame in which a recursive loop stands */
};

bool jinja_text_is(const jinja_text *t, const char *p);

#endif
