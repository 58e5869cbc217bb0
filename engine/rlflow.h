/* rlflow: reinforcement learning of language models as a dataflow program.
 *
 * The library behind the `rlflow` command. A session is one program with its
 * parameters; it is compiled when it is first needed, then trained a step at a
 * time:
 *
 *     rlf_session *s = rlf_session_open("ppo.rlf");
 *     rlf_session_set(s, "lr", "1e-5");
 *     while (rlf_session_step(s) == RLF_RESULT_OK)
 *         printf("%g\n", rlf_session_metric(s, "reward"));
 *     if (rlf_session_failed(s))
 *         fputs(rlf_session_message(s), stderr);
 *     rlf_session_close(s);
 *
 * Rules of all calls:
 *
 *   threads    A session is used by one thread at a time, which needs a stack
 *              of 8 MB, as threads usually have, but for rlf_session_stop and
 *              rlf_session_doing. Functions that a session was given call no
 *              others of that session, where nothing else is said. A process
 *              may have several sessions; there is no global state.
 *   ownership  What is returned as `const` belongs to the session and is valid
 *              until its next call, where nothing else is said. What is given
 *              is copied, but for functions with their `arg` and what that
 *              points to, which have to last as long as the session.
 *   NULL       A session that is NULL is one for which there was no memory: it
 *              may be given to every function, and has failed with
 *              RLF_RESULT_MEMORY and a message. No other pointer may be NULL
 *              where nothing else is said: the call is refused, with
 *              RLF_RESULT_USAGE and its name, or a question has no answer.
 *   errors     A call that does something returns an rlf_result, or has NULL
 *              for an error. After an error the session has failed: it has the
 *              result (rlf_session_status) and the message of that first error
 *              to its end, and every further call that does something returns
 *              that result, or NULL, and does nothing. An impossible call
 *              (RLF_RESULT_USAGE) is such an error. Questions have answers as
 *              before; the session can be finished, and has to be closed.
 *              Whoever reads files beside a run (rlf_session_tokenize) opens
 *              another session for that, whose errors do not end the run.
 *   locale     Numbers are read and written with a point, whatever setlocale was
 *              told; so it is for the thread of a call, LC_NUMERIC alone, in
 *              the functions that the call calls.
 *   questions  All other calls are questions. They run nothing, and a session
 *              never fails by them. What is not there by that name, or has no
 *              number i, is NULL, NaN or 0; rlf_session_why says why. Lists are
 *              asked with i = 0, 1, ... until NULL.
 *
 * Versions: MAJOR.MINOR.PATCH. Within one MAJOR (the number of librlflow.so)
 * functions are only added, an enum gets new values only at its end, and a
 * struct new members only at its end: structs are made by the library alone and
 * reached by pointer, so that a program runs with every later MINOR. While
 * MAJOR is 0 a new MINOR may change anything. RLF_VERSION is that of this
 * header, rlf_version() that of the library at hand. */
#ifndef RLFLOW_H
#define RLFLOW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RLF_PUBLIC __attribute__((visibility("default")))
#else
#define RLF_PUBLIC
#endif

#define RLF_VERSION "0.1.0"

typedef struct rlf_session rlf_session;

/* The result of a call. The absolute values of -1 to -3 are the exit statuses
 * of the command, for which the others are failures (3). */
typedef enum rlf_result {
    RLF_RESULT_OK = 0,
    RLF_RESULT_END = 1,     /* no further step: the run is complete */
    RLF_RESULT_STOPPED = 2, /* no further step: it was told to end */
    RLF_RESULT_PROGRAM =
        -1, /* the program, its parameters or its data are wrong */
    RLF_RESULT_USAGE = -2,  /* an impossible call or option */
    RLF_RESULT_FAILED = -3, /* failed while running */
    RLF_RESULT_MEMORY = -4, /* there is no memory for it */
    RLF_RESULT_CUT = -5     /* it was told to end, before it was done */
} rlf_result;

/* ---- the library ---- */

/* "0.1.0", of the library. */
RLF_PUBLIC const char *rlf_version(void);

typedef struct rlf_build_fact {
    const char *name, *value; /* "MPI" and "openmpi" */
} rlf_build_fact;

/* Describes what the library was built with. Never goes. */
RLF_PUBLIC const rlf_build_fact *rlf_build(size_t i);
/* The number of this process among those that a launcher (mpiexec, srun)
 * started; 0 where there is none. */
RLF_PUBLIC int rlf_process(void);
/* The command of that launcher and how many they are; NULL and 1: none.
 * `processes` may be NULL. */
RLF_PUBLIC const char *rlf_launcher(int *processes);
/* Called with a number of bytes when there is no memory for something small, by
 * whatever thread; must not return. NULL, as at first: the process ends with a
 * sentence on the standard error. */
RLF_PUBLIC void rlf_memory_on_failure(void (*handler)(size_t n));

/* ---- a session ---- */

/* A session for the program in file `path`. NULL if there is not even memory
 * for that (4.5 MB, which it keeps to end in an orderly way when there is no
 * more later). */
RLF_PUBLIC rlf_session *rlf_session_open(const char *path);
/* A session for a program of n bytes that is no file: messages call it `path`,
 * in whose directory (of a file that need not be there) its imports, data,
 * models and hooks are looked for; "": program.rlf. A run keeps a copy of it
 * like one of a file. A text of more than 16 MiB is refused. */
RLF_PUBLIC rlf_session *rlf_session_open_text(const char *path,
                                              const char *text, size_t n);
/* Ends a run as it is, also before its end, and the session, failed or not.
 * What is returned is how that end went, whatever came before:
 * RLF_RESULT_FAILED if the trace or the log could not be written completely, or
 * if another process of the run was lost meanwhile, but for a run that was told
 * to end. */
RLF_PUBLIC rlf_result rlf_session_close(rlf_session *session);
/* Ends a run as rlf_session_close does, but keeps the session: it can still be
 * asked for the error of that, which its message has behind the first one, and
 * has to be closed. Of its run no more is known, and a step is RLF_RESULT_END.
 * Again, and then by rlf_session_close, the result is the same. */
RLF_PUBLIC rlf_result rlf_session_finish(rlf_session *session);

/* Set a parameter of the program, or an option of the run: before the program
 * is compiled. Names of options begin with "--", and are those of the command
 * (see rlf_session_option and rlflow(1)): "--seed", "--steps", "--out" (the
 * run's directory: without it nothing is written)... The value of a switch such
 * as "--resume" is "1" or "0".
 *
 * Under mpiexec or srun every process opens a session and takes steps; process
 * 0 sees all steps and metrics, in the others the first step is the whole run.
 * When it failed, closing the session ends all processes. */
RLF_PUBLIC rlf_result rlf_session_set(rlf_session *session, const char *name,
                                      const char *value);
/* As rlf_session_set, with the value of an environment variable, which messages
 * about the value name. */
RLF_PUBLIC rlf_result rlf_session_set_from(rlf_session *session,
                                           const char *name, const char *value,
                                           const char *variable);
/* Before the session is ready: without "--out" the run has a directory all the
 * same, in runs/, called as the program, with a number behind it where that is
 * taken. */
