/* Independent checks of a token's results with libcrypto, called directly, without any code of the package.
 *
 * Keys are DER: private ones PKCS #8, public ones SubjectPublicKeyInfo. A function that gives bytes writes them to `out`,
 * sets `*out_length`, which holds the room of `out` before, and returns 1; every function returns 0 for a failure and for
 * a signature that does not verify. */
#ifndef TOKEN_REFERENCE_H
#define TOKEN_REFERENCE_H

#include <stddef.h>

#define REFERENCE_RAW 0
#define REFERENCE_PKCS1 1
#define REFERENCE_PSS 2
#define REFERENCE_OAEP 3

/* Makes an RSA key of `bits` bits, or a key on the curve of that name where `curve` is not NULL. */
int reference_generate(int bits, const char *curve, unsigned char *out, size_t *out_length);

/* Verifies an RSA signature of a digest, with PKCS #1 v1.5 or with PSS, whose salt is as long as the digest. */
int reference_verify_rsa(const unsigned char *spki, size_t spki_length, int padding, const char *digest_name,
                         const unsigned char *digest, size_t digest_length, const unsigned char *signature,
                         size_t signature_length);

/* Recovers the contents of an RSA signature: the whole block, or with PKCS #1 v1.5 the part after the padding. */
int reference_recover(const unsigned char *spki, size_t spki_length, int padding, const unsigned char *signature,
                      size_t signature_length, unsigned char *out, size_t *out_length);

/* Verifies an ECDSA signature of a digest; `is_concatenated` means that it is two numbers and not DER. */
int reference_verify_ecdsa(const unsigned char *spki, size_t spki_length, int is_concatenated,
                           const unsigned char *digest, size_t digest_length, const unsigned char *signature,
                           size_t signature_length);

/* Computes a digest. */
int reference_digest(const char *digest_name, const unsigned char *data, size_t length, unsigned char *out,
                     size_t *out_length);

/* Encrypts with RSA; `digest_name` is the digest of OAEP and its mask. */
int reference_encrypt_rsa(const unsigned char *spki, size_t spki_length, int padding, const char *digest_name,
                          const unsigned char *data, size_t length, unsigned char *out, size_t *out_length);

/* Encrypts with a session key under OAEP, and the data with AES-GCM, like Apple's hybrid algorithms. */
int reference_encrypt_hybrid(const unsigned char *spki, size_t spki_length, int bits, const char *digest_name,
                             const unsigned char *data, size_t length, unsigned char *out, size_t *out_length);

/* Agrees on a secret with a new key, whose encoded point goes to `point`; with a digest, derives `count` bytes by X9.63. */
int reference_agree(const unsigned char *spki, size_t spki_length, const char *digest_name,
                    const unsigned char *shared_info, size_t shared_info_length, size_t count, unsigned char *point,
                    size_t *point_length, unsigned char *out, size_t *out_length);

/* Encrypts with ECIES like Apple's algorithms. */
int reference_encrypt_ecies(const unsigned char *spki, size_t spki_length, int bits, const char *digest_name,
                            int has_variable_iv, const unsigned char *shared_info, size_t shared_info_length,
                            const unsigned char *associated, size_t associated_length, const unsigned char *data,
                            size_t length, unsigned char *out, size_t *out_length);

#endif
