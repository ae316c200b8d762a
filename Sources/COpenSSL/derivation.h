// The inner loops of password-based key derivation, on OpenSSL's compression functions (SHA1_Transform and so on).
//
// OpenSSL 3.0 calls EVP for every iteration. EVP allocates and copies contexts and acquires locks, which is two thirds of
// the time to open a PKCS #12 file. Here an iteration is one or two compressions. OpenSSL 3 marks the compression
// functions as deprecated, because they are specific to one algorithm and bypass providers, but all its versions have
// them.
#ifndef KEYSHARING_DERIVATION_H
#define KEYSHARING_DERIVATION_H

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdint.h>
#include <string.h>

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define KEYSHARING_BIG32(word) __builtin_bswap32(word)
#define KEYSHARING_BIG64(word) __builtin_bswap64(word)
#else
#define KEYSHARING_BIG32(word) (word)
#define KEYSHARING_BIG64(word) (word)
#endif

// The functions for one hash. CONTEXT is the type of its context, PREFIX the prefix of its functions, WORD the type of
// its words, BIG the conversion of a word to big-endian octets; BLOCK and SIZE are the lengths of a block and of a
// digest in octets. The chaining value is the first member of each context.
#define KEYSHARING_DERIVATION(name, CONTEXT, PREFIX, WORD, BIG, BLOCK, SIZE)                                   \
    /* Writes the first SIZE octets of a context's chaining value. */                                          \
    static inline void name##_store(const CONTEXT *context, uint8_t *output)                                   \
    {                                                                                                          \
        WORD words[(SIZE) / sizeof(WORD)];                                                                     \
        memcpy(words, context, SIZE);                                                                          \
        for (size_t index = 0; index < (SIZE) / sizeof(WORD); index++) words[index] = BIG(words[index]);       \
        memcpy(output, words, SIZE);                                                                           \
    }                                                                                                          \
    /* Completes a block that begins with a digest and is the last one of a message of `length` octets. */     \
    static inline void name##_pad(uint8_t *block, size_t length)                                               \
    {                                                                                                          \
        memset(block + (SIZE), 0, (BLOCK) - (SIZE));                                                           \
        block[SIZE] = 0x80;                                                                                    \
        block[(BLOCK) - 2] = (uint8_t)(length * 8 >> 8);                                                       \
        block[(BLOCK) - 1] = (uint8_t)(length * 8);                                                            \
    }                                                                                                          \
    /* Replaces a digest with its own digest, `times` times (RFC 7292, B.2, step 6.A). */                      \
    static inline void name##_repeat(uint8_t *digest, uint64_t times)                                          \
    {                                                                                                          \
        CONTEXT start, work;                                                                                   \
        uint8_t block[BLOCK];                                                                                  \
        PREFIX##_Init(&start);                                                                                 \
        memcpy(block, digest, SIZE);                                                                           \
        name##_pad(block, SIZE);                                                                               \
        for (; times > 0; times--) {                                                                           \
            work = start;                                                                                      \
            PREFIX##_Transform(&work, block);                                                                  \
            name##_store(&work, block);                                                                        \
        }                                                                                                      \
        memcpy(digest, block, SIZE);                                                                           \
        OPENSSL_cleanse(block, sizeof block);                                                                  \
        OPENSSL_cleanse(&work, sizeof work);                                                                   \
    }                                                                                                          \
    /* PBKDF2 (RFC 8018, 5.2) with HMAC (RFC 2104). */                                                         \
    static inline void name##_pbkdf2(                                                                          \
        const uint8_t *password, size_t password_count, const uint8_t *salt, size_t salt_count,                \
        uint64_t iterations, uint8_t *output, size_t count)                                                    \
    {                                                                                                          \
        CONTEXT inner, outer, work;                                                                            \
        uint8_t key[BLOCK] = {0}, pad[BLOCK], block[BLOCK], sum[SIZE];                                         \
        PREFIX##_Init(&inner);                                                                                 \
        PREFIX##_Init(&outer);                                                                                 \
        if (password_count > (BLOCK)) {                                                                        \
            PREFIX##_Init(&work);                                                                              \
            PREFIX##_Update(&work, password, password_count);                                                  \
            PREFIX##_Final(key, &work);                                                                        \
        } else if (password_count > 0) {                                                                       \
            memcpy(key, password, password_count);                                                             \
        }                                                                                                      \
        for (size_t index = 0; index < (BLOCK); index++) pad[index] = key[index] ^ 0x36;                       \
        PREFIX##_Update(&inner, pad, BLOCK);                                                                   \
        for (size_t index = 0; index < (BLOCK); index++) pad[index] = key[index] ^ 0x5C;                       \
        PREFIX##_Update(&outer, pad, BLOCK);                                                                   \
        for (uint32_t number = 1; count > 0; number++) {                                                       \
            uint32_t big = KEYSHARING_BIG32(number);                                                           \
            work = inner;                                                                                      \
            PREFIX##_Update(&work, salt, salt_count);                                                          \
            PREFIX##_Update(&work, &big, sizeof big);                                                          \
            PREFIX##_Final(block, &work);                                                                      \
            work = outer;                                                                                      \
            PREFIX##_Update(&work, block, SIZE);                                                               \
            PREFIX##_Final(block, &work);                                                                      \
            memcpy(sum, block, SIZE);                                                                          \
            name##_pad(block, (BLOCK) + (SIZE));                                                               \
            for (uint64_t round = 1; round < iterations; round++) {                                            \
                work = inner;                                                                                  \
                PREFIX##_Transform(&work, block);                                                              \
                name##_store(&work, block);                                                                    \
                work = outer;                                                                                  \
                PREFIX##_Transform(&work, block);                                                              \
                name##_store(&work, block);                                                                    \
                for (size_t index = 0; index < (SIZE); index++) sum[index] ^= block[index];                    \
            }                                                                                                  \
            size_t taken = count < (SIZE) ? count : (SIZE);                                                    \
            memcpy(output, sum, taken);                                                                        \
            output += taken;                                                                                   \
            count -= taken;                                                                                    \
        }                                                                                                      \
        OPENSSL_cleanse(key, sizeof key);                                                                      \
        OPENSSL_cleanse(pad, sizeof pad);                                                                      \
        OPENSSL_cleanse(block, sizeof block);                                                                  \
        OPENSSL_cleanse(sum, sizeof sum);                                                                      \
        OPENSSL_cleanse(&inner, sizeof inner);                                                                 \
        OPENSSL_cleanse(&outer, sizeof outer);                                                                 \
        OPENSSL_cleanse(&work, sizeof work);                                                                   \
    }

KEYSHARING_DERIVATION(keysharing_sha1, SHA_CTX, SHA1, uint32_t, KEYSHARING_BIG32, 64, 20)
KEYSHARING_DERIVATION(keysharing_sha256, SHA256_CTX, SHA256, uint32_t, KEYSHARING_BIG32, 64, 32)
KEYSHARING_DERIVATION(keysharing_sha512, SHA512_CTX, SHA512, uint64_t, KEYSHARING_BIG64, 128, 64)

#undef KEYSHARING_DERIVATION
#undef KEYSHARING_BIG32
#undef KEYSHARING_BIG64
#pragma clang diagnostic pop

#endif
