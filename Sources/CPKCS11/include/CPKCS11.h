// The part of PKCS #11 (OASIS, PKCS #11 Cryptographic Token Interface, 2.40 and 3.0) that the module needs, with the
// names, numbers and layouts of the standard. Every function of both versions is declared once, in the two lists at the
// end.
#ifndef KEYSHARING_CPKCS11_H
#define KEYSHARING_CPKCS11_H

typedef unsigned char CK_BYTE, CK_CHAR, CK_UTF8CHAR, CK_BBOOL;
typedef unsigned long CK_ULONG, CK_RV, CK_FLAGS, CK_SLOT_ID, CK_SESSION_HANDLE, CK_OBJECT_HANDLE, CK_OBJECT_CLASS,
    CK_ATTRIBUTE_TYPE, CK_MECHANISM_TYPE, CK_NOTIFICATION, CK_USER_TYPE, CK_STATE;
typedef void *CK_VOID_PTR;
typedef CK_BYTE *CK_BYTE_PTR;
typedef CK_UTF8CHAR *CK_UTF8CHAR_PTR;
typedef CK_ULONG *CK_ULONG_PTR;

typedef struct { CK_BYTE major, minor; } CK_VERSION;
typedef struct {
    CK_VERSION cryptokiVersion;
    CK_UTF8CHAR manufacturerID[32];
    CK_FLAGS flags;
    CK_UTF8CHAR libraryDescription[32];
    CK_VERSION libraryVersion;
} CK_INFO;
typedef struct {
    CK_UTF8CHAR slotDescription[64];
    CK_UTF8CHAR manufacturerID[32];
    CK_FLAGS flags;
    CK_VERSION hardwareVersion, firmwareVersion;
} CK_SLOT_INFO;
typedef struct {
    CK_UTF8CHAR label[32], manufacturerID[32], model[16], serialNumber[16];
    CK_FLAGS flags;
    CK_ULONG ulMaxSessionCount, ulSessionCount, ulMaxRwSessionCount, ulRwSessionCount, ulMaxPinLen, ulMinPinLen,
        ulTotalPublicMemory, ulFreePublicMemory, ulTotalPrivateMemory, ulFreePrivateMemory;
    CK_VERSION hardwareVersion, firmwareVersion;
    CK_CHAR utcTime[16];
} CK_TOKEN_INFO;
typedef struct { CK_SLOT_ID slotID; CK_STATE state; CK_FLAGS flags; CK_ULONG ulDeviceError; } CK_SESSION_INFO;
typedef struct { CK_ATTRIBUTE_TYPE type; CK_VOID_PTR pValue; CK_ULONG ulValueLen; } CK_ATTRIBUTE;
typedef struct { CK_MECHANISM_TYPE mechanism; CK_VOID_PTR pParameter; CK_ULONG ulParameterLen; } CK_MECHANISM;
typedef struct { CK_ULONG ulMinKeySize, ulMaxKeySize; CK_FLAGS flags; } CK_MECHANISM_INFO;
typedef struct { CK_BYTE year[4], month[2], day[2]; } CK_DATE;
typedef struct { CK_MECHANISM_TYPE hashAlg; CK_ULONG mgf, sLen; } CK_RSA_PKCS_PSS_PARAMS;
typedef struct {
    CK_MECHANISM_TYPE hashAlg;
    CK_ULONG mgf, source;
    CK_VOID_PTR pSourceData;
    CK_ULONG ulSourceDataLen;
} CK_RSA_PKCS_OAEP_PARAMS;
typedef struct {
    CK_ULONG kdf, ulSharedDataLen;
    CK_BYTE_PTR pSharedData;
    CK_ULONG ulPublicDataLen;
    CK_BYTE_PTR pPublicData;
} CK_ECDH1_DERIVE_PARAMS;
typedef CK_RV (*CK_NOTIFY)(CK_SESSION_HANDLE session, CK_NOTIFICATION event, CK_VOID_PTR application);
typedef struct {
    CK_RV (*CreateMutex)(CK_VOID_PTR *mutex);
    CK_RV (*DestroyMutex)(CK_VOID_PTR mutex);
    CK_RV (*LockMutex)(CK_VOID_PTR mutex);
    CK_RV (*UnlockMutex)(CK_VOID_PTR mutex);
    CK_FLAGS flags;
    CK_VOID_PTR pReserved;
} CK_C_INITIALIZE_ARGS;
typedef struct { CK_UTF8CHAR_PTR pInterfaceName; CK_VOID_PTR pFunctionList; CK_FLAGS flags; } CK_INTERFACE;
typedef struct CK_FUNCTION_LIST CK_FUNCTION_LIST;
typedef struct CK_FUNCTION_LIST_3_0 CK_FUNCTION_LIST_3_0;

