/* Loaded into a command with LD_PRELOAD. Reports memory that the command frees while it contains SECRET, as UTF-8 or as
 * UTF-16BE, the form in PKCS #12. Only frees by files with "keyshare" in their names count: libcrypto does not wipe all of
 * its own copies. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*free_block)(void *);
static char narrow[128], wide[256];
static size_t length;

__attribute__((constructor)) static void start(void) {
    free_block = dlsym(RTLD_NEXT, "free");
    const char *secret = getenv("SECRET");
    if (!secret || strlen(secret) >= sizeof narrow) abort();
    strcpy(narrow, secret);
    for (size_t i = 0; narrow[i]; i++) wide[2 * i + 1] = narrow[i];
    length = strlen(narrow);
}

void free(void *block) {
    size_t size = block && length ? malloc_usable_size(block) : 0;
    if (size >= length && (memmem(block, size, narrow, length) || memmem(block, size, wide, 2 * length))) {
        Dl_info caller;
        if (dladdr(__builtin_return_address(0), &caller) && caller.dli_fname && strstr(caller.dli_fname, "keyshare"))
            dprintf(2, "freed %zu bytes with the secret\n", size);
    }
    if (free_block) free_block(block);
}
