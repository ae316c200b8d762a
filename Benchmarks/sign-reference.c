/* Signatures in C on libcrypto, as a reference: a loop with one open key, without a socket.
   usage: sign-reference rsa2048|p256 SECONDS THREADS; prints the signatures per second. */
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static EVP_PKEY *key;
static int isRSA;
static double seconds;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void require(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "sign-reference: %s failed\n", what);
    exit(1);
}

static void *work(void *result)
{
    long *count = result;
    unsigned char digest[32] = {0}, signature[512];
    double end = now() + seconds;
    while (now() < end) {
        size_t length = sizeof signature;
        digest[0] = (unsigned char)*count;
        EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
        require(EVP_PKEY_sign_init(context) == 1, "beginning a signature");
        if (isRSA) {
            require(EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1, "the padding");
            require(EVP_PKEY_CTX_set_signature_md(context, EVP_sha256()) == 1, "the digest");
        }
        require(EVP_PKEY_sign(context, signature, &length, digest, sizeof digest) == 1, "signing");
        EVP_PKEY_CTX_free(context);
        ++*count;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    require(argc == 4, "reading the arguments");
    isRSA = strcmp(argv[1], "rsa2048") == 0;
    seconds = atof(argv[2]);
    int threads = atoi(argv[3]);
    require(threads > 0 && threads <= 64, "counting the threads");
    key = isRSA ? EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048) : EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    require(key != NULL, "generating a key");
    pthread_t thread[64];
    long counts[64] = {0}, total = 0;
    for (int index = 0; index < threads; index++)
        require(pthread_create(&thread[index], NULL, work, &counts[index]) == 0, "starting a thread");
    for (int index = 0; index < threads; index++) {
        pthread_join(thread[index], NULL);
        total += counts[index];
    }
    printf("%.1f\n", (double)total / seconds);
    EVP_PKEY_free(key);
    return 0;
}