RLF_PUBLIC void rlf_session_choose_directory(rlf_session *session);
/* Compile and check; rlf_session_step does it if it was not done before. */
RLF_PUBLIC rlf_result rlf_session_check(rlf_session *session);
/* Compile and plan: where everything runs, of the devices at hand or those of
 * "--cluster". Nothing is opened. */
RLF_PUBLIC rlf_result rlf_session_plan(rlf_session *session);
/* Compile, plan, and open models and data: everything short of the first step,
 * which does it if it was not done before. */
RLF_PUBLIC rlf_result rlf_session_ready(rlf_session *session);
/* As rlf_session_ready, of a dry run: no weights are read, nothing is written,
 * and it is known then what a run would need. Refused of a session that is
 * ready or finished; after it rlf_session_ready, a step and a checkpoint are.
 */
RLF_PUBLIC rlf_result rlf_session_dry_run(rlf_session *session);
/* Train one step. RLF_RESULT_END when all steps are done (--steps, one epoch,
 * or the program's break). */
RLF_PUBLIC rlf_result rlf_session_step(rlf_session *session);
/* Save a checkpoint now. Refused without "--out", before the session is ready,
 * of a run that was told to end before its first step, after
 * rlf_session_finish, and of a dry run. Process 0 saves; in others it does
 * nothing. */
RLF_PUBLIC rlf_result rlf_session_save(rlf_session *session);
/* The last step that has a checkpoint; 0: none. */
RLF_PUBLIC uint64_t rlf_session_saved(rlf_session *session);

/* ---- telling a run to end ---- */

/* By a signal handler or any thread, at any time: the run is to end, for the
 * signal of that number; what is the number of no signal (0, -7) is SIGTERM.
 * The first number counts, but for SIGUSR1, which any other replaces. The step
 * at work is finished, unless a call of a Lua function in it takes longer than
 * "--grace" seconds: then rlf_session_step fails with RLF_RESULT_CUT. The next
 * call of it saves a checkpoint, if there is a directory, and returns
 * RLF_RESULT_STOPPED; or RLF_RESULT_END where that was the last step. That is
 * no error: the session has not failed. Of several processes any may be told,
 * and all end. A run that is told before its first step leaves nothing and
 * takes none, but that SIGUSR1 waits for the end of the first one. A function
 * of rlf_session_hook is waited for, however long it takes. What is no run goes
 * on (rlf_session_generate, _search, _simulate, _profile): the function that
 * watches it ends it. */
RLF_PUBLIC void rlf_session_stop(rlf_session *session, int number);
/* The number that it has ended for, here or in another process; 0: none. */
RLF_PUBLIC int rlf_session_stopped(const rlf_session *session);

/* The process is to end, for a call in it cannot: ends it, after it has printed
 * the message, if that is not empty. Must not return. Called by another thread
 * than that of the session: with the number of rlf_session_stop while a run
 * opens, of which nothing is left then; with 0 where the thread that takes a
 * step hangs, for more than "--patience" seconds. */
typedef void rlf_leave_function(void *arg, int number, const char *message);
/* Without one (NULL) a run that opens does that to its end, and one that hangs
 * does. Also of a session that has failed, whose result is returned. */
RLF_PUBLIC rlf_result rlf_session_leave(rlf_session *session,
                                        rlf_leave_function *function,
                                        void *arg);

/* ---- options ---- */

typedef struct rlf_option_info {
    const char *name;     /* "--seed" */
    const char *argument; /* what it takes, as in "N" or "cpu|cuda|auto"; "": a
                             switch */
    const char *doc;      /* a sentence, with its default */
} rlf_option_info;

/* Lists what rlf_session_set takes beside parameters; never goes. */
RLF_PUBLIC const rlf_option_info *rlf_session_option(size_t i);

/* ---- functions of this program ---- */

/* Takes lines of the log, whole and without their end: there is no line feed in
 * them, no control character but tabs, and nothing that is no UTF-8; such bytes
 * of names and texts are written as \010, in decimal. `level` from 0: error,
 * warn, info, debug, trace. Called by the threads of ranks, by several at
 * once. */
typedef void rlf_log_function(void *arg, int level, const char *line);
/* The log goes there instead of to the standard error, unless "--log" names a
 * file; with NULL as before. Which lines there are RLFLOW_LOG says; without it
 * errors, and what Lua functions print. Also of a session that has failed,
 * whose result is returned. */
RLF_PUBLIC rlf_result rlf_session_log(rlf_session *session,
                                      rlf_log_function *function, void *arg);

/* A sample that a hook is called for, during the call. Its fields are those
 * that a Lua hook gets: prompt, response, length, finished, tokens, those of
 * its data row, and the labelled arguments of the call. */
typedef struct rlf_hook_sample rlf_hook_sample;

/* A field that is a text, of *n bytes and without a 0 behind them; NULL if
 * there is none. `n` may be NULL. */
RLF_PUBLIC const char *rlf_hook_sample_text(const rlf_hook_sample *sample,
                                            const char *name, size_t *n);
/* A field that is a number, or 1 and 0 for true and false; else NaN. */
RLF_PUBLIC double rlf_hook_sample_number(const rlf_hook_sample *sample,
                                         const char *name);
/* The response as *n tokens of the model; NULL: there is none. `n` may be
 * NULL. */
RLF_PUBLIC const int32_t *rlf_hook_sample_tokens(const rlf_hook_sample *sample,
                                                 size_t *n);

/* Puts the value of a sample, a finite number, into *value and returns NULL; or
 * a sentence that says why there is none, which ends the run as an error in Lua
 * does (or `on_error:` of the hook stands in). The sentence has to last until
 * the next call by that thread. A run is a function of what is written
 * down, so this has to be a function of the sample alone. Called by the threads
 * of ranks, by several at once where there are several. */
typedef const char *rlf_hook_function(void *arg, const rlf_hook_sample *sample,
                                      double *value);
/* The function behind `hook NAME = host()` in the program, before the session
 * is ready; of several for one name the last. A program that has no such hook
 * is warned of (rlf_session_warnings) once the session is ready. */
RLF_PUBLIC rlf_result rlf_session_hook(rlf_session *session, const char *name,
                                       rlf_hook_function *function, void *arg);

/* ---- what a program is ---- */

/* The directory that "std/..." of programs means: RLFLOW_STDLIB, or that which
 * was installed with the library, also where all of that was moved. */
RLF_PUBLIC const char *rlf_session_stdlib(rlf_session *session);

typedef struct rlf_parameter {
    const char *name, *type;
    const char *value; /* as it was set, or its default; NULL: it has to be set
                        */
    const char *doc;   /* a sentence, or NULL */
    const char *where; /* the declaration that has it; "": the program */
} rlf_parameter;

/* The parameters, of which none need be set; NULL, with a message, where their
 * declarations are wrong. Of a session that was not compiled before no more is
 * read: they can be set then, and a step compiles all of it. */
RLF_PUBLIC const rlf_parameter *rlf_session_parameter(rlf_session *session,
                                                      size_t i);
/* The dataflow graph of the program: "text", "dot", "json", or "svg", a picture;
 * NULL for another format. The program is compiled as by rlf_session_check: NULL, with a
 * message, where that fails. */
RLF_PUBLIC const char *rlf_session_graph(rlf_session *session,
                                         const char *format);
