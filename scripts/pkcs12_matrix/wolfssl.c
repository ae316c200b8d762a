/* Reads and writes PKCS #12 with wolfSSL, for scripts/scoreboard matrix.
 *
 *   wolfssl read PASSWORD-FILE FILE
 *   wolfssl write PASSWORD-FILE KEY.der CERTIFICATE.der OUTPUT KEY-SCHEME CERTIFICATE-SCHEME
 *
 * The key to write is in the traditional form (RFC 8017, RFC 5915). The schemes are the numbers of enum PBESTypes, and
 * -1 for no encryption. Reading prints lines of "key HEX" and "certificate HEX".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wolfssl/options.h>
#include <wolfssl/wolfcrypt/error-crypt.h>
#include <wolfssl/wolfcrypt/pkcs12.h>
#include <wolfssl/wolfcrypt/wc_port.h>

static void check(int code, const char *what) {
    if (code >= 0) return;
    fprintf(stderr, "%s: %s (%d)\n", what, wc_GetErrorString(code), code);
    exit(1);
}

static byte *content(const char *path, word32 *size) {
    FILE *file = fopen(path, "rb");
    byte *bytes = malloc(1 << 20);
    if (file == NULL || bytes == NULL) exit(74);
    *size = (word32)fread(bytes, 1, (1 << 20) - 1, file);
    bytes[*size] = 0;
    fclose(file);
    return bytes;
}

static void print(const char *kind, const byte *bytes, word32 size) {
    printf("%s ", kind);
    for (word32 i = 0; i < size; i++) printf("%02x", bytes[i]);
    printf("\n");
}

int main(int count, char **arguments) {
    word32 length, size;
    if (count < 4) return 64;
    wolfCrypt_Init();
    char *password = (char *)content(arguments[2], &length);
    password[strcspn(password, "\n")] = 0;
    if (strcmp(arguments[1], "read") == 0) {
        byte *file = content(arguments[3], &size), *key = NULL, *certificate = NULL;
        word32 keySize = 0, certificateSize = 0;
        WC_DerCertList *others = NULL;
        WC_PKCS12 *store = wc_PKCS12_new();
        check(wc_d2i_PKCS12(file, size, store), "wc_d2i_PKCS12");
        check(wc_PKCS12_parse(store, password, &key, &keySize, &certificate, &certificateSize, &others),
              "wc_PKCS12_parse");
        if (key != NULL) print("key", key, keySize);
        if (certificate != NULL) print("certificate", certificate, certificateSize);
        for (; others != NULL; others = others->next) print("certificate", others->buffer, others->bufferSz);
        return 0;
    }
    if (count < 8) return 64;
    word32 keySize, certificateSize;
    byte *key = content(arguments[3], &keySize), *certificate = content(arguments[4], &certificateSize);
    WC_PKCS12 *store = wc_PKCS12_create(
        password, (word32)strlen(password), "a name", key, keySize, certificate, certificateSize, NULL,
        atoi(arguments[6]), atoi(arguments[7]), WC_PKCS12_ITT_DEFAULT, WC_PKCS12_MAC_DEFAULT, 0, NULL);
    if (store == NULL) {
        fprintf(stderr, "wc_PKCS12_create failed\n");
        return 1;
    }
    byte *file = NULL;
    int written = wc_i2d_PKCS12(store, &file, NULL);
    check(written, "wc_i2d_PKCS12");
    FILE *output = fopen(arguments[5], "wb");
    if (output == NULL || fwrite(file, 1, (size_t)written, output) != (size_t)written) return 74;
    fclose(output);
    return 0;
}
