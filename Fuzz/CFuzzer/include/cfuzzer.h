// libFuzzer's entry point for programs with their own main function. The library is part of the compiler.
#ifndef CFUZZER_H
#define CFUZZER_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*test)(const uint8_t *bytes, size_t count));

#endif