/* The text of the program in the standard form, as it was compiled, or as it is
 * in its file if it was not: that needs no more than the syntax to be right.
 * NULL, with a message, where that is wrong. */
RLF_PUBLIC const char *rlf_session_format(rlf_session *session);
/* Write that into its file, unless it is what stands there. Refused of a
 * program that is no file. */
RLF_PUBLIC rlf_result rlf_session_format_file(rlf_session *session);

/* ---- what a session knows of itself ---- */

typedef struct rlf_info {
    const char *path;       /* the program's file, as it was given */
    const char *name;       /* the flow's name; NULL: it is not compiled yet */
    uint64_t nodes, values; /* numbers of nodes and values of the graph */
    int automatic;          /* 'place auto': a search finds where calls run */
    int leads;              /* this process sees steps and writes files */
    uint64_t seed;
    const char *directory; /* the run's; NULL: it leaves nothing behind */
    int single;            /* the run has one step, since the flow draws no rows
                            */
    int resumes;           /* "--resume" was given */
    uint64_t resumed;      /* the step that the run went on from; 0: it began
                              anew */
    const char *killed;    /* what the run before was doing when it was killed,
                              or NULL */
    int ended;             /* the program's break has ended it */
    uint32_t pauses;       /* how often this process was found to have been
                              stopped (SIGSTOP), and to go on */
    double step_seconds;   /* seconds of the last step */
    uint64_t step_tokens;  /* tokens generated for the last step */
} rlf_info;

/* At this moment, until it is asked again; before the session is ready not all
 * of it is known. */
RLF_PUBLIC const rlf_info *rlf_session_info(rlf_session *session);

/* The texts that rlflow prints of a session, in lines. */
typedef enum rlf_text {
    RLF_TEXT_PLAN = 0, /* the plan as a place block, that "--plan" takes */
    RLF_TEXT_EDGES,    /* messages from rank to rank in a step of the plan, its
                          pipelines and pages, in comments */
    RLF_TEXT_CLUSTER,  /* the cluster that is planned for, in comments; NULL:
                          there is none */
    RLF_TEXT_FIT,   /* a comment if rlf_session_fit could not be sure, or "" */
    RLF_TEXT_NOTES, /* messages: what data and models have to say, what a
                       simulation and a search do not know, what a profile
                       had no time for */
    RLF_TEXT_UPDATES, /* updates that take a second forward pass */
    RLF_TEXT_NEEDS, /* after rlf_session_dry_run: caps, the work of a step, the
                       memory of each rank that differs */
    RLF_TEXT_SIMULATION, /* after rlf_session_simulate: tables, a picture */
    RLF_TEXT_SEARCH,     /* after rlf_session_search: a table, in comments */
    RLF_TEXT_SEARCHED,   /* that table with all placements that were tried, and
                            each call */
    RLF_TEXT_PROMISE, /* of 'place auto': how long a step is to take, or "" */
    RLF_TEXT_PROFILE, /* after rlf_session_profile: a profile file */
    RLF_TEXT_OUTCOME, /* of 'place auto': the promised seconds of a step beside
                         those that the run has taken, or "" */
    RLF_TEXT_SAVED,   /* after an error in a step: which steps are saved */
    RLF_TEXT_STOPPED, /* of a run that was told to end before its first step: by
                         what, and that nothing was begun, or "" */
    RLF_TEXT_EXPLANATION /* after rlf_session_dry_run: each statement in
                            words */
} rlf_text;

/* NULL: what it is about is not there yet. */
RLF_PUBLIC const char *rlf_session_text(rlf_session *session, rlf_text which);

/* The bytes that a rank needs of memory for one purpose, in bytes: device as it
 * is allocated (of a rank on a CPU the machine's memory), host at most. */
typedef struct rlf_need {
    const char *owner, *purpose; /* "actor", "gradients" */
    uint64_t device, host;
} rlf_need;

/* After rlf_session_dry_run. */
RLF_PUBLIC const rlf_need *rlf_session_need(rlf_session *session, int rank,
                                            size_t i);
/* Does it fit: after rlf_session_dry_run into the memory of this machine, else
 * the plan into the devices of "--cluster"? RLF_RESULT_PROGRAM, with what is
 * missing and what would help. Where models cannot be read RLF_RESULT_OK, and
 * without "--cluster". Refused before there is a plan. */
RLF_PUBLIC rlf_result rlf_session_fit(rlf_session *session);

/* ---- data ---- */

/* Describes what the files hold that data of a program would read at `path` (a
 * file, a pattern, a folder), `split` of it or NULL: the columns as a program
 * gets them, how long their texts are, and the first `rows` rows. With
 * `tokenizer`, the path of one, lengths are in tokens, and rows are as a model
 * reads them, with special tokens between angle quotes, and what the assistant
 * says in a conversation, whose tokens are learned, between white square
 * brackets (U+27E6 and U+27E7). `tokenizer` may be NULL. A text that the
 * session keeps; NULL, with a message. */
RLF_PUBLIC const char *rlf_session_data(rlf_session *session, const char *path,
                                        const char *split,
                                        const char *tokenizer, size_t rows);

/* ---- models ---- */

/* Describes what the directory `path` is as a model, as a text in lines, or
 * (`json`) as a JSON object: its family, sizes, parameters by what they are
 * for, the types in its files, tokenizer and chat template, end tokens and the
 * file that names them, and the bytes that one rank would take to read, to
 * generate and to train. No weights are read, and the session needs no program.
 * It names all that is not supported, with the reason, and then the session has
 * failed with the first of that (RLF_RESULT_PROGRAM) although there is a text.
 * The session keeps it. NULL, with a message: there is no such directory. */
RLF_PUBLIC const char *rlf_session_model(rlf_session *session, const char *path,
                                         int json);

/* Write the model in the directory `model` with the adapter in the directory
 * `adapter`, of the PEFT library or a run's, in its weights, as `directory`,
 * which must not be there: config.json, generation_config.json, safetensors in
 * the types of the model's, and the tokenizer's files. It has that name once
 * all of it is written, and is else removed. The session needs no program. A
 * line that says what was written, which the session keeps; NULL, with a
 * message. */
RLF_PUBLIC const char *rlf_session_merge(rlf_session *session,
                                         const char *model, const char *adapter,
                                         const char *directory);

/* ---- tokenizers ---- */

/* A token of a text. */
typedef struct rlf_token {
    int32_t id;
    int special;      /* it is none of a user's text, as "<s>" is */
    const char *text; /* the bytes that the token stands for, perhaps a part of
                         a character; of a special token its name */
    size_t n;         /* number of bytes of `text` */
} rlf_token;

/* A text as models read it: of n bytes, with a 0 behind it, and its tokens. The
 * session keeps it until it is asked for the next. */
typedef struct rlf_tokens {
    const char *text;
    size_t n;
    const rlf_token *tokens;
    size_t count;
} rlf_tokens;

/* A text of n bytes as a program reads it that has it as prompt, by the
 * tokenizer at `path`: the directory of a model or a tokenizer, or a
 * tokenizer.json. Special tokens that it names are such, and those are there
 * that the tokenizer puts before or behind texts. The session needs no program
 * for this and what follows; the tokenizer stays open for the next call. NULL,
 * with a message: no tokenizer is there, or it cannot write the text. */