#define CK_FALSE 0
#define CK_TRUE 1
#define CK_INVALID_HANDLE 0UL
#define CK_UNAVAILABLE_INFORMATION (~0UL)
#define CK_EFFECTIVELY_INFINITE 0UL

// Flags of C_Initialize, slots, tokens, sessions and mechanisms.
#define CKF_LIBRARY_CANT_CREATE_OS_THREADS 0x1UL
#define CKF_OS_LOCKING_OK 0x2UL
#define CKF_TOKEN_PRESENT 0x1UL
#define CKF_REMOVABLE_DEVICE 0x2UL
#define CKF_HW_SLOT 0x4UL
#define CKF_RNG 0x1UL
#define CKF_LOGIN_REQUIRED 0x4UL
#define CKF_USER_PIN_INITIALIZED 0x8UL
#define CKF_PROTECTED_AUTHENTICATION_PATH 0x100UL
#define CKF_TOKEN_INITIALIZED 0x400UL
#define CKF_USER_PIN_COUNT_LOW 0x10000UL
#define CKF_USER_PIN_FINAL_TRY 0x20000UL
#define CKF_USER_PIN_LOCKED 0x40000UL
#define CKF_RW_SESSION 0x2UL
#define CKF_SERIAL_SESSION 0x4UL
#define CKF_DONT_BLOCK 0x1UL
#define CKF_HW 0x1UL
#define CKF_DECRYPT 0x200UL
#define CKF_DIGEST 0x400UL
#define CKF_SIGN 0x800UL
#define CKF_DERIVE 0x80000UL
#define CKF_EC_F_P 0x100000UL
#define CKF_EC_NAMEDCURVE 0x800000UL
#define CKF_EC_UNCOMPRESS 0x1000000UL

#define CKU_SO 0UL
#define CKU_USER 1UL
#define CKU_CONTEXT_SPECIFIC 2UL
#define CKS_RO_PUBLIC_SESSION 0UL
#define CKS_RO_USER_FUNCTIONS 1UL
#define CKS_RW_PUBLIC_SESSION 2UL
#define CKS_RW_USER_FUNCTIONS 3UL

// Object classes, and the types of certificates, keys and profiles.
#define CKO_CERTIFICATE 1UL
#define CKO_PUBLIC_KEY 2UL
#define CKO_PRIVATE_KEY 3UL
#define CKO_SECRET_KEY 4UL
#define CKO_PROFILE 9UL
#define CKC_X_509 0UL
#define CKK_RSA 0UL
#define CKK_EC 3UL
#define CKK_GENERIC_SECRET 0x10UL
#define CKK_AES 0x1FUL
#define CKP_PUBLIC_CERTIFICATES_TOKEN 4UL

