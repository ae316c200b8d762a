// Methods (RSA_METHOD, EC_KEY_METHOD) that let OpenSSL use a key whose private half is external, by calling our code.
//
// OpenSSL 3 marks these functions as deprecated in favour of providers. All its versions have them, and a key with its
// own methods passes through EVP and CMS like the keys of smart-card engines. A provider would also have to implement
// every other operation that EVP requires of a key, which OpenSSL does here.
#ifndef KEYSHARING_METHODS_H
#define KEYSHARING_METHODS_H

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

typedef int (*keysharing_rsa_sign)(
    int digest, const unsigned char *input, unsigned int count, unsigned char *signature, unsigned int *signature_count,
    const RSA *key);
typedef int (*keysharing_rsa_transform)(
    int count, const unsigned char *input, unsigned char *output, RSA *key, int padding);
typedef int (*keysharing_ec_sign)(
    int digest, const unsigned char *input, int count, unsigned char *signature, unsigned int *signature_count,
    const BIGNUM *inverse, const BIGNUM *r, EC_KEY *key);
typedef int (*keysharing_ec_agree)(
    unsigned char **secret, size_t *count, const EC_POINT *point, const EC_KEY *key);

// OpenSSL's method with a replaced private operation; the caller frees it after the last key.
static inline RSA_METHOD *keysharing_rsa_method(
    keysharing_rsa_sign sign, keysharing_rsa_transform encrypt, keysharing_rsa_transform decrypt)
{
    RSA_METHOD *method = RSA_meth_dup(RSA_PKCS1_OpenSSL());
    if (method == NULL) return NULL;
    RSA_meth_set1_name(method, "external key");
    RSA_meth_set_flags(method, RSA_meth_get_flags(method) | RSA_FLAG_EXT_PKEY);
    RSA_meth_set_sign(method, sign);
    RSA_meth_set_priv_enc(method, encrypt);
    RSA_meth_set_priv_dec(method, decrypt);
    return method;
}

static inline EC_KEY_METHOD *keysharing_ec_method(keysharing_ec_sign sign, keysharing_ec_agree agree)
{
    EC_KEY_METHOD *method = EC_KEY_METHOD_new(EC_KEY_OpenSSL());
    if (method == NULL) return NULL;
    EC_KEY_METHOD_set_sign(method, sign, NULL, NULL);
    EC_KEY_METHOD_set_compute_key(method, agree);
    return method;
}

// Creates an RSA key from the octets of an RSAPublicKey (RFC 8017, A.1.1), with a method and application data at an
// index. If the result is not NULL, the key owns the data.
static inline EVP_PKEY *keysharing_rsa_key(
    const unsigned char *octets, size_t count, const RSA_METHOD *method, int index, void *datum)
{
    EVP_PKEY *key = EVP_PKEY_new();
    RSA *rsa = d2i_RSAPublicKey(NULL, &octets, (long)count);
    if (key != NULL && rsa != NULL && RSA_set_method(rsa, method) == 1 && EVP_PKEY_set1_RSA(key, rsa) == 1
        && RSA_set_ex_data(rsa, index, datum) == 1) {
        RSA_free(rsa);
        return key;
    }
    RSA_free(rsa);
    EVP_PKEY_free(key);
    return NULL;
}

// Creates an elliptic-curve key from an encoded point (SEC 1, 2.3.3), with a method and application data as above.
static inline EVP_PKEY *keysharing_ec_key(
    int curve, const unsigned char *octets, size_t count, const EC_KEY_METHOD *method, int index, void *datum)
{
    EVP_PKEY *key = EVP_PKEY_new();
    EC_KEY *ec = EC_KEY_new_by_curve_name(curve);
    if (key != NULL && ec != NULL && EC_KEY_oct2key(ec, octets, count, NULL) == 1 && EC_KEY_set_method(ec, method) == 1
        && EVP_PKEY_set1_EC_KEY(key, ec) == 1 && EC_KEY_set_ex_data(ec, index, datum) == 1) {
        EC_KEY_free(ec);
        return key;
    }
    EC_KEY_free(ec);
    EVP_PKEY_free(key);
    return NULL;
}

static inline void *keysharing_rsa_datum(const RSA *key, int index)
{
    return RSA_get_ex_data(key, index);
}

static inline void *keysharing_ec_datum(const EC_KEY *key, int index)
{
    return EC_KEY_get_ex_data(key, index);
}

// The maximum number of octets of a result: the length of the modulus.
static inline int keysharing_rsa_size(const RSA *key)
{
    return RSA_size(key);
}

// The maximum number of octets of a signature.
static inline int keysharing_ec_signature_size(const EC_KEY *key)
{
    return ECDSA_size(key);
}

// The number of octets of a shared secret, which is that of a coordinate.
static inline int keysharing_ec_secret_size(const EC_KEY *key)
{
    return (EC_GROUP_get_degree(EC_KEY_get0_group(key)) + 7) / 8;
}

// Writes a point of the key's curve, uncompressed, and returns the number of octets; 0 if they do not fit.
static inline size_t keysharing_ec_point(
    const EC_KEY *key, const EC_POINT *point, unsigned char *octets, size_t capacity)
{
    return EC_POINT_point2oct(
        EC_KEY_get0_group(key), point, POINT_CONVERSION_UNCOMPRESSED, octets, capacity, NULL);
}

#pragma clang diagnostic pop

#endif
