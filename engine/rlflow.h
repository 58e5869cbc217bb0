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
 * A session is used by one thread at a time, which needs a stack of 8 MB, as
 * threads usually have. A process may have several sessions. Texts that are
 * returned belong to the session and are valid until its next call. */
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

typedef struct rlf_session rlf_session;

/* The result of a call. The absolute values of the negative ones are the exit
 * statuses of the command. */
typedef enum rlf_result {
    RLF_RESULT_OK = 0,
    RLF_RESULT_END = 1, /* no further step: the run is complete */
    RLF_RESULT_PROGRAM =
        -1, /* the program, its parameters or its data are wrong */
    RLF_RESULT_USAGE = -2,  /* an impossible call or option */
    RLF_RESULT_FAILED = -3, /* failed while running */
} rlf_result;

/* A session for the program in file `path`. NULL if there is not even memory
 * for that (4.5 MB, which it keeps to end in an orderly way when there is no
 * more later). NULL need not be looked for: it may be given to every function
 * here, as a session that has failed, with a message. */
RLF_PUBLIC rlf_session *rlf_session_open(const char *path);
/* RLF_RESULT_FAILED if the trace could not be written completely. */
RLF_PUBLIC rlf_result rlf_session_close(rlf_session *session);

/* Set a parameter of the program, or an option of the run: before the first
 * step. Names of options begin with "--": "--seed", "--threads", "--steps",
 * "--out" (the run's directory: without it nothing is written), "--resume"
 * ("1"), "--save-every", "--keep", "--keep-best" (checkpoints: see rlflow(1)),
 * "--samples" (samples a set and step in samples.jsonl), "--trace", "--device",
 * "--isa", "--ranks", "--patience".
 *
 * Under mpiexec or srun every process opens a session and takes steps; process
 * 0 sees all steps and metrics, in the others the first step is the whole run.
 * When it failed, closing the session ends all processes. */
RLF_PUBLIC rlf_result rlf_session_set(rlf_session *session, const char *name,
                                      const char *value);
/* Compile and check; rlf_session_step does it if it was not done before. */
RLF_PUBLIC rlf_result rlf_session_check(rlf_session *session);
/* Train one step. RLF_RESULT_END when all steps are done (--steps, one epoch,
 * or the program's break). */
RLF_PUBLIC rlf_result rlf_session_step(rlf_session *session);
/* Save a checkpoint now (needs --out). */
RLF_PUBLIC rlf_result rlf_session_save(rlf_session *session);

/* The number of the last step, and of all steps of the run; 0: not known. */
RLF_PUBLIC uint64_t rlf_session_steps(const rlf_session *session);
RLF_PUBLIC uint64_t rlf_session_steps_wanted(const rlf_session *session);
/* A metric of the last step; NaN if it was not reported. */
RLF_PUBLIC double rlf_session_metric(const rlf_session *session,
                                     const char *name);
/* The names of the metrics so far: i = 0, 1, ...; NULL after the last. */
RLF_PUBLIC const char *rlf_session_metric_name(const rlf_session *session,
                                               size_t i);

/* The error message, with position, source line and hint, ready to print; "" if
 * there was no error. */
RLF_PUBLIC const char *rlf_session_message(rlf_session *session);
/* Warnings since the last call, one per line: parts of the program without
 * effect (a name that is never read), damaged checkpoints that were replaced by
 * older ones, metrics that are not finite. "" if there are none. */
RLF_PUBLIC const char *rlf_session_warnings(rlf_session *session);
RLF_PUBLIC int rlf_session_failed(const rlf_session *session);
RLF_PUBLIC const char *rlf_version(void);

#ifdef __cplusplus
}
#endif

#endif