// Attributes.
#define CKA_CLASS 0x0UL
#define CKA_TOKEN 0x1UL
#define CKA_PRIVATE 0x2UL
#define CKA_LABEL 0x3UL
#define CKA_UNIQUE_ID 0x4UL
#define CKA_VALUE 0x11UL
#define CKA_CERTIFICATE_TYPE 0x80UL
#define CKA_ISSUER 0x81UL
#define CKA_SERIAL_NUMBER 0x82UL
#define CKA_TRUSTED 0x86UL
#define CKA_CERTIFICATE_CATEGORY 0x87UL
#define CKA_CHECK_VALUE 0x90UL
#define CKA_KEY_TYPE 0x100UL
#define CKA_SUBJECT 0x101UL
#define CKA_ID 0x102UL
#define CKA_SENSITIVE 0x103UL
#define CKA_ENCRYPT 0x104UL
#define CKA_DECRYPT 0x105UL
#define CKA_WRAP 0x106UL
#define CKA_UNWRAP 0x107UL
#define CKA_SIGN 0x108UL
#define CKA_SIGN_RECOVER 0x109UL
#define CKA_VERIFY 0x10AUL
#define CKA_VERIFY_RECOVER 0x10BUL
#define CKA_DERIVE 0x10CUL
#define CKA_START_DATE 0x110UL
#define CKA_END_DATE 0x111UL
#define CKA_MODULUS 0x120UL
#define CKA_MODULUS_BITS 0x121UL
#define CKA_PUBLIC_EXPONENT 0x122UL
#define CKA_PRIVATE_EXPONENT 0x123UL
#define CKA_PRIME_1 0x124UL
#define CKA_PRIME_2 0x125UL
#define CKA_EXPONENT_1 0x126UL
#define CKA_EXPONENT_2 0x127UL
#define CKA_COEFFICIENT 0x128UL
#define CKA_PUBLIC_KEY_INFO 0x129UL
#define CKA_VALUE_LEN 0x161UL
#define CKA_EXTRACTABLE 0x162UL
#define CKA_LOCAL 0x163UL
#define CKA_NEVER_EXTRACTABLE 0x164UL
#define CKA_ALWAYS_SENSITIVE 0x165UL
#define CKA_KEY_GEN_MECHANISM 0x166UL
#define CKA_MODIFIABLE 0x170UL
#define CKA_COPYABLE 0x171UL
#define CKA_DESTROYABLE 0x172UL
#define CKA_EC_PARAMS 0x180UL
#define CKA_EC_POINT 0x181UL
#define CKA_ALWAYS_AUTHENTICATE 0x202UL
#define CKA_WRAP_WITH_TRUSTED 0x210UL
#define CKA_PROFILE_ID 0x601UL
#define CKA_ALLOWED_MECHANISMS 0x40000600UL

// Mechanisms.
#define CKM_RSA_PKCS 0x1UL
#define CKM_RSA_X_509 0x3UL
#define CKM_SHA1_RSA_PKCS 0x6UL
#define CKM_RSA_PKCS_OAEP 0x9UL
#define CKM_RSA_PKCS_PSS 0xDUL
#define CKM_SHA1_RSA_PKCS_PSS 0xEUL
#define CKM_SHA256_RSA_PKCS 0x40UL
#define CKM_SHA384_RSA_PKCS 0x41UL
#define CKM_SHA512_RSA_PKCS 0x42UL
#define CKM_SHA256_RSA_PKCS_PSS 0x43UL
#define CKM_SHA384_RSA_PKCS_PSS 0x44UL
#define CKM_SHA512_RSA_PKCS_PSS 0x45UL
#define CKM_SHA224_RSA_PKCS 0x46UL
#define CKM_SHA224_RSA_PKCS_PSS 0x47UL
#define CKM_SHA_1 0x220UL
#define CKM_SHA256 0x250UL
#define CKM_SHA224 0x255UL
#define CKM_SHA384 0x260UL
#define CKM_SHA512 0x270UL
#define CKM_ECDSA 0x1041UL
#define CKM_ECDSA_SHA1 0x1042UL
#define CKM_ECDSA_SHA224 0x1043UL
#define CKM_ECDSA_SHA256 0x1044UL
#define CKM_ECDSA_SHA384 0x1045UL
#define CKM_ECDSA_SHA512 0x1046UL
#define CKM_ECDH1_DERIVE 0x1050UL
#define CKM_ECDH1_COFACTOR_DERIVE 0x1051UL
#define CKG_MGF1_SHA1 1UL
#define CKG_MGF1_SHA256 2UL
#define CKG_MGF1_SHA384 3UL
#define CKG_MGF1_SHA512 4UL
#define CKG_MGF1_SHA224 5UL
#define CKZ_DATA_SPECIFIED 1UL
#define CKD_NULL 1UL
#define CKD_SHA1_KDF 2UL
#define CKD_SHA224_KDF 5UL
#define CKD_SHA256_KDF 6UL
#define CKD_SHA384_KDF 7UL
#define CKD_SHA512_KDF 8UL