RLF_PUBLIC const rlf_tokens *rlf_session_tokenize(rlf_session *session,
                                                  const char *path,
                                                  const char *text, size_t n);
/* As rlf_session_tokenize, of `count` texts, texts[i] of n[i] bytes, on all
 * cores: what is returned has them in their order. *done are as many as could
 * be written from the first on; if these are not all, there is a message why
 * not. NULL, with a message: no tokenizer is there. */
RLF_PUBLIC const rlf_tokens *
rlf_session_tokenize_all(rlf_session *session, const char *path,
                         const char *const *texts, const size_t *n,
                         size_t count, size_t *done);
/* As rlf_session_tokenize, of a chat, after which the assistant is to speak, by
 * the template that the tokenizer comes with: n bytes of JSON, a list of
 * messages or an object whose "messages" are one. A message has a role, a
 * content, and what else the template reads. The text is the one that the
 * template writes. Without `messages` (NULL) the tokenizer and the template are
 * only opened. */
RLF_PUBLIC const rlf_tokens *rlf_session_chat(rlf_session *session,
                                              const char *path,
                                              const char *messages, size_t n);
/* The text of n tokens, special ones by their names. NULL, with a message, also
 * where a number is none of a token. */
RLF_PUBLIC const rlf_tokens *rlf_session_detokenize(rlf_session *session,
                                                    const char *path,
                                                    const int32_t *ids,
                                                    size_t n);

/* ---- answers ---- */

/* An answer to a prompt, or what there is of it so far. */
typedef struct rlf_answer {
    size_t prompt; /* index of the prompt among those that waited, from 0 */
    size_t sample; /* index among the answers to that prompt ("--n"), from 0 */
    const char
        *asked;       /* the prompt as the model reads it, with a 0 behind it */
    size_t n_asked;   /* number of bytes of `asked`, without the 0 */
    const char *text; /* the answer without special tokens: whole characters,
                         with a 0 behind them */
    size_t n;         /* number of bytes of `text`, without the 0 */
    const int32_t *ids; /* [count] the tokens of the answer, with its end token
                         */
    const float *logprobs; /* [count] natural logarithms of the tokens'
                              probabilities when they were sampled, at the
                              temperature */
    size_t count;          /* number of tokens */
    int done;              /* the answer gets no more tokens */
    int finished; /* the answer ended by itself, not by "--max_new", the context
                     or the watching function */
    int cut;      /* the watching function ended the answer */
} rlf_answer;

/* A prompt that waits for its answers by the model in directory `model`: a text
 * of n bytes, or (`chat`) JSON as rlf_session_chat takes it. The session needs
 * no program; one answers by one model. Without `text` (NULL) no prompt is
 * added: a message is about the model, its tokenizer or template. */
RLF_PUBLIC rlf_result rlf_session_prompt(rlf_session *session,
                                         const char *model, const char *text,
                                         size_t n, int chat);
/* As rlf_session_prompt, for each row of the data at `path` (a file, a pattern,
 * a folder), whose column `field` has texts or chats. With `chat` texts are
 * what a user says; `system`, or NULL, stands before that, and before chats
 * without such a message. */
RLF_PUBLIC rlf_result rlf_session_prompt_rows(rlf_session *session,
                                              const char *model,
                                              const char *path,
                                              const char *field,
                                              const char *system, int chat);
/* Called with each answer that has become longer, or is done. Not 0: all end
 * where they are. */
typedef int rlf_answer_function(void *arg, const rlf_answer *answer);
/* Answer all prompts that wait, by what "--max_new" (512), "--n",
 * "--temperature", "--top_k", "--top_p", "--min_p", "--greedy", "--stop" and
 * "--seed" say, on "--device" in "--dtype" by "--threads"; by the model with
 * the adapter in "--lora". The model is opened for the first call, and stays.
 * An answer depends on the model, its prompt, these, and its number: in the
 * first call it is what model.generate(data, ...) makes of row `prompt` in a
 * program that does nothing else but report; each later call draws anew.
 * `watch` may be NULL. */
RLF_PUBLIC rlf_result rlf_session_generate(rlf_session *session,
                                           rlf_answer_function *watch,
                                           void *arg);
/* The answers of the last call, prompt by prompt, until a prompt is added; and
 * within `watch` those of the call that it is called by. */
RLF_PUBLIC const rlf_answer *rlf_session_answer(rlf_session *session, size_t i);

/* ---- evaluation ---- */

/* Before the session is compiled: its program becomes that of its evaluations,
 * the metrics that are means over answers to data which no step draws. Each
 * step then answers the next rows, and RLF_RESULT_END comes after the last.
 * `model`: the directory of what is evaluated in the place of the model that
 * the program trains: a model, an adapter of the program's, a checkpoint (there
 * the one of that name), or a run, its last checkpoint; NULL: its own at first.
 * "--n" says how many answers to each prompt, "--temperature" how they are
 * sampled, "--limit" how many rows there are; else the program does. The
 * samples of a step are all its answers. */
RLF_PUBLIC rlf_result rlf_session_evaluate(rlf_session *session,
                                           const char *model);

/* A metric over the prompts that were answered so far. */
typedef struct rlf_score {
    const char *metric;
    size_t all;     /* number of prompts of the evaluation */
    size_t prompts; /* number of prompts answered so far, from the first */
    size_t samples; /* number of answers to each prompt */
    const double *values; /* [prompts][samples] values of the metric */
    double mean;          /* mean over prompts; NaN: there are none */
    double low, high;     /* interval of 95 % of the mean */
    int binary;           /* all values are 0 or 1 */
    int binomial; /* the interval is Clopper's and Pearson's of a share, since
                     each prompt has one answer and all values are 0 or 1; it is
                     exact if the metric can have no other values. Else the
                     interval is a bootstrap over prompts */
} rlf_score;

/* All metrics of an evaluation, from when it is ready; also of a session that
 * was finished, until it is closed. Their numbers are those of the last
 * call. */
RLF_PUBLIC const rlf_score *rlf_session_score(rlf_session *session, size_t i);
/* Computes how likely one of k answers to a prompt is 1, without bias (Chen et
 * al. 2021), mean over prompts; NaN where values are not binary or k is not
 * from 1 to samples. */
RLF_PUBLIC double rlf_score_pass(const rlf_score *score, size_t k);

/* The mean of one score minus that of another, prompt by prompt. */
typedef struct rlf_difference {
    size_t prompts;   /* number of prompts that both have answered */
    double mean;      /* mean difference over prompts; NaN: there are none */
    double low, high; /* interval of 95 % of the mean, by bootstrap over prompts
                       */
} rlf_difference;

/* Score i minus `other`, of the same metric of another session; NULL where it
 * is of another metric. */
RLF_PUBLIC const rlf_difference *
rlf_session_difference(rlf_session *session, size_t i, const rlf_score *other);

/* ---- this machine ---- */

/* Describes this machine, as a text in lines: cores, memory, disk, limits,
 * GPUs, launchers, how fast products, memory and the disk are, which is
 * measured in about two seconds with a small file in `directory` (NULL: the
 * present one) that is removed again, and what would help. What cannot be
 * measured is said with its reason. The session needs no program, and keeps the
 * text. NULL: an earlier call has failed. */
RLF_PUBLIC const char *rlf_session_machine(rlf_session *session,
                                           const char *directory);

