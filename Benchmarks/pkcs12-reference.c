/* The work of pkcs12-benchmark in C on libcrypto, as a reference: parse, check the MAC, decrypt, match and label,
   or create and encode. usage: pkcs12-reference import|export FILE SECONDS; prints the rounds per second. */
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *password = "password";

/* Processor time, which depends less on other work on the machine. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int import(const unsigned char *bytes, long size, EVP_PKEY **key, X509 **certificate)
{
    const unsigned char *cursor = bytes;
    PKCS12 *file = d2i_PKCS12(NULL, &cursor, size);
    STACK_OF(X509) *others = NULL;
    int good = file != NULL && PKCS12_parse(file, password, key, certificate, &others) == 1 && *key != NULL
        && *certificate != NULL && X509_check_private_key(*certificate, *key) == 1;
    if (good) {
        unsigned char *der = NULL, digest[32];
        char label[65];
        int length = i2d_X509(*certificate, &der);
        SHA256(der, (size_t)length, digest);
        for (int index = 0; index < 32; index++) sprintf(label + 2 * index, "%02X", digest[index]);
        good = strlen(label) == 64;
        OPENSSL_free(der);
    }
    sk_X509_pop_free(others, X509_free);
    PKCS12_free(file);
    return good;
}

static int export(const char *path, EVP_PKEY *key, X509 *certificate)
{
    int samples = strstr(path, "purebred") != NULL, modern = strstr(path, "modern") != NULL;
    int keys = modern ? NID_aes_256_cbc : NID_pbe_WithSHA1And3_Key_TripleDES_CBC;
    int certificates = samples ? NID_pbe_WithSHA1And40BitRC2_CBC : keys;
    PKCS12 *file = PKCS12_create(
        password, "friendly", key, certificate, NULL, keys, certificates, 2048, -1, 0);
    unsigned char *der = NULL;
    int good = file != NULL
        && PKCS12_set_mac(
               file, password, -1, NULL, modern ? 16 : 8, samples ? 1 : 2048, modern ? EVP_sha256() : EVP_sha1())
        && i2d_PKCS12(file, &der) > 500;
    OPENSSL_free(der);
    PKCS12_free(file);
    return good;
}

int main(int count, char **arguments)
{
    static unsigned char bytes[1 << 20];
    if (count != 4) return 64;
    OSSL_PROVIDER_load(NULL, "default");
    OSSL_PROVIDER_load(NULL, "legacy");
    FILE *input = fopen(arguments[2], "rb");
    if (input == NULL) return 74;
    long size = (long)fread(bytes, 1, sizeof bytes, input);
    fclose(input);
    EVP_PKEY *key = NULL;
    X509 *certificate = NULL;
    if (!import(bytes, size, &key, &certificate)) return 1;

    int exports = strcmp(arguments[1], "export") == 0;
    double best = 0, slice = atof(arguments[3]) / 5;
    for (int round = 0; round < 5; round++) {
        double start = now(), elapsed;
        long done = 0;
        do {
            for (int index = 0; index < 5; index++, done++) {
                if (exports) {
                    if (!export(arguments[2], key, certificate)) return 1;
                    continue;
                }
                EVP_PKEY *found = NULL;
                X509 *theirs = NULL;
                if (!import(bytes, size, &found, &theirs)) return 1;
                EVP_PKEY_free(found);
                X509_free(theirs);
            }
            elapsed = now() - start;
        } while (elapsed < slice);
        if (done / elapsed > best) best = done / elapsed;
    }
    printf("%.3f\n", best);
    EVP_PKEY_free(key);
    X509_free(certificate);
    return 0;
}