// Return codes.
#define CKR_OK 0x0UL
#define CKR_SLOT_ID_INVALID 0x3UL
#define CKR_GENERAL_ERROR 0x5UL
#define CKR_ARGUMENTS_BAD 0x7UL
#define CKR_NO_EVENT 0x8UL
#define CKR_CANT_LOCK 0xAUL
#define CKR_ATTRIBUTE_READ_ONLY 0x10UL
#define CKR_ATTRIBUTE_SENSITIVE 0x11UL
#define CKR_ATTRIBUTE_TYPE_INVALID 0x12UL
#define CKR_ATTRIBUTE_VALUE_INVALID 0x13UL
#define CKR_ACTION_PROHIBITED 0x1BUL
#define CKR_DATA_LEN_RANGE 0x21UL
#define CKR_DEVICE_ERROR 0x30UL
#define CKR_DEVICE_REMOVED 0x32UL
#define CKR_ENCRYPTED_DATA_INVALID 0x40UL
#define CKR_ENCRYPTED_DATA_LEN_RANGE 0x41UL
#define CKR_FUNCTION_CANCELED 0x50UL
#define CKR_FUNCTION_NOT_PARALLEL 0x51UL
#define CKR_FUNCTION_NOT_SUPPORTED 0x54UL
#define CKR_KEY_HANDLE_INVALID 0x60UL
#define CKR_KEY_TYPE_INCONSISTENT 0x63UL
#define CKR_KEY_NOT_NEEDED 0x64UL
#define CKR_KEY_INDIGESTIBLE 0x67UL
#define CKR_KEY_FUNCTION_NOT_PERMITTED 0x68UL
#define CKR_MECHANISM_INVALID 0x70UL
#define CKR_MECHANISM_PARAM_INVALID 0x71UL
#define CKR_OBJECT_HANDLE_INVALID 0x82UL
#define CKR_OPERATION_ACTIVE 0x90UL
#define CKR_OPERATION_NOT_INITIALIZED 0x91UL
#define CKR_PIN_INCORRECT 0xA0UL
#define CKR_PIN_LEN_RANGE 0xA2UL
#define CKR_PIN_LOCKED 0xA4UL
#define CKR_SESSION_COUNT 0xB1UL
#define CKR_SESSION_HANDLE_INVALID 0xB3UL
#define CKR_SESSION_PARALLEL_NOT_SUPPORTED 0xB4UL
#define CKR_SESSION_READ_ONLY 0xB5UL
#define CKR_SESSION_READ_ONLY_EXISTS 0xB8UL
#define CKR_TEMPLATE_INCOMPLETE 0xD0UL
#define CKR_TEMPLATE_INCONSISTENT 0xD1UL
#define CKR_TOKEN_NOT_PRESENT 0xE0UL
#define CKR_TOKEN_WRITE_PROTECTED 0xE2UL
#define CKR_USER_ALREADY_LOGGED_IN 0x100UL
#define CKR_USER_NOT_LOGGED_IN 0x101UL
#define CKR_USER_PIN_NOT_INITIALIZED 0x102UL
#define CKR_USER_TYPE_INVALID 0x103UL
#define CKR_USER_ANOTHER_ALREADY_LOGGED_IN 0x104UL
#define CKR_RANDOM_SEED_NOT_SUPPORTED 0x120UL
#define CKR_BUFFER_TOO_SMALL 0x150UL
#define CKR_SAVED_STATE_INVALID 0x160UL
#define CKR_STATE_UNSAVEABLE 0x180UL
#define CKR_CRYPTOKI_NOT_INITIALIZED 0x190UL
#define CKR_CRYPTOKI_ALREADY_INITIALIZED 0x191UL
#define CKR_FUNCTION_REJECTED 0x200UL

