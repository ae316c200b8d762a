/* Uses a PKCS #11 module like a typical program, for measurements.

   usage: pkcs11-load MODULE footprint    prints the milliseconds from dlopen to the first slot, and kilobytes of resident
                                          memory at that moment: of the module's own mappings, the total growth of
                                          the process including system libraries, and the total after listing all objects
          pkcs11-load MODULE list         prints the number of objects, and the milliseconds needed to find them
                                          and to read the attributes that ssh and browsers read
          pkcs11-load MODULE rsa|ec SECONDS THREADS [PIN]
                                          prints the signatures per second of all threads together */
#include "CPKCS11.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static CK_FUNCTION_LIST *functions;
static CK_SLOT_ID slot;
static int isRSA;
static double seconds;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void require(CK_RV code, const char *what)
{
    if (code == CKR_OK) return;
    fprintf(stderr, "pkcs11-load: %s gave 0x%lx\n", what, (unsigned long)code);
    exit(1);
}

/* The resident memory of this process, in kilobytes. */
static long resident(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kilobytes = -1;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Rss: %ld kB", &kilobytes) == 1) break;
    if (file) fclose(file);
    return kilobytes;
}

/* The resident memory of the mappings of a file in this process, in kilobytes. */
static long resident_of(const char *path)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[4352];
    long total = 0, kilobytes;
    int is_its = 0;
    while (file && fgets(line, sizeof line, file)) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2) is_its = strstr(line, path) != NULL;
        if (is_its && sscanf(line, "Rss: %ld kB", &kilobytes) == 1) total += kilobytes;
    }
    if (file) fclose(file);
    return total;
}

static CK_SESSION_HANDLE open_session(void)
{
    CK_SESSION_HANDLE session;
    require(functions->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL, &session), "C_OpenSession");
    return session;
}

static unsigned long find(CK_SESSION_HANDLE session, CK_ATTRIBUTE *wanted, CK_ULONG count, CK_OBJECT_HANDLE *found,
                          CK_ULONG most)
{
    CK_ULONG number = 0, total = 0;
    require(functions->C_FindObjectsInit(session, wanted, count), "C_FindObjectsInit");
    do {
        require(functions->C_FindObjects(session, found + total, most - total, &number), "C_FindObjects");
        total += number;
    } while (number > 0 && total < most);
    require(functions->C_FindObjectsFinal(session), "C_FindObjectsFinal");
    return total;
}

/* Finds all objects and reads six attributes of each, after a query for the lengths. */
static unsigned long list(void)
{
    static CK_OBJECT_HANDLE found[65536];
    static const CK_ATTRIBUTE_TYPE types[] = {CKA_CLASS, CKA_LABEL, CKA_ID, CKA_SUBJECT, CKA_KEY_TYPE, CKA_VALUE};
    static unsigned char values[6][8192];
    CK_SESSION_HANDLE session = open_session();
    unsigned long count = find(session, NULL, 0, found, 65536);
    for (unsigned long place = 0; place < count; place++) {
        CK_ATTRIBUTE asked[6];
        for (int kind = 0; kind < 6; kind++) asked[kind] = (CK_ATTRIBUTE){types[kind], NULL, 0};
        functions->C_GetAttributeValue(session, found[place], asked, 6);
        for (int kind = 0; kind < 6; kind++) asked[kind] = (CK_ATTRIBUTE){types[kind], values[kind], sizeof values[kind]};
        functions->C_GetAttributeValue(session, found[place], asked, 6);
    }
    require(functions->C_CloseSession(session), "C_CloseSession");
    return count;
}

static void *sign(void *result)
{
    long *count = result;
    CK_SESSION_HANDLE session = open_session();
    CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
    CK_ULONG type = isRSA ? CKK_RSA : CKK_EC;
    CK_BBOOL yes = 1;
    CK_ATTRIBUTE wanted[] = {
        {CKA_CLASS, &class, sizeof class}, {CKA_KEY_TYPE, &type, sizeof type}, {CKA_SIGN, &yes, sizeof yes}};
    CK_OBJECT_HANDLE key;
    if (find(session, wanted, 3, &key, 1) == 0) require(CKR_KEY_HANDLE_INVALID, "looking for the key");
    /* DigestInfo of SHA-256 (RFC 8017, 9.2), followed by a digest. */
    unsigned char data[51] = {0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01,
                              0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20};
    unsigned char signature[1024];
    CK_MECHANISM mechanism = {isRSA ? CKM_RSA_PKCS : CKM_ECDSA, NULL, 0};
    /* The first key use opens the key and is not counted. */
    for (long number = -1;; number++) {
        CK_ULONG length = sizeof signature;
        data[50] = (unsigned char)number;
        require(functions->C_SignInit(session, &mechanism, key), "C_SignInit");
        require(functions->C_Sign(session, isRSA ? data : data + 19, isRSA ? 51 : 32, signature, &length), "C_Sign");
        static __thread double end;
        if (number < 0) end = now() + seconds;
        *count = number + 1;
        if (now() >= end) break;
    }
    require(functions->C_CloseSession(session), "C_CloseSession");
    return NULL;
}

int main(int count, char **arguments)
{
    if (count < 3) return 64;
    long before = resident();
    double begun = now();
    void *module = dlopen(arguments[1], RTLD_NOW);
    if (!module) {
        fprintf(stderr, "pkcs11-load: %s\n", dlerror());
        return 1;
    }
    CK_RV (*get)(CK_FUNCTION_LIST **) = (CK_RV (*)(CK_FUNCTION_LIST **))dlsym(module, "C_GetFunctionList");
    if (!get) return 1;
    require(get(&functions), "C_GetFunctionList");
    CK_C_INITIALIZE_ARGS locking = {.flags = CKF_OS_LOCKING_OK};
    require(functions->C_Initialize(&locking), "C_Initialize");
    CK_SLOT_ID slots[64];
    CK_ULONG slot_count = 64;
    require(functions->C_GetSlotList(1, slots, &slot_count), "C_GetSlotList");
    double took = now() - begun;
    if (slot_count == 0) require(CKR_TOKEN_NOT_PRESENT, "C_GetSlotList");
    slot = slots[0];
    if (strcmp(arguments[2], "footprint") == 0) {
        long after = resident(), own = resident_of(arguments[1]);
        list();
        printf("%.3f %ld %ld %ld\n", took * 1e3, own, after - before, resident() - before);
    } else if (strcmp(arguments[2], "list") == 0) {
        begun = now();
        unsigned long objects = list();
        printf("%lu %.2f\n", objects, (now() - begun) * 1e3);
    } else {
        if (count < 5) return 64;
        isRSA = strcmp(arguments[2], "rsa") == 0;
        seconds = atof(arguments[3]);
        int threads = atoi(arguments[4]);
        if (threads < 1 || threads > 64) return 64;
        CK_SESSION_HANDLE session = open_session();
        if (count > 5)
            require(functions->C_Login(session, CKU_USER, (CK_UTF8CHAR_PTR)arguments[5], strlen(arguments[5])), "C_Login");
        pthread_t running[64];
        long signed_by[64] = {0}, total = 0;
        for (int place = 0; place < threads; place++) pthread_create(&running[place], NULL, sign, &signed_by[place]);
        for (int place = 0; place < threads; place++) {
            pthread_join(running[place], NULL);
            total += signed_by[place];
        }
        printf("%.0f\n", (double)total / seconds);
    }
    require(functions->C_Finalize(NULL), "C_Finalize");
    return 0;
}
