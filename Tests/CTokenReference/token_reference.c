#include "token_reference.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <string.h>

static EVP_PKEY *public_key(const unsigned char *spki, size_t length)
{
    const unsigned char *at = spki;
    return d2i_PUBKEY(NULL, &at, (long)length);
}

static int rsa_padding(int padding)
{
    switch (padding) {
    case REFERENCE_RAW: return RSA_NO_PADDING;
    case REFERENCE_PSS: return RSA_PKCS1_PSS_PADDING;
    case REFERENCE_OAEP: return RSA_PKCS1_OAEP_PADDING;
    default: return RSA_PKCS1_PADDING;
    }
}

int reference_generate(int bits, const char *curve, unsigned char *out, size_t *out_length)
{
    EVP_PKEY *key = curve ? EVP_EC_gen(curve) : EVP_RSA_gen((unsigned)bits);
    PKCS8_PRIV_KEY_INFO *info = key ? EVP_PKEY2PKCS8(key) : NULL;
    int length = info ? i2d_PKCS8_PRIV_KEY_INFO(info, NULL) : 0;
    int done = 0;
    if (length > 0 && (size_t)length <= *out_length) {
        *out_length = (size_t)i2d_PKCS8_PRIV_KEY_INFO(info, &out);
        done = 1;
    }
    PKCS8_PRIV_KEY_INFO_free(info);
    EVP_PKEY_free(key);
    return done;
}

int reference_verify_rsa(const unsigned char *spki, size_t spki_length, int padding, const char *digest_name,
                         const unsigned char *digest, size_t digest_length, const unsigned char *signature,
                         size_t signature_length)
{
    EVP_PKEY *key = public_key(spki, spki_length);
    EVP_PKEY_CTX *context = key ? EVP_PKEY_CTX_new(key, NULL) : NULL;
    const EVP_MD *md = EVP_get_digestbyname(digest_name);
    int verifies =
        context && md && EVP_PKEY_verify_init(context) == 1
        && EVP_PKEY_CTX_set_rsa_padding(context, rsa_padding(padding)) == 1
        && EVP_PKEY_CTX_set_signature_md(context, md) == 1
        && (padding != REFERENCE_PSS
            || (EVP_PKEY_CTX_set_rsa_pss_saltlen(context, EVP_MD_get_size(md)) == 1
                && EVP_PKEY_CTX_set_rsa_mgf1_md(context, md) == 1))
        && EVP_PKEY_verify(context, signature, signature_length, digest, digest_length) == 1;
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(key);
    return verifies;
}

int reference_recover(const unsigned char *spki, size_t spki_length, int padding, const unsigned char *signature,
                      size_t signature_length, unsigned char *out, size_t *out_length)
{
    EVP_PKEY *key = public_key(spki, spki_length);
    EVP_PKEY_CTX *context = key ? EVP_PKEY_CTX_new(key, NULL) : NULL;
    int done = context && EVP_PKEY_verify_recover_init(context) == 1
               && EVP_PKEY_CTX_set_rsa_padding(context, rsa_padding(padding)) == 1
               && EVP_PKEY_verify_recover(context, out, out_length, signature, signature_length) == 1;
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(key);
    return done;
}

int reference_verify_ecdsa(const unsigned char *spki, size_t spki_length, int is_concatenated,
                           const unsigned char *digest, size_t digest_length, const unsigned char *signature,
                           size_t signature_length)
{
    unsigned char *der = NULL;
    int der_length = (int)signature_length;
    if (is_concatenated) {
        ECDSA_SIG *numbers = ECDSA_SIG_new();
        int half = (int)signature_length / 2;
        if (numbers) {
            ECDSA_SIG_set0(numbers, BN_bin2bn(signature, half, NULL), BN_bin2bn(signature + half, half, NULL));
            der_length = i2d_ECDSA_SIG(numbers, &der);
        }
        ECDSA_SIG_free(numbers);
    }
    EVP_PKEY *key = public_key(spki, spki_length);
    EVP_PKEY_CTX *context = key ? EVP_PKEY_CTX_new(key, NULL) : NULL;
    int verifies = context && der_length > 0 && EVP_PKEY_verify_init(context) == 1
                   && EVP_PKEY_verify(context, der ? der : signature, (size_t)der_length, digest, digest_length) == 1;
    OPENSSL_free(der);
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(key);
    return verifies;
}

int reference_digest(const char *digest_name, const unsigned char *data, size_t length, unsigned char *out,
                     size_t *out_length)
{
    const EVP_MD *md = EVP_get_digestbyname(digest_name);
    unsigned count = 0;
    if (!md || *out_length < (size_t)EVP_MD_get_size(md) || EVP_Digest(data, length, out, &count, md, NULL) != 1) {
        return 0;
    }
    *out_length = count;
    return 1;
}

static int encrypt_rsa(EVP_PKEY *key, int padding, const char *digest_name, const unsigned char *data, size_t length,
                       unsigned char *out, size_t *out_length)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    const EVP_MD *md = digest_name ? EVP_get_digestbyname(digest_name) : NULL;
    int done = context && EVP_PKEY_encrypt_init(context) == 1
               && EVP_PKEY_CTX_set_rsa_padding(context, rsa_padding(padding)) == 1
               && (padding != REFERENCE_OAEP
                   || (md && EVP_PKEY_CTX_set_rsa_oaep_md(context, md) == 1
                       && EVP_PKEY_CTX_set_rsa_mgf1_md(context, md) == 1))
               && EVP_PKEY_encrypt(context, out, out_length, data, length) == 1;
    EVP_PKEY_CTX_free(context);
    return done;
}