/* ---- a program that is being written ---- */

/* What an editor asks of a program that rlf_session_open_text has, with errors
 * or half written. Lines and columns are counted from 1, in bytes; a column may
 * be the one behind the last of its line. */

/* Of a file that the program imports, the n bytes that stand for what is on the
 * disk: before rlf_session_look, which alone regards them. */
RLF_PUBLIC rlf_result rlf_session_edit(rlf_session *session, const char *path,
                                       const char *text, size_t n);
/* Compiles as rlf_session_check does, with the same diagnostics, and keeps what
 * names mean for the questions below, also after an error (the session has
 * failed then). A file that declares parameters and functions alone needs no
 * flow. Refused of a session that was compiled. */
RLF_PUBLIC rlf_result rlf_session_look(rlf_session *session);

typedef struct rlf_program_place {
    const char *path;              /* NULL: it has none */
    uint32_t line, column, length; /* length 0: the point before it */
} rlf_program_place;

typedef struct rlf_name_meaning {
    rlf_program_place name;       /* the name that was asked for */
    const char *code;          /* its declaration, or how it is called; or NULL
                                */
    const char *value;         /* "one per sample of 'roll', at most 256 in a
                                  step"; or NULL */
    const char *doc;           /* or NULL */
    const char *arguments;     /* lines "- n: whole number = 1: TEXT"; or NULL
                                */
    rlf_program_place definition; /* path NULL: it is built in. Of a path in
                                     quotes the file's beginning */
} rlf_name_meaning;

/* The name at a place of the program's text. */
RLF_PUBLIC const rlf_name_meaning *
rlf_session_meaning(rlf_session *session, uint32_t line, uint32_t column);

/* A place of the program's own text whose name means what is declared at
 * `definition`, as rlf_session_meaning has it, in order; that itself is one of
 * them if it is in this text. NULL: there are no more, or it is no name. */
RLF_PUBLIC const rlf_program_place *
rlf_session_reference(rlf_session *session, const rlf_program_place *definition,
                      size_t i);

typedef struct rlf_proposal {
    const char *name;
    const char *kind;   /* "keyword", "function", "constructor", "argument",
                           "field", "method", "value", "model", "data", "hook",
                           "state", "param", "file", "level" */
    const char *detail; /* what it is, in a line; or NULL */
    const char *doc;    /* or NULL */
    uint32_t column;    /* where the word begins that it would stand for */
} rlf_proposal;

/* What can stand where the word begins that ends at a place, whatever its
 * letters are; in the order of names. */
RLF_PUBLIC const rlf_proposal *rlf_session_proposal(rlf_session *session,
                                                    uint32_t line,
                                                    uint32_t column, size_t i);

typedef struct rlf_symbol {
    const char *name;
    const char *kind;          /* the word that declares it: "def"; or "value" */
    const char *detail;        /* or NULL */
    int depth;                 /* 0; 1: the flow before it names it */
    rlf_program_place name_place; /* its name */
    rlf_program_place place;      /* all of it */
} rlf_symbol;

/* What the program's own file declares, and what its flow names. */
RLF_PUBLIC const rlf_symbol *rlf_session_symbol(rlf_session *session, size_t i);

/* ---- clusters ---- */

typedef struct rlf_cluster_text {
    const char *name;
    const char *text; /* as a cluster file has it, with what it holds in
                         comments */
} rlf_cluster_text;

/* Is the session's file, or text, one of clusters, or empty, and no program? It
 * is read; an empty one fails the session, and 0 is the answer of a session that
 * has failed or was compiled. */
RLF_PUBLIC int rlf_session_is_cluster(rlf_session *session);
/* The clusters of such a file, which is checked. Only NULL, with a message,
 * where something in it is wrong, or it is a program or not there. */
RLF_PUBLIC const rlf_cluster_text *rlf_session_cluster(rlf_session *session,
                                                       size_t i);
/* The one that "--cluster" calls so; NULL, with a message: there is none. */
RLF_PUBLIC const rlf_cluster_text *
rlf_session_cluster_called(rlf_session *session, const char *name);

/* ---- what a run has come to ---- */

/* The name of what is being computed, "actor.generate", or "": at most room - 1
 * bytes and a 0, whose number is returned. By any thread, from when the session
 * is ready to when it ends. */
RLF_PUBLIC size_t rlf_session_doing(const rlf_session *session, char *text,
                                    size_t room);
/* The number of the last step, and of all steps of the run; 0: not known. */
RLF_PUBLIC uint64_t rlf_session_steps(const rlf_session *session);
RLF_PUBLIC uint64_t rlf_session_steps_wanted(const rlf_session *session);
/* A metric of the last step; NaN if it was not reported, with the reason in
 * rlf_session_why, or if it is no number: then that is "". */
RLF_PUBLIC double rlf_session_metric(const rlf_session *session,
                                     const char *name);
/* The names of the metrics so far. */
RLF_PUBLIC const char *rlf_session_metric_name(const rlf_session *session,
                                               size_t i);
/* The samples of the last step, each as a JSON object with the fields of
 * samples.jsonl (rlflow(1)); valid until the next step. */
RLF_PUBLIC const char *rlf_session_sample(rlf_session *session, size_t i);

/* A tensor of a model in f32, as the last step left it. */
typedef struct rlf_weight {
    const char *name;    /* the tensor's name in Hugging Face files */
    uint64_t rows, cols; /* a vector has rows, and cols 1 */
    const float *data;   /* [rows][cols], in the session's own memory: to be
                            read only */
} rlf_weight;

/* The tensors of the model that the program calls so, from when the session is
 * ready, also after its last step, to when it is finished or has failed: in the
 * memory in which they are trained, which the next step changes. It can be read
 * until the session is closed, also when it was finished. NULL for the first,
 * with the reason in rlf_session_why, where no rank of this process has the
 * whole model in its memory: parts of it (tp, pp), a GPU; or where it is kept as
 * its products read it, as a model that is not trained is. Those can be
 * gathered. */
RLF_PUBLIC const rlf_weight *rlf_session_weight(rlf_session *session,
                                                const char *model, size_t i);
/* Copies the weights of any model of the program into the memory of this
 * process, in all their bits and in the shapes that files have, from whatever
 * ranks hold them, in process 0: they are what a checkpoint of this moment has;
 * of a model with adapters these alone. What a program makes ahead is finished
 * before. Refused where rlf_session_gathers has no names, and of a model that
 * the program does not have. In other processes it does nothing. */
RLF_PUBLIC rlf_result rlf_session_gather(rlf_session *session,
                                         const char *model);
/* The tensors that were gathered last, until others are, or the session is
 * closed. NULL for the first, with the reason: none were, or the rank that
 * writes them in checkpoints is of another process, which has them. */
RLF_PUBLIC const rlf_weight *rlf_session_gathered(rlf_session *session,
                                                  size_t i);
/* The names of the models that can be gathered now: all of the program, from
 * when the session is ready to when it is finished or has failed. */
RLF_PUBLIC const char *rlf_session_gathers(rlf_session *session, size_t i);

/* ---- long work ---- */

