// The module's function lists, and the unsupported functions. The lists are constants, so that a program that loads the
// module need not initialize them.
#include "CPKCS11.h"

#include <errno.h>
#include <sys/random.h>

#define HAVE(name, parameters)
#define REFUSE(name, parameters) CK_RV name parameters { return cpkcs11_refuse(#name, session); }
CPKCS11_FUNCTIONS_2_40(HAVE, REFUSE)
CPKCS11_FUNCTIONS_3_0(HAVE, REFUSE)

#define ENTRY(name, parameters) .name = name,
static const CK_FUNCTION_LIST functions_2_40 = {.version = {2, 40}, CPKCS11_FUNCTIONS_2_40(ENTRY, ENTRY)};
static const CK_FUNCTION_LIST_3_0 functions_3_0 = {
    .version = {3, 0}, CPKCS11_FUNCTIONS_2_40(ENTRY, ENTRY) CPKCS11_FUNCTIONS_3_0(ENTRY, ENTRY)};

static const CK_INTERFACE interfaces[CPKCS11_INTERFACE_COUNT] = {
    {(CK_UTF8CHAR_PTR) "PKCS 11", (CK_VOID_PTR) &functions_3_0, 0},
    {(CK_UTF8CHAR_PTR) "PKCS 11", (CK_VOID_PTR) &functions_2_40, 0},
};

CK_FUNCTION_LIST *cpkcs11_functions(void) { return (CK_FUNCTION_LIST *) &functions_2_40; }

CK_INTERFACE *cpkcs11_interfaces(void) { return (CK_INTERFACE *) interfaces; }

int cpkcs11_fill_randomly(CK_BYTE_PTR output, CK_ULONG length)
{
    while (length > 0) {
        // The kernel returns less than the length if it exceeds 32 MiB - 1 or a signal arrives.
        ssize_t count = getrandom(output, length, 0);
        if (count < 0 && errno != EINTR) return errno;
        if (count <= 0) continue;
        output += count;
        length -= (CK_ULONG) count;
    }
    return 0;
}
