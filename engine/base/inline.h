/* Functions in headers that a GPU runs too. */
#ifndef RLF_BASE_INLINE_H
#define RLF_BASE_INLINE_H

#ifdef __CUDACC__
#define RLF_INLINE static inline __host__ __device__
#else
#define RLF_INLINE static inline
#endif

#endif