typedef enum rlf_phase {
    RLF_PHASE_LAYOUTS = 0,  /* what layouts take is worked out */
    RLF_PHASE_SEARCH = 1,   /* placements or schedules are tried */
    RLF_PHASE_SIMULATE = 2, /* the best of them are simulated */
    RLF_PHASE_MEASURE = 3   /* steps are taken, of a profile */
} rlf_phase;

/* The progress of a search; valid during the call that it is given to. */
typedef struct rlf_progress {
    rlf_phase phase;
    double done, of;  /* `done` of `of` parts of the phase are complete; of 0:
                         their number is not known */
    double best;      /* seconds of the shortest step so far; NaN: none yet */
    double bound;     /* seconds below which no step is; 0: not known */
    const char *text; /* RLF_PHASE_MEASURE: a text of what is measured, or, once
                         `done` is 1, of its results */
} rlf_progress;

/* Called now and then by the thread that asked for the work. Not 0: it ends
 * with the best so far. */
typedef int rlf_watch_function(void *arg, const rlf_progress *progress);

/* A placement that a search has evaluated, with what a step of it takes on
 * average over a run; NaN: not known, or there is no room for it. */
typedef struct rlf_candidate {
    const char *name; /* "search-1", or its origin: "program", "first-2" */
    double estimate;  /* seconds of a step, by the estimate */
    double step;      /* seconds of a step, by simulation */
    double tokens;    /* tokens a second: generated ones, or trained ones where
                         none are generated */
    double idle; /* idle time as a part, 0 to 1, of the time of all ranks */
    double memory;    /* bytes of the rank that takes most */
} rlf_candidate;

/* Find where everything runs best on the devices of "--cluster"; options are
 * "--moves", "--seed", "--time-limit", "--keep-rows", "--lengths", "--prompts".
 * `watch` may be NULL. The best, which becomes the session's plan
 * (RLF_TEXT_PLAN); NULL after an error, RLF_RESULT_CUT where it was ended
 * before there was any. Refused of a session that is ready, which has its plan;
 * again it is the same candidate. */
RLF_PUBLIC const rlf_candidate *
rlf_session_search(rlf_session *session, rlf_watch_function *watch, void *arg);
/* All that were evaluated, the search's own first. */
RLF_PUBLIC const rlf_candidate *rlf_session_candidate(rlf_session *session,
                                                      size_t i);

/* The seconds that simulated steps take on average over a run. */
typedef struct rlf_simulation {
    uint32_t steps; /* number of steps that were counted */
    double step;    /* seconds of a step */
    double tokens;  /* tokens a second: generated ones, or trained ones where
                       none are generated */
    double idle;    /* idle time as a part, 0 to 1, of the time of all ranks */
} rlf_simulation;

/* Steps of the plan on the devices of "--cluster": "--steps", or as many as
 * tell how long one takes; with "--seed", "--lengths" and "--prompts". NULL
 * after an error. */
RLF_PUBLIC const rlf_simulation *rlf_session_simulate(rlf_session *session);
/* Run the program for some steps on 1, 2, 4... "--ranks" of this machine, its
 * models cut in all ways, for about "--time-limit" seconds: what its pieces
 * took is RLF_TEXT_PROFILE, which "--profile" takes. Of a session that was not
 * compiled before, once; `watch` may be NULL. */
RLF_PUBLIC rlf_result rlf_session_profile(rlf_session *session,
                                          rlf_watch_function *watch, void *arg);
/* Write the files that options name for these: "--svg" and "--trace" of a
 * simulation, "--table" of a profile. Refused before there is one of them. */
RLF_PUBLIC rlf_result rlf_session_write(rlf_session *session);

/* ---- schedules ---- */

/* Several models in one pipeline at the same time, the time that each waits
 * filled with work of the others; no program is needed. Times and memory are in
 * whatever units "--times" and "--memory" have. The rules are those of
 * sessions: a schedule that is NULL may be given to every function, and the
 * first error stays, with its message. */
typedef struct rlf_schedule rlf_schedule;

typedef struct rlf_schedule_point {
    double cap;      /* memory that a place may hold */
    double makespan; /* time from the first operation to the end of the last */
    double bound;    /* no schedule below any cap is shorter */
    double waits;    /* waiting time as a part, 0 to 1, of that of all places */
    double peak;     /* memory of the place that holds most */
} rlf_schedule_point;

/* NULL: there is no memory for it. */
RLF_PUBLIC rlf_schedule *rlf_schedule_open(void);
/* All that it has given goes with it. */
RLF_PUBLIC void rlf_schedule_close(rlf_schedule *schedule);
/* The options of rlflow schedule: "--models", "--times", "--memory", and
 * "--send", "--cap", "--seed", "--moves", "--time-limit", "--table", "--svg",
 * "--diag"; before the search. */
RLF_PUBLIC rlf_result rlf_schedule_set(rlf_schedule *schedule, const char *name,
                                       const char *value);
/* The shortest schedule that is found; `watch` may be NULL. NULL after an
 * error. Again it is the same schedule. */
RLF_PUBLIC const rlf_schedule_point *
rlf_schedule_search(rlf_schedule *schedule, rlf_watch_function *watch,
                    void *arg);
/* After rlf_schedule_search: models, results beside those of other ways, and a
 * picture, as text; and the table that `schedule: "FILE"` of a program runs. */
RLF_PUBLIC const char *rlf_schedule_report(rlf_schedule *schedule);
RLF_PUBLIC const char *rlf_schedule_table(rlf_schedule *schedule);
/* Write the files that "--table" and "--svg" name. Refused before the search.
 */
RLF_PUBLIC rlf_result rlf_schedule_write(rlf_schedule *schedule);
/* The shortest schedules for less memory and for more, each of which is
 * searched when it is first asked for. NULL: that was all. */
RLF_PUBLIC const rlf_schedule_point *rlf_schedule_curve(rlf_schedule *schedule,
                                                        size_t i);
/* RLF_RESULT_OK, or the result that an error gave. */
RLF_PUBLIC rlf_result rlf_schedule_status(const rlf_schedule *schedule);
/* The message of the error, ready to print, or "". */
RLF_PUBLIC const char *rlf_schedule_message(rlf_schedule *schedule);

/* ---- what a run has left ---- */

/* The directory of a run, read back: of one that is complete, that goes on, or
 * that was killed, and of a copy of it. Nothing in it is changed or locked.
 * What cannot be read (half a line, a damaged file, one that is missing) is
 * left out, and rlf_record_note says what and where.
 *
 * The rules are those of sessions: a record that is NULL may be given to every
 * function, the first error stays, with its message, and what is returned as
 * `const` is valid until the next call of rlf_record_refresh, or of the same
 * function. */
typedef struct rlf_record rlf_record;

/* NULL: there is no memory for it. A directory that is not there, or is of no
 * run, is an error (RLF_RESULT_PROGRAM). */
RLF_PUBLIC rlf_record *rlf_record_open(const char *directory);
/* All that it has given goes with it. */
RLF_PUBLIC void rlf_record_close(rlf_record *record);
/* Reads what the run has written since; where it was resumed from an earlier
 * step, all of it again. */
RLF_PUBLIC rlf_result rlf_record_refresh(rlf_record *record);
/* RLF_RESULT_OK, or the result that an error gave. */
RLF_PUBLIC rlf_result rlf_record_status(const rlf_record *record);
/* The message of the error, ready to print, or "". */
RLF_PUBLIC const char *rlf_record_message(rlf_record *record);
/* A sentence about something that was left out, with its file and line. */
RLF_PUBLIC const char *rlf_record_note(rlf_record *record, size_t i);