int reference_encrypt_rsa(const unsigned char *spki, size_t spki_length, int padding, const char *digest_name,
                          const unsigned char *data, size_t length, unsigned char *out, size_t *out_length)
{
    EVP_PKEY *key = public_key(spki, spki_length);
    int done = key && encrypt_rsa(key, padding, digest_name, data, length, out, out_length);
    EVP_PKEY_free(key);
    return done;
}

/* AES-GCM with a vector of 16 bytes: the ciphertext, then the tag of 16 bytes. */
static int seal(const unsigned char *key, size_t key_length, const unsigned char *vector,
                const unsigned char *associated, size_t associated_length, const unsigned char *data, size_t length,
                unsigned char *out)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int count = 0;
    int done = context
               && EVP_EncryptInit_ex(
                      context, key_length == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm(), NULL, NULL, NULL) == 1
               && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, 16, NULL) == 1
               && EVP_EncryptInit_ex(context, NULL, NULL, key, vector) == 1
               && (associated_length == 0
                   || EVP_EncryptUpdate(context, NULL, &count, associated, (int)associated_length) == 1)
               && EVP_EncryptUpdate(context, out, &count, data, (int)length) == 1
               && EVP_EncryptFinal_ex(context, out + count, &count) == 1
               && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, out + length) == 1;
    EVP_CIPHER_CTX_free(context);
    return done;
}

int reference_encrypt_hybrid(const unsigned char *spki, size_t spki_length, int bits, const char *digest_name,
                             const unsigned char *data, size_t length, unsigned char *out, size_t *out_length)
{
    static const unsigned char zeros[16];
    unsigned char session[32];
    size_t session_length = bits < 4096 ? 16 : 32;
    EVP_PKEY *key = public_key(spki, spki_length);
    unsigned char *encoded = NULL;
    int encoded_length = key ? i2d_PublicKey(key, &encoded) : 0;
    size_t head = *out_length;
    int done = 0;
    if (encoded_length > 0 && RAND_bytes(session, (int)session_length) == 1
        && encrypt_rsa(key, REFERENCE_OAEP, digest_name, session, session_length, out, &head)
        && head + length + 16 <= *out_length
        && seal(session, session_length, zeros, encoded, (size_t)encoded_length, data, length, out + head)) {
        *out_length = head + length + 16;
        done = 1;
    }
    OPENSSL_free(encoded);
    EVP_PKEY_free(key);
    return done;
}

static int derive_x963(const char *digest_name, const unsigned char *secret, size_t secret_length,
                       const unsigned char *info, size_t info_length, unsigned char *out, size_t count)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "X963KDF", NULL);
    EVP_KDF_CTX *context = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    OSSL_PARAM parameters[4];
    OSSL_PARAM *at = parameters;
    *at++ = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)digest_name, 0);
    *at++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)secret, secret_length);
    if (info_length > 0) {
        *at++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_length);
    }
    *at = OSSL_PARAM_construct_end();
    int done = context && EVP_KDF_derive(context, out, count, parameters) == 1;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return done;
}

int reference_agree(const unsigned char *spki, size_t spki_length, const char *digest_name,
                    const unsigned char *shared_info, size_t shared_info_length, size_t count, unsigned char *point,
                    size_t *point_length, unsigned char *out, size_t *out_length)
{
    EVP_PKEY *key = public_key(spki, spki_length);
    char curve[64];
    size_t curve_length = 0;
    unsigned char secret[66];
    size_t secret_length = sizeof secret;
    EVP_PKEY *own = NULL;
    if (key && EVP_PKEY_get_group_name(key, curve, sizeof curve, &curve_length) == 1) own = EVP_EC_gen(curve);
    EVP_PKEY_CTX *context = own ? EVP_PKEY_CTX_new(own, NULL) : NULL;
    int done =
        context && EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, key) == 1
        && EVP_PKEY_derive(context, secret, &secret_length) == 1
        && EVP_PKEY_get_octet_string_param(
               own, OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, point, *point_length, point_length) == 1;
    if (done && digest_name) {
        done = count <= *out_length
               && derive_x963(digest_name, secret, secret_length, shared_info, shared_info_length, out, count);
        *out_length = count;
    } else if (done) {
        done = secret_length <= *out_length;
        if (done) memcpy(out, secret, secret_length);
        *out_length = secret_length;
    }
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(own);
    EVP_PKEY_free(key);
    return done;
}

int reference_encrypt_ecies(const unsigned char *spki, size_t spki_length, int bits, const char *digest_name,
                            int has_variable_iv, const unsigned char *shared_info, size_t shared_info_length,
                            const unsigned char *associated, size_t associated_length, const unsigned char *data,
                            size_t length, unsigned char *out, size_t *out_length)
{
    unsigned char secret[66], info[1024], derived[48], vector[16] = { 0 };
    size_t secret_length = sizeof secret, point_length = *out_length;
    size_t key_length = bits <= 256 ? 16 : 32;
    /* The ephemeral point comes first, and is the first part of the shared information. */
    if (!reference_agree(spki, spki_length, NULL, NULL, 0, 0, out, &point_length, secret, &secret_length)
        || point_length + length + 16 > *out_length || point_length + shared_info_length > sizeof info) {
        return 0;
    }
    memcpy(info, out, point_length);
    if (shared_info_length > 0) memcpy(info + point_length, shared_info, shared_info_length);
    if (!derive_x963(
            digest_name, secret, secret_length, info, point_length + shared_info_length, derived,
            has_variable_iv ? key_length + 16 : key_length)) {
        return 0;
    }
    if (has_variable_iv) memcpy(vector, derived + key_length, 16);
    if (!seal(derived, key_length, vector, associated, associated_length, data, length, out + point_length)) return 0;
    *out_length = point_length + length + 16;
    return 1;
}
