/* The display of a run while it trains: a line a step, or on a terminal one
 * live line that also says what is being done now. Nothing here computes; the
 * files of a run are engine/api's. */
#ifndef RLF_CMD_DISPLAY_H
#define RLF_CMD_DISPLAY_H

#include "engine/cmd/cmd.h"

typedef struct rlf_display rlf_display;

/* Begin: while models and data are opened, and then in steps, a thread of its
 * own keeps the live line of a terminal true. `quiet`: nothing is shown. The
 * session must outlive it; its log is said through it until it is closed. */
rlf_display *rlf_display_open(rlf_session *session, bool quiet);
/* The session is ready: say what was found, and what begins. */
void rlf_display_ready(rlf_display *display);
/* A step is done: its line. */
void rlf_display_step(rlf_display *display);
/* Pass on what was printed. If nobody reads it any more the run goes on: that
 * is said once, and what is printed then goes nowhere. */
void rlf_display_flush(rlf_session *session);
/* The run has come to its end, or failed: the last line stays. */
void rlf_display_close(rlf_display *display);

#endif