typedef enum rlf_run_state {
    RLF_RUN_UNKNOWN = 0, /* run.json is missing or damaged, or the directory
                            was moved away since */
    RLF_RUN_GOES_ON = 1, /* a process of this machine has its directory */
    RLF_RUN_KILLED = 2,  /* it has no end, and no process of this machine */
    RLF_RUN_DONE = 3,
    RLF_RUN_STOPPED = 4, /* by a signal; it can be resumed */
    RLF_RUN_CLOSED = 5,  /* by the program that uses the library */
    RLF_RUN_FAILED = 6,
    RLF_RUN_COPIED = 7 /* as killed, but what is a copy, or of another machine,
                          and was written to a moment ago: it may go on */
} rlf_run_state;

/* What a run is, and how far it is. */
typedef struct rlf_recorded_run {
    const char *directory; /* as it was given */
    const char *program;   /* the file of the program, or NULL */
    rlf_run_state state;
    const char *state_text; /* "done", "goes on", "killed in actor.update" */
    const char *why;        /* the message of a run that failed, or NULL */
    uint64_t step;          /* the last one that has metrics; 0: none */
    uint64_t steps;         /* of the whole run; 0: not known */
    uint64_t samples;       /* number of samples */
    double seconds;         /* of all steps that have metrics */
    uint64_t reads;         /* how often something new was read */
    uint64_t sampled;       /* number of samples that their sets had in all
                               steps, also those that are not recorded */
} rlf_recorded_run;

/* What was read of it until now. */
RLF_PUBLIC const rlf_recorded_run *rlf_record_run(rlf_record *record);

/* A name with its value: a parameter of the program, an option of a start. */
typedef struct rlf_recorded_setting {
    const char *name, *value;
} rlf_recorded_setting;

/* The parameters of the program, with the values that they had. */
RLF_PUBLIC const rlf_recorded_setting *rlf_record_parameter(rlf_record *record,
                                                            size_t i);

/* An input, which determines the results. */
typedef struct rlf_recorded_input {
    const char *name;  /* "program", "import std/loss", "hook judge" */
    const char *part;  /* of what has several, or "" */
    const char *value; /* the digest of its bytes, or what it is */
    const char *path;  /* NULL: it is no file */
    const char *copy;  /* the file in the run's directory, or NULL */
} rlf_recorded_input;

/* The inputs, in the order of run.json. */
RLF_PUBLIC const rlf_recorded_input *rlf_record_input(rlf_record *record,
                                                      size_t i);

/* The first start of the run, or a resume. */
typedef struct rlf_recorded_start {
    const char *time;                  /* "2026-12-01T00:30:00Z" */
    int resume;                        /* it went on from `step` */
    uint64_t step;                     /* 0: it began anew */
    const char *version;               /* of rlflow */
    const char *device, *dtype, *host; /* "" where it is not known */
    const char *host_directory;        /* in which it was started */
    uint64_t ranks, threads;
    const char *how;      /* it ended: "done"...; NULL: it has no end */
    const char *end_time; /* or NULL */
    uint64_t end_step;    /* the last step of it, if it has an end */
    const char *message;  /* of one that failed, or NULL */
    const char *options;  /* a JSON object of texts */
    const char *json;     /* all that run.json has of it */
} rlf_recorded_start;

/* The starts, in their order. */
RLF_PUBLIC const rlf_recorded_start *rlf_record_start(rlf_record *record,
                                                      size_t i);

typedef struct rlf_recorded_checkpoint {
    uint64_t step;
    int there; /* its directory was not removed for a newer one */
} rlf_recorded_checkpoint;

/* Those that were saved, in the order of their steps. */
RLF_PUBLIC const rlf_recorded_checkpoint *
rlf_record_checkpoint(rlf_record *record, size_t i);

/* The bytes of a file of the run's directory of 64 MB at most: "plan.rlf",
 * "run.json", the copy of an input; with a 0 behind them. NULL, with *n 0:
 * there is none that can be read. `n` may be NULL. */
RLF_PUBLIC const char *rlf_record_file_text(rlf_record *record,
                                            const char *name, size_t *n);

/* The numbers of a metric, in the order of metrics.jsonl. */
typedef struct rlf_recorded_metric {
    const char *name;     /* "reward", "actor.loss", "seconds.read" */
    size_t n;             /* steps that report it */
    const uint64_t *step; /* [n] */
    const double *value;  /* [n]; NaN: it was not finite */
} rlf_recorded_metric;

/* The metrics in the order in which they were first reported. */
RLF_PUBLIC const rlf_recorded_metric *rlf_record_metric(rlf_record *record,
                                                        size_t i);
/* The one of that name, or NULL. */
RLF_PUBLIC const rlf_recorded_metric *
rlf_record_metric_called(rlf_record *record, const char *name);

/* Numbers of ranks, a row for each rank in each step, in the order of
 * ranks.jsonl. */
typedef struct rlf_recorded_rank_column {
    const char *name;     /* "seconds", "seconds.wait", "memory.device" */
    size_t n;             /* rows, the same for all columns */
    const uint64_t *step; /* [n] */
    const uint64_t *rank; /* [n] */
    const double *value;  /* [n]; NaN: the row has none */
} rlf_recorded_rank_column;

/* The columns in the order of the file. */
RLF_PUBLIC const rlf_recorded_rank_column *
rlf_record_rank_column(rlf_record *record, size_t i);

/* The memory that the last start of the run was to take for a purpose. */
typedef struct rlf_recorded_need {
    const char *owner, *purpose;
    uint64_t device, host; /* bytes, as those of rlf_need */
} rlf_recorded_need;

/* Those of a rank, in the order in which rlflow check prints them. */
RLF_PUBLIC const rlf_recorded_need *rlf_record_need(rlf_record *record,
                                                    uint64_t rank, size_t i);

/* A sample of samples.jsonl, in the order of that file. */
typedef struct rlf_recorded_sample {
    uint64_t step;
    const char *set;
    uint64_t sample; /* its number, counted from 0 over all steps */
    uint64_t group;  /* equal for those of one prompt in one step and set */
    uint64_t prompt; /* equal for all samples of one prompt and data row */
    uint64_t of; /* number of samples that the set had in this step, of which
                    only some may be recorded; 0: not known */
} rlf_recorded_sample;

/* Sample i of rlf_recorded_run.samples. */
RLF_PUBLIC const rlf_recorded_sample *rlf_record_sample(rlf_record *record,
                                                        uint64_t i);
/* Names of the numbers that samples have: "tokens", "finished", "lag", and
 * those of `values`. */
RLF_PUBLIC const char *rlf_record_column_name(rlf_record *record,
                                              size_t column);
/* That number of sample i; NaN: it has none. */
RLF_PUBLIC double rlf_record_number(rlf_record *record, uint64_t i,
                                    size_t column);

typedef enum rlf_sample_text {
    RLF_SAMPLE_LINE = 0, /* its line, a JSON object */
    RLF_SAMPLE_PROMPT = 1,
    RLF_SAMPLE_RESPONSE = 2,
    RLF_SAMPLE_ROW = 3 /* fields of its data row, a JSON object, or "" */
} rlf_sample_text;