// The functions in the order of CK_FUNCTION_LIST. F marks functions that are implemented in Swift; N marks unsupported
// functions, whose first parameter is the session.
#define CPKCS11_FUNCTIONS_2_40(F, N) \
    F(C_Initialize, (CK_VOID_PTR arguments)) \
    F(C_Finalize, (CK_VOID_PTR reserved)) \
    F(C_GetInfo, (CK_INFO *info)) \
    F(C_GetFunctionList, (CK_FUNCTION_LIST **list)) \
    F(C_GetSlotList, (CK_BBOOL tokenPresent, CK_SLOT_ID *slots, CK_ULONG_PTR count)) \
    F(C_GetSlotInfo, (CK_SLOT_ID slot, CK_SLOT_INFO *info)) \
    F(C_GetTokenInfo, (CK_SLOT_ID slot, CK_TOKEN_INFO *info)) \
    F(C_GetMechanismList, (CK_SLOT_ID slot, CK_MECHANISM_TYPE *mechanisms, CK_ULONG_PTR count)) \
    F(C_GetMechanismInfo, (CK_SLOT_ID slot, CK_MECHANISM_TYPE mechanism, CK_MECHANISM_INFO *info)) \
    F(C_InitToken, (CK_SLOT_ID slot, CK_UTF8CHAR_PTR pin, CK_ULONG pinLength, CK_UTF8CHAR_PTR label)) \
    F(C_InitPIN, (CK_SESSION_HANDLE session, CK_UTF8CHAR_PTR pin, CK_ULONG pinLength)) \
    F(C_SetPIN, (CK_SESSION_HANDLE session, CK_UTF8CHAR_PTR oldPIN, CK_ULONG oldLength, CK_UTF8CHAR_PTR newPIN, \
                 CK_ULONG newLength)) \
    F(C_OpenSession, (CK_SLOT_ID slot, CK_FLAGS flags, CK_VOID_PTR application, CK_NOTIFY notify, \
                      CK_SESSION_HANDLE *session)) \
    F(C_CloseSession, (CK_SESSION_HANDLE session)) \
    F(C_CloseAllSessions, (CK_SLOT_ID slot)) \
    F(C_GetSessionInfo, (CK_SESSION_HANDLE session, CK_SESSION_INFO *info)) \
    F(C_GetOperationState, (CK_SESSION_HANDLE session, CK_BYTE_PTR state, CK_ULONG_PTR length)) \
    F(C_SetOperationState, (CK_SESSION_HANDLE session, CK_BYTE_PTR state, CK_ULONG length, \
                            CK_OBJECT_HANDLE encryptionKey, CK_OBJECT_HANDLE authenticationKey)) \
    F(C_Login, (CK_SESSION_HANDLE session, CK_USER_TYPE user, CK_UTF8CHAR_PTR pin, CK_ULONG pinLength)) \
    F(C_Logout, (CK_SESSION_HANDLE session)) \
    F(C_CreateObject, (CK_SESSION_HANDLE session, CK_ATTRIBUTE *attributes, CK_ULONG count, CK_OBJECT_HANDLE *object)) \
    F(C_CopyObject, (CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object, CK_ATTRIBUTE *attributes, CK_ULONG count, \
                     CK_OBJECT_HANDLE *copy)) \
    F(C_DestroyObject, (CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object)) \
    F(C_GetObjectSize, (CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object, CK_ULONG_PTR size)) \
    F(C_GetAttributeValue, (CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object, CK_ATTRIBUTE *attributes, \
                            CK_ULONG count)) \
    F(C_SetAttributeValue, (CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object, CK_ATTRIBUTE *attributes, \
                            CK_ULONG count)) \
    F(C_FindObjectsInit, (CK_SESSION_HANDLE session, CK_ATTRIBUTE *attributes, CK_ULONG count)) \
    F(C_FindObjects, (CK_SESSION_HANDLE session, CK_OBJECT_HANDLE *objects, CK_ULONG limit, CK_ULONG_PTR count)) \
    F(C_FindObjectsFinal, (CK_SESSION_HANDLE session)) \
    N(C_EncryptInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key)) \
    N(C_Encrypt, (CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR output, \
                  CK_ULONG_PTR outputLength)) \
    N(C_EncryptUpdate, (CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG length, CK_BYTE_PTR output, \
                        CK_ULONG_PTR outputLength)) \
    N(C_EncryptFinal, (CK_SESSION_HANDLE session, CK_BYTE_PTR output, CK_ULONG_PTR outputLength)) \
    F(C_DecryptInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key)) \
    F(C_Decrypt, (CK_SESSION_HANDLE session, CK_BYTE_PTR ciphertext, CK_ULONG length, CK_BYTE_PTR output, \
                  CK_ULONG_PTR outputLength)) \
    N(C_DecryptUpdate, (CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG length, CK_BYTE_PTR output, \
                        CK_ULONG_PTR outputLength)) \
    N(C_DecryptFinal, (CK_SESSION_HANDLE session, CK_BYTE_PTR output, CK_ULONG_PTR outputLength)) \
    F(C_DigestInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism)) \
    F(C_Digest, (CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR output, \
                 CK_ULONG_PTR outputLength)) \
    F(C_DigestUpdate, (CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG length)) \
    F(C_DigestKey, (CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key)) \
    F(C_DigestFinal, (CK_SESSION_HANDLE session, CK_BYTE_PTR output, CK_ULONG_PTR outputLength)) \
    F(C_SignInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key)) \
    F(C_Sign, (CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR output, \
               CK_ULONG_PTR outputLength)) \
    F(C_SignUpdate, (CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG length)) \
    F(C_SignFinal, (CK_SESSION_HANDLE session, CK_BYTE_PTR output, CK_ULONG_PTR outputLength)) \
    N(C_SignRecoverInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key)) \
    N(C_SignRecover, (CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR output, \
                      CK_ULONG_PTR outputLength)) \
    N(C_VerifyInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key)) \
    N(C_Verify, (CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR signature, \
                 CK_ULONG signatureLength)) \
    N(C_VerifyUpdate, (CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG length)) \
    N(C_VerifyFinal, (CK_SESSION_HANDLE session, CK_BYTE_PTR signature, CK_ULONG signatureLength)) \
    N(C_VerifyRecoverInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key)) \
    N(C_VerifyRecover, (CK_SESSION_HANDLE session, CK_BYTE_PTR signature, CK_ULONG signatureLength, \
                        CK_BYTE_PTR output, CK_ULONG_PTR outputLength)) \
    N(C_DigestEncryptUpdate, (CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG length, CK_BYTE_PTR output, \
                              CK_ULONG_PTR outputLength)) \
    N(C_DecryptDigestUpdate, (CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG length, CK_BYTE_PTR output, \
                              CK_ULONG_PTR outputLength)) \
    N(C_SignEncryptUpdate, (CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG length, CK_BYTE_PTR output, \
                            CK_ULONG_PTR outputLength)) \
    N(C_DecryptVerifyUpdate, (CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG length, CK_BYTE_PTR output, \
                              CK_ULONG_PTR outputLength)) \
    F(C_GenerateKey, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_ATTRIBUTE *attributes, CK_ULONG count, \
                      CK_OBJECT_HANDLE *key)) \
    F(C_GenerateKeyPair, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_ATTRIBUTE *publicAttributes, \
                          CK_ULONG publicCount, CK_ATTRIBUTE *privateAttributes, CK_ULONG privateCount, \
                          CK_OBJECT_HANDLE *publicKey, CK_OBJECT_HANDLE *privateKey)) \
    F(C_WrapKey, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE wrappingKey, \
                  CK_OBJECT_HANDLE key, CK_BYTE_PTR output, CK_ULONG_PTR outputLength)) \
    F(C_UnwrapKey, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE unwrappingKey, \
                    CK_BYTE_PTR wrapped, CK_ULONG wrappedLength, CK_ATTRIBUTE *attributes, CK_ULONG count, \
                    CK_OBJECT_HANDLE *key)) \
    F(C_DeriveKey, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE baseKey, \
                    CK_ATTRIBUTE *attributes, CK_ULONG count, CK_OBJECT_HANDLE *key)) \
    F(C_SeedRandom, (CK_SESSION_HANDLE session, CK_BYTE_PTR seed, CK_ULONG length)) \
    F(C_GenerateRandom, (CK_SESSION_HANDLE session, CK_BYTE_PTR output, CK_ULONG length)) \
    F(C_GetFunctionStatus, (CK_SESSION_HANDLE session)) \
    F(C_CancelFunction, (CK_SESSION_HANDLE session)) \
    F(C_WaitForSlotEvent, (CK_FLAGS flags, CK_SLOT_ID *slot, CK_VOID_PTR reserved))

