/* Bulk provisioning in C on libcrypto, as a reference: a key, a certificate with the same contents, its
   signature, both encoded; nothing is stored. usage: provision-reference p256|rsa2048|key-rsa2048 COUNT
   THREADS; prints the number per second of wall clock time, and of processor time. */
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static EVP_PKEY *authority;
static X509 *issuer;
static int isRSA, keysOnly, count, threads;

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void require(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "provision-reference: %s failed\n", what);
    exit(1);
}

static EVP_PKEY *generate(void)
{
    return isRSA ? EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048) : EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
}

static void name(X509_NAME *name, const char *common)
{
    static const char *fields[][2] = {
        {"C", "US"}, {"O", "Test U.S. Government"}, {"OU", "Test DoD"}, {"OU", "Test PKI"}};
    for (int index = 0; index < 4; index++)
        X509_NAME_add_entry_by_txt(
            name, fields[index][0], MBSTRING_UTF8, (const unsigned char *)fields[index][1], -1, -1, 0);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common, -1, -1, 0);
}

/* The extensions that are identical in every certificate are created only once. */
static X509_EXTENSION *fixed[5];

static void prepare(void)
{
    static const char *texts[][2] = {
        {"keyUsage", "critical,digitalSignature,nonRepudiation"},
        {"extendedKeyUsage", "emailProtection,1.3.6.1.4.1.311.10.3.12"},
        {"crlDistributionPoints", "URI:http://pki.mil.example/crl/TESTEMAILCA1-6C2E9A41.crl"},
        {"authorityInfoAccess",
         "OCSP;URI:http://ocsp.mil.example,caIssuers;URI:http://pki.mil.example/sign/TESTEMAILCA1-6C2E9A41.cer"}};
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    for (int index = 0; index < 4; index++) {
        fixed[index] = X509V3_EXT_nconf(NULL, &context, texts[index][0], texts[index][1]);
        require(fixed[index] != NULL, texts[index][0]);
    }
    CERTIFICATEPOLICIES *policies = CERTIFICATEPOLICIES_new();
    POLICYINFO *policy = POLICYINFO_new();
    policy->policyid = OBJ_txt2obj("2.16.840.1.101.3.2.1.48.9", 1);
    sk_POLICYINFO_push(policies, policy);
    fixed[4] = X509V3_EXT_i2d(NID_certificate_policies, 0, policies);
    require(fixed[4] != NULL, "certificatePolicies");
    CERTIFICATEPOLICIES_free(policies);
}

static void addIdentifiers(X509 *certificate, const unsigned char *authorityKey)
{
    unsigned char digest[SHA_DIGEST_LENGTH];
    ASN1_BIT_STRING *bits = X509_get0_pubkey_bitstr(certificate);
    SHA1(bits->data, (size_t)bits->length, digest);
    ASN1_OCTET_STRING *subject = ASN1_OCTET_STRING_new();
    ASN1_OCTET_STRING_set(subject, digest, sizeof digest);
    X509_add1_ext_i2d(certificate, NID_subject_key_identifier, subject, 0, X509V3_ADD_APPEND);
    ASN1_OCTET_STRING_free(subject);
    AUTHORITY_KEYID *identifier = AUTHORITY_KEYID_new();
    identifier->keyid = ASN1_OCTET_STRING_new();
    ASN1_OCTET_STRING_set(identifier->keyid, authorityKey, SHA_DIGEST_LENGTH);
    X509_add1_ext_i2d(certificate, NID_authority_key_identifier, identifier, 0, X509V3_ADD_APPEND);
    AUTHORITY_KEYID_free(identifier);
}