/* Reads a text of sample i from its file: *n bytes, with a 0 behind them; NULL:
 * it cannot be read any more. `n` may be NULL. */
RLF_PUBLIC const char *rlf_record_text(rlf_record *record, uint64_t i,
                                       rlf_sample_text which, size_t *n);

/* Something in the numbers of a run that is worth a look. */
typedef struct rlf_recorded_finding {
    const char *kind;     /* a word that stays: "constant", "kl", "entropy",
                             "cut", "groups", "clipped", "never", "nonfinite",
                             "warned" */
    const char *name;     /* the metric, the set or ""  */
    uint64_t first, last; /* the steps of which it is true */
    const char *text;     /* a sentence */
} rlf_recorded_finding;

/* Findings in the order of their first steps. */
RLF_PUBLIC const rlf_recorded_finding *rlf_record_finding(rlf_record *record,
                                                          size_t i);

/* Something in which two runs differ. */
typedef struct rlf_recorded_difference {
    const char *kind; /* "program", "parameter", "input", "option", "metric",
                         "samples" */
    const char *name;
    const char *a,
        *b;           /* what each has; NULL: nothing. Of texts both are NULL */
    const char *text; /* of texts: lines that begin with "-", "+" or a blank;
                         else NULL */
} rlf_recorded_difference;

/* How b differs from a: first what they are, then what came of it. They belong
 * to a until it is compared with another one. */
RLF_PUBLIC const rlf_recorded_difference *
rlf_record_difference(rlf_record *a, rlf_record *b, size_t i);

/* ---- one sample, made again ---- */

/* A session that makes the steps of a run again up to `step`, with the same
 * bits: from the last checkpoint before it that is there, or from the
 * beginning. It writes nothing. What that step computes on the way to sample
 * number `sample` of `set`, as rlf_record_sample has them, is kept; NULL is the
 * set of that sample of the record, or the first that is sampled. The record
 * has to last as long as the session, which is used like any other; the
 * parameters, options and inputs are those of the run. NULL as of
 * rlf_session_open; what cannot be done is the error of the session. */
RLF_PUBLIC rlf_session *rlf_session_open_sample(rlf_record *record,
                                                uint64_t step, const char *set,
                                                uint64_t sample);
/* The step that such a session goes on from, before it takes one; 0: from the
 * beginning. The program is compiled as by rlf_session_check; 0 where that
 * fails. */
RLF_PUBLIC uint64_t rlf_session_sample_from(rlf_session *session);
/* After that step: all that was kept, as a JSON object (`json`; its members are
 * in rlflow(1)), or as a text in lines. NULL before it. */
RLF_PUBLIC const char *rlf_session_sample_trace(rlf_session *session, int json);

/* ---- reports ---- */

/* Runs as one HTML file that needs neither a network nor a server. The rules
 * are those of sessions: a report that is NULL may be given to every function,
 * and the first error stays, with its message. */
typedef struct rlf_run_report rlf_run_report;

/* NULL: there is no memory for it. */
RLF_PUBLIC rlf_run_report *rlf_run_report_open(void);
/* Its records go with it. */
RLF_PUBLIC void rlf_run_report_close(rlf_run_report *report);
/* "--html", the file; without it report.html in the directory of one run, or of
 * several in the working directory. "--diag", the form of messages. */
RLF_PUBLIC rlf_result rlf_run_report_set(rlf_run_report *report,
                                         const char *name, const char *value);
/* Adds the run in that directory. */
RLF_PUBLIC rlf_result rlf_run_report_add(rlf_run_report *report,
                                         const char *directory);
/* The record of run i, in the order of rlf_run_report_add; the report's own. */
RLF_PUBLIC rlf_record *rlf_run_report_record(rlf_run_report *report, size_t i);
/* Reads what the runs have written since, and writes the file if that is
 * something, or if `live` is another: a page that is live loads itself again.
 * Refused where a file stands that is no report. */
RLF_PUBLIC rlf_result rlf_run_report_write(rlf_run_report *report, int live);
/* The path of the file; NULL: there is no run yet. */
RLF_PUBLIC const char *rlf_run_report_path(rlf_run_report *report);
/* RLF_RESULT_OK, or the result that an error gave. */
RLF_PUBLIC rlf_result rlf_run_report_status(const rlf_run_report *report);
/* The message of the error, ready to print, or "". */
RLF_PUBLIC const char *rlf_run_report_message(rlf_run_report *report);

/* ---- what is wrong ---- */

/* Messages have lines of the program in them, as far as a terminal of so many
 * columns has room; 0: whole. */
RLF_PUBLIC void rlf_session_screen(rlf_session *session, size_t columns);
/* The error message, with position, source line and hint, ready to print: a
 * terminal acts on nothing in it, as on no line of the log. "" if there was no
 * error. */
RLF_PUBLIC const char *rlf_session_message(rlf_session *session);
/* Why the last question had no answer: a sentence, without a line feed, that is
 * ready to print. "" if it had one, or if there is no more to say, as at the
 * end of a list. Valid until the next question. */
RLF_PUBLIC const char *rlf_session_why(const rlf_session *session);
/* Warnings since the last call, one per line: parts of the program without
 * effect (a name that is never read), damaged checkpoints that were replaced by
 * older ones, metrics that are not finite, functions that were given for hooks
 * which the program does not have. "" if there are none. */
RLF_PUBLIC const char *rlf_session_warnings(rlf_session *session);
/* The warnings about the program, or a cluster, as rlf_session_message has
 * errors: those that no call has returned; "" if there are none, or errors. */
RLF_PUBLIC const char *rlf_session_advice(rlf_session *session);
/* Is there an error? Then no further step is taken. (A run that was told to end
 * has none.) */
RLF_PUBLIC int rlf_session_failed(const rlf_session *session);
/* RLF_RESULT_OK, or the result that its error gave. */
RLF_PUBLIC rlf_result rlf_session_status(const rlf_session *session);

/* One thing that is wrong, or has no effect. */
typedef struct rlf_diagnostic {
    const char *severity; /* "error" or "warning" */
    const char *code;     /* a word that stays, as "syntax", "name"; "run" of
                             what was found when the program ran */
    const char *path;     /* NULL: it has no place */
    uint32_t line, column, length; /* from 1, in bytes; 0: no place */
    const char *text; /* a sentence, in which names and texts stand as they
                         are, with all their bytes */
    const char *hint;              /* what to do, or NULL */
} rlf_diagnostic;

/* Those of the program in order of place, then the error that ended the run,
 * and one of its end. */
RLF_PUBLIC const rlf_diagnostic *rlf_session_diagnostic(rlf_session *session,
                                                        size_t i);

/* Another place that a diagnostic speaks of, as that of the first of two things
 * with one name. */
typedef struct rlf_diagnostic_note {
    rlf_program_place place; /* path NULL: it has none */
    const char *text;        /* "first here" */
} rlf_diagnostic_note;

/* Note k of diagnostic i; NULL: it has no more. */
RLF_PUBLIC const rlf_diagnostic_note *
rlf_session_diagnostic_note(rlf_session *session, size_t i, size_t k);

#ifdef __cplusplus
}
#endif

#endif
