# kernels/cpu: the reference. Add to libkernels_la_SOURCES or to
# kernel_isa_sources (see kernels/local.mk).