// The functions that CK_FUNCTION_LIST_3_0 adds.
#define CPKCS11_FUNCTIONS_3_0(F, N) \
    F(C_GetInterfaceList, (CK_INTERFACE *interfaces, CK_ULONG_PTR count)) \
    F(C_GetInterface, (CK_UTF8CHAR_PTR name, CK_VERSION *version, CK_INTERFACE **interface, CK_FLAGS flags)) \
    F(C_LoginUser, (CK_SESSION_HANDLE session, CK_USER_TYPE user, CK_UTF8CHAR_PTR pin, CK_ULONG pinLength, \
                    CK_UTF8CHAR_PTR name, CK_ULONG nameLength)) \
    F(C_SessionCancel, (CK_SESSION_HANDLE session, CK_FLAGS flags)) \
    N(C_MessageEncryptInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key)) \
    N(C_EncryptMessage, (CK_SESSION_HANDLE session, CK_VOID_PTR parameter, CK_ULONG parameterLength, \
                         CK_BYTE_PTR associated, CK_ULONG associatedLength, CK_BYTE_PTR plaintext, \
                         CK_ULONG plaintextLength, CK_BYTE_PTR ciphertext, CK_ULONG_PTR ciphertextLength)) \
    N(C_EncryptMessageBegin, (CK_SESSION_HANDLE session, CK_VOID_PTR parameter, CK_ULONG parameterLength, \
                              CK_BYTE_PTR associated, CK_ULONG associatedLength)) \
    N(C_EncryptMessageNext, (CK_SESSION_HANDLE session, CK_VOID_PTR parameter, CK_ULONG parameterLength, \
                             CK_BYTE_PTR plaintext, CK_ULONG plaintextLength, CK_BYTE_PTR ciphertext, \
                             CK_ULONG_PTR ciphertextLength, CK_FLAGS flags)) \
    N(C_MessageEncryptFinal, (CK_SESSION_HANDLE session)) \
    N(C_MessageDecryptInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key)) \
    N(C_DecryptMessage, (CK_SESSION_HANDLE session, CK_VOID_PTR parameter, CK_ULONG parameterLength, \
                         CK_BYTE_PTR associated, CK_ULONG associatedLength, CK_BYTE_PTR ciphertext, \
                         CK_ULONG ciphertextLength, CK_BYTE_PTR plaintext, CK_ULONG_PTR plaintextLength)) \
    N(C_DecryptMessageBegin, (CK_SESSION_HANDLE session, CK_VOID_PTR parameter, CK_ULONG parameterLength, \
                              CK_BYTE_PTR associated, CK_ULONG associatedLength)) \
    N(C_DecryptMessageNext, (CK_SESSION_HANDLE session, CK_VOID_PTR parameter, CK_ULONG parameterLength, \
                             CK_BYTE_PTR ciphertext, CK_ULONG ciphertextLength, CK_BYTE_PTR plaintext, \
                             CK_ULONG_PTR plaintextLength, CK_FLAGS flags)) \
    N(C_MessageDecryptFinal, (CK_SESSION_HANDLE session)) \
    N(C_MessageSignInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key)) \
    N(C_SignMessage, (CK_SESSION_HANDLE session, CK_VOID_PTR parameter, CK_ULONG parameterLength, CK_BYTE_PTR data, \
                      CK_ULONG length, CK_BYTE_PTR signature, CK_ULONG_PTR signatureLength)) \
    N(C_SignMessageBegin, (CK_SESSION_HANDLE session, CK_VOID_PTR parameter, CK_ULONG parameterLength)) \
    N(C_SignMessageNext, (CK_SESSION_HANDLE session, CK_VOID_PTR parameter, CK_ULONG parameterLength, \
                          CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR signature, CK_ULONG_PTR signatureLength)) \
    N(C_MessageSignFinal, (CK_SESSION_HANDLE session)) \
    N(C_MessageVerifyInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key)) \
    N(C_VerifyMessage, (CK_SESSION_HANDLE session, CK_VOID_PTR parameter, CK_ULONG parameterLength, \
                        CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR signature, CK_ULONG signatureLength)) \
    N(C_VerifyMessageBegin, (CK_SESSION_HANDLE session, CK_VOID_PTR parameter, CK_ULONG parameterLength)) \
    N(C_VerifyMessageNext, (CK_SESSION_HANDLE session, CK_VOID_PTR parameter, CK_ULONG parameterLength, \
                            CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR signature, CK_ULONG signatureLength)) \
    N(C_MessageVerifyFinal, (CK_SESSION_HANDLE session))

