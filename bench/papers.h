/* The parts of bench/papers that are not in papers.c: arguments behind the word
 * that names them, an exit status. */
#ifndef RLF_BENCH_PAPERS_H
#define RLF_BENCH_PAPERS_H

int papers_scale(int argc, char **argv);
int papers_hybridflow(int argc, char **argv);
int papers_real(int argc, char **argv);
int papers_threshold(int argc, char **argv);
int papers_checks(void);

#endif
