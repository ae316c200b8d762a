// The lists of the module's functions, and the functions that the module refuses. The lists are constants, so that nothing
// has to be set up when a program loads the module.
#include "CPKCS11.h"

#define HAVE(name, parameters)
#define REFUSE(name, parameters) CK_RV name parameters { return cpkcs11_refuse(#name); }
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