#define CPKCS11_DECLARE(name, parameters) CK_RV name parameters;
CPKCS11_FUNCTIONS_2_40(CPKCS11_DECLARE, CPKCS11_DECLARE)
CPKCS11_FUNCTIONS_3_0(CPKCS11_DECLARE, CPKCS11_DECLARE)

#define CPKCS11_FIELD(name, parameters) CK_RV (*name) parameters;
struct CK_FUNCTION_LIST {
    CK_VERSION version;
    CPKCS11_FUNCTIONS_2_40(CPKCS11_FIELD, CPKCS11_FIELD)
};
struct CK_FUNCTION_LIST_3_0 {
    CK_VERSION version;
    CPKCS11_FUNCTIONS_2_40(CPKCS11_FIELD, CPKCS11_FIELD)
    CPKCS11_FUNCTIONS_3_0(CPKCS11_FIELD, CPKCS11_FIELD)
};

/// The list of the functions of version 2.40. It must not be changed.
CK_FUNCTION_LIST *cpkcs11_functions(void);
/// The interfaces of the module, 3.0 first. They must not be changed.
CK_INTERFACE *cpkcs11_interfaces(void);
/// The number of interfaces of the module.
#define CPKCS11_INTERFACE_COUNT 2UL
/// Returns the result of an unsupported function, and logs the call. The name must be a constant.
CK_RV cpkcs11_refuse(const char *name, CK_SESSION_HANDLE session);
/// Fills a buffer with random bytes from the kernel (getrandom(2)). Returns 0 or the error number.
int cpkcs11_fill_randomly(CK_BYTE_PTR output, CK_ULONG length);

#endif
