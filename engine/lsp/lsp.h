/* A language server: what editors ask of programs, by the Language Server
 * Protocol 3.17 on a pair of descriptors. */
#ifndef RLF_LSP_LSP_H
#define RLF_LSP_LSP_H

/* Reads messages from `in` and answers to `out` until it is told to exit, the
 * other side is gone, or what comes is no message: what that is goes to the
 * standard error. 0: it was shut down in order, else 1. */
int rlf_lsp_serve(int in, int out);

#endif
