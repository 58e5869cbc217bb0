/* The numbers that ReaL (Mei et al., MLSys 2025; arXiv 2406.14088) publishes of
 * PPO on A100 machines: iterations of its figure of weak scaling in PFLOP/s,
 * taken from the figure's paths, with the seconds that its count of operations
 * makes of them.
 *
 * 2^17 tokens an iteration, prompts of 128, responses of fixed length;
 * "heuristic" is tp 8, a stage a machine, no data parallelism, for all calls.
 */
#ifndef RLF_TESTS_PAPERS_REAL_TABLE_H
#define RLF_TESTS_PAPERS_REAL_TABLE_H

#include "tests/papers/settings.h"

typedef struct real_setting {
    int response, devices;
    papers_size actor, critic;
    int batch;
    double heuristic_rate, heuristic, searched_rate, searched;
} real_setting;

static const real_setting real_settings[] = {
    {128, 8, PAPERS_7B, PAPERS_7B, 512, 0.684, 31.3, 0.917, 23.3},
    {128, 16, PAPERS_13B, PAPERS_7B, 512, 1.041, 30.1, 1.292, 24.3},
    {128, 32, PAPERS_34B, PAPERS_7B, 512, 2.143, 34.0, 2.501, 29.2},
    {128, 64, PAPERS_70B, PAPERS_7B, 512, 3.075, 43.7, 3.229, 41.6},
    {384, 8, PAPERS_7B, PAPERS_7B, 256, 0.511, 42.3, 0.772, 28.0},
    {384, 16, PAPERS_13B, PAPERS_7B, 256, 0.741, 42.6, 1.010, 31.3},
    {384, 32, PAPERS_34B, PAPERS_7B, 256, 1.451, 50.5, 1.571, 46.7},
    {384, 64, PAPERS_70B, PAPERS_7B, 256, 1.885, 71.6, 2.049, 65.9},
    {896, 8, PAPERS_7B, PAPERS_7B, 128, 0.347, 63.3, 0.589, 37.4},
    {896, 16, PAPERS_13B, PAPERS_7B, 128, 0.465, 69.1, 0.726, 44.2},
    {896, 32, PAPERS_34B, PAPERS_7B, 128, 0.876, 84.7, 0.958, 77.4},
    {896, 64, PAPERS_70B, PAPERS_7B, 128, 1.056, 129.0, 1.100, 123.8},
    {128, 16, PAPERS_7B, PAPERS_13B, 512, 1.101, 28.5, 1.505, 20.8},
    {128, 32, PAPERS_7B, PAPERS_34B, 512, 2.374, 30.7, 2.729, 26.7},
    {128, 64, PAPERS_7B, PAPERS_70B, 512, 4.070, 33.0, 4.517, 29.8},
    {384, 16, PAPERS_7B, PAPERS_13B, 256, 0.833, 37.9, 1.282, 24.6},
    {384, 32, PAPERS_7B, PAPERS_34B, 256, 1.750, 41.9, 2.493, 29.4},
    {384, 64, PAPERS_7B, PAPERS_70B, 256, 2.711, 49.8, 3.578, 37.8},
    {896, 16, PAPERS_7B, PAPERS_13B, 128, 0.559, 57.5, 0.936, 34.3},
    {896, 32, PAPERS_7B, PAPERS_34B, 128, 1.093, 67.9, 1.711, 43.4},
    {896, 64, PAPERS_7B, PAPERS_70B, 128, 1.752, 77.8, 3.140, 43.4},
    {128, 16, PAPERS_7B, PAPERS_7B, 512, 0.892, 24.0, 1.466, 14.6},
    {128, 32, PAPERS_13B, PAPERS_13B, 512, 1.523, 27.1, 1.743, 23.7},
    {128, 64, PAPERS_34B, PAPERS_34B, 512, 3.692, 33.7, 4.222, 29.5},
    {128, 128, PAPERS_70B, PAPERS_70B, 512, 5.196, 47.6, 6.454, 38.4},
    {384, 16, PAPERS_7B, PAPERS_7B, 256, 0.612, 35.3, 0.930, 23.2},
    {384, 32, PAPERS_13B, PAPERS_13B, 256, 1.080, 38.5, 1.521, 27.3},
    {384, 64, PAPERS_34B, PAPERS_34B, 256, 2.085, 60.0, 2.563, 48.8},
    {384, 128, PAPERS_70B, PAPERS_70B, 256, 3.151, 78.9, 3.456, 71.9},
    {896, 16, PAPERS_7B, PAPERS_7B, 128, 0.378, 58.2, 0.642, 34.3},
    {896, 32, PAPERS_13B, PAPERS_13B, 128, 0.622, 67.8, 0.983, 42.9},
    {896, 64, PAPERS_34B, PAPERS_34B, 128, 1.405, 89.9, 1.627, 77.6},
    {896, 128, PAPERS_70B, PAPERS_70B, 128, 1.740, 144.0, 2.112, 118.7},
};
enum { REAL_SETTINGS = sizeof real_settings / sizeof *real_settings };

#endif