static void addNames(X509 *certificate, const char *mail, const char *principal)
{
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    GENERAL_NAME *address = GENERAL_NAME_new();
    ASN1_IA5STRING *text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, mail, -1);
    GENERAL_NAME_set0_value(address, GEN_EMAIL, text);
    sk_GENERAL_NAME_push(names, address);
    GENERAL_NAME *other = GENERAL_NAME_new();
    ASN1_TYPE *value = ASN1_TYPE_new();
    ASN1_UTF8STRING *upn = ASN1_UTF8STRING_new();
    ASN1_STRING_set(upn, principal, -1);
    ASN1_TYPE_set(value, V_ASN1_UTF8STRING, upn);
    GENERAL_NAME_set0_othername(other, OBJ_txt2obj("1.3.6.1.4.1.311.20.2.3", 1), value);
    sk_GENERAL_NAME_push(names, other);
    X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_APPEND);
    GENERAL_NAMES_free(names);
}

static X509 *issue(EVP_PKEY *key, int number, const unsigned char *authorityKey)
{
    char common[64], mail[64], principal[64];
    unsigned char serial[16];
    unsigned digits = 1000000000u + (unsigned)number;
    snprintf(common, sizeof common, "EXAMPLE.DANA.QUINN.%u", digits);
    snprintf(mail, sizeof mail, "dana.example.%u@mail.example", digits % 10000);
    snprintf(principal, sizeof principal, "%u@mil", digits);
    require(RAND_bytes(serial, sizeof serial) == 1, "drawing a serial number");
    serial[0] = serial[0] % 127 + 1;
    X509 *certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    BIGNUM *integer = BN_bin2bn(serial, sizeof serial, NULL);
    BN_to_ASN1_INTEGER(integer, X509_get_serialNumber(certificate));
    BN_free(integer);
    ASN1_TIME_set(X509_getm_notBefore(certificate), 1767139200);
    ASN1_TIME_set(X509_getm_notAfter(certificate), 1861833600);
    name(X509_get_subject_name(certificate), common);
    X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
    X509_set_pubkey(certificate, key);
    for (int index = 0; index < 5; index++) X509_add_ext(certificate, fixed[index], -1);
    addNames(certificate, mail, principal);
    addIdentifiers(certificate, authorityKey);
    require(X509_sign(certificate, authority, EVP_sha256()) > 0, "signing");
    return certificate;
}

static void *work(void *argument)
{
    int first = (int)(long)argument;
    unsigned char authorityKey[SHA_DIGEST_LENGTH] = {1};
    for (int number = first; number < count; number += threads) {
        EVP_PKEY *key = generate();
        require(key != NULL, "generating");
        if (!keysOnly) {
            X509 *certificate = issue(key, number, authorityKey);
            unsigned char *der = NULL, *secret = NULL, digest[SHA256_DIGEST_LENGTH];
            int size = i2d_X509(certificate, &der);
            SHA256(der, (size_t)size, digest);
            PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
            int secretSize = i2d_PKCS8_PRIV_KEY_INFO(info, &secret);
            require(size > 0 && secretSize > 0, "encoding");
            OPENSSL_clear_free(secret, (size_t)secretSize);
            PKCS8_PRIV_KEY_INFO_free(info);
            OPENSSL_free(der);
            X509_free(certificate);
        }
        EVP_PKEY_free(key);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    require(argc == 4, "usage");
    isRSA = strstr(argv[1], "rsa2048") != NULL;
    keysOnly = strncmp(argv[1], "key-", 4) == 0;
    count = atoi(argv[2]);
    threads = atoi(argv[3]);
    require(count > 0 && threads > 0 && threads <= 256, "reading the numbers");
    authority = generate();
    issuer = X509_new();
    name(X509_get_subject_name(issuer), "Test Email CA 1");
    prepare();
    double wall = now(CLOCK_MONOTONIC), processor = now(CLOCK_PROCESS_CPUTIME_ID);
    pthread_t others[256];
    for (long index = 1; index < threads; index++)
        require(pthread_create(&others[index], NULL, work, (void *)index) == 0, "starting a thread");
    work((void *)0);
    for (int index = 1; index < threads; index++) pthread_join(others[index], NULL);
    printf("%.1f %.1f\n", count / (now(CLOCK_MONOTONIC) - wall), count / (now(CLOCK_PROCESS_CPUTIME_ID) - processor));
    return 0;
}
