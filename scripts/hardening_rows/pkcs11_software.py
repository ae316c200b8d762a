"""A program that checks random numbers, digests and the PKCS #11 module's unsupported functions against the text of the
standard. The row `module-rules` and tests run it as a separate process. It needs a provider with an RSA and an EC key.

usage: pkcs11_software.py MODULE

It prints one line, and exits with 0 if no rule is violated.
"""
import ctypes
import hashlib
import sys

from pkcs11_caller import (
    ALL_ONES, CERTIFICATE, DECRYPT, OK, PUBLIC_KEY, SHA256_RSA_PKCS, TOO_SMALL, ULONG, Mechanism, Module, arguments_of, need, number,
    template)
from pkcs11_provider import POINT
from pkcs11_rules import (
    ACTIVE, ARGUMENTS_BAD, KEY_INVALID, MECHANISM_INVALID, NO_OPERATION, NOT_SUPPORTED, PARAMETER_INVALID, READ_ONLY,
    SESSION_INVALID, Agreement, PSSParameters, kept, rule, sign_init)

SEED_NOT_SUPPORTED, INDIGESTIBLE, UNSAVEABLE, STATE_INVALID, KEY_NOT_NEEDED = 0x120, 0x67, 0x180, 0x160, 0x64
DIGESTS = {0x220: hashlib.sha1, 0x255: hashlib.sha224, 0x250: hashlib.sha256, 0x260: hashlib.sha384, 0x270: hashlib.sha512}
SHA256 = 0x250


def random_numbers(module):
    """C_SeedRandom and C_GenerateRandom (5.17)."""
    session = module.open()
    seen = set()
    for size in [1, 16, 256, 4_096, 1 << 20]:
        buffer = ctypes.create_string_buffer(size + 16)
        rule(module.C_GenerateRandom(session, buffer, size), OK, f"{size} random bytes")
        need(buffer.raw[size:] == bytes(16), "bytes past the buffer")
        need(size == 1 or buffer.raw[:16] != bytes(16), "random bytes that are zero")
        need(size < 4_096 or abs(sum(buffer.raw[:size]) / size - 127.5) < 6, "random bytes that are not uniform")
        seen.add(buffer.raw[:16])
    need(len(seen) == 5, "random bytes that repeat")
    rule(module.C_GenerateRandom(session, None, 0), OK, "no random bytes")
    rule(module.C_GenerateRandom(session, None, 1), ARGUMENTS_BAD, "C_GenerateRandom without a place")
    rule(module.C_GenerateRandom(session, buffer, ALL_ONES), ARGUMENTS_BAD, "C_GenerateRandom of 2^64 - 1 bytes")
    rule(module.C_GenerateRandom(99_999, None, 1), SESSION_INVALID, "C_GenerateRandom in no session")
    rule(module.C_SeedRandom(session, b"seed", 4), SEED_NOT_SUPPORTED, "C_SeedRandom")
    rule(module.C_SeedRandom(session, None, 4), ARGUMENTS_BAD, "C_SeedRandom without a seed")
    rule(module.C_SeedRandom(99_999, b"seed", 4), SESSION_INVALID, "C_SeedRandom in no session")
    info = ctypes.create_string_buffer(256)
    module.need("C_GetTokenInfo", 0, info)
    need(ULONG.from_buffer(info, 96).value & 1, "CKF_RNG")


def begin(module, session, mechanism=SHA256, parameter=None, length=0):
    return module.C_DigestInit(session, ctypes.byref(Mechanism(mechanism, parameter, length)))


def digest(module, session, data, size=64, place=True):
    """A digest of one part, or the number of the error; the length is checked."""
    out, length = ctypes.create_string_buffer(80), ULONG(size)
    code = module.C_Digest(session, data, len(data), out if place else None, ctypes.byref(length))
    return out.raw[:length.value] if code == OK and place else (code, length.value)


def final(module, session, size=64, place=True):
    out, length = ctypes.create_string_buffer(80), ULONG(size)
    code = module.C_DigestFinal(session, out if place else None, ctypes.byref(length))
    return out.raw[:length.value] if code == OK and place else (code, length.value)


def digests(module):
    """C_DigestInit to C_DigestFinal (5.10)."""
    session, other = module.open(), module.open()
    message = bytes(range(251)) * 9
    for mechanism, reference in DIGESTS.items():
        size = reference().digest_size
        for count in [0, 1, 55, 56, 63, 64, 65, 111, 112, 127, 128, 129, 239, 240, 2_000]:
            rule(begin(module, session, mechanism), OK, "C_DigestInit")
            need(digest(module, session, message[:count]) == reference(message[:count]).digest(), f"0x{mechanism:x} of {count} bytes")
            for step in [1, 63, 64, 100, 300]:
                rule(begin(module, session, mechanism), OK, "C_DigestInit")
                for start in range(0, count, step):
                    part = message[start:min(start + step, count)]
                    rule(module.C_DigestUpdate(session, part, len(part)), OK, "C_DigestUpdate")
                need(final(module, session) == reference(message[:count]).digest(), f"0x{mechanism:x} of {count} bytes by {step}")
        rule(begin(module, session, mechanism), OK, "C_DigestInit")
        need(digest(module, session, b"abc", place=False) == (OK, size), "the length of a digest")
        need(digest(module, session, b"abc", size - 1) == (TOO_SMALL, size), "a buffer that is too small")
        need(digest(module, session, b"abc") == reference(b"abc").digest(), "C_Digest after the length")
        rule(digest(module, session, b"abc")[0], NO_OPERATION, "C_Digest after C_Digest")
    large = bytes(3_000_000)
    begin(module, session)
    need(digest(module, session, large) == hashlib.sha256(large).digest(), "a large message")
    states(module, session, other)
    keys(module, session)


def states(module, session, other):
    """The states of a digest."""
    for name, arguments in [("C_Digest", (b"x", 1, None, ctypes.byref(ULONG()))), ("C_DigestUpdate", (b"x", 1)),
                            ("C_DigestFinal", (None, ctypes.byref(ULONG()))), ("C_DigestKey", (1,))]:
        rule(getattr(module, name)(session, *arguments), NO_OPERATION, f"{name} that was not begun")
        rule(getattr(module, name)(99_999, *arguments), SESSION_INVALID, f"{name} in no session")
    rule(begin(module, 99_999), SESSION_INVALID, "C_DigestInit in no session")
    rule(module.C_DigestInit(session, None), ARGUMENTS_BAD, "C_DigestInit without a mechanism")
    rule(begin(module, session, 0x99), MECHANISM_INVALID, "a mechanism that does not exist")
    rule(begin(module, session, SHA256_RSA_PKCS), MECHANISM_INVALID, "a mechanism of keys")
    data = ctypes.create_string_buffer(8)
    rule(begin(module, session, SHA256, ctypes.cast(data, ctypes.c_void_p), 8), PARAMETER_INVALID, "SHA-256 with parameters")
    rule(digest(module, session, b"x")[0], NO_OPERATION, "C_Digest after refused beginnings")
    rule(begin(module, session), OK, "C_DigestInit")
    rule(begin(module, session), ACTIVE, "C_DigestInit twice")
    rule(begin(module, other, 0x220), OK, "C_DigestInit in another session")
    rule(module.C_DigestUpdate(session, b"ab", 2), OK, "C_DigestUpdate")
    rule(digest(module, session, b"x")[0], ACTIVE, "C_Digest after C_DigestUpdate")
    need(digest(module, other, b"x") == hashlib.sha1(b"x").digest(), "the other session")
    rule(module.C_DigestUpdate(session, None, 0), OK, "C_DigestUpdate of nothing")
    rule(module.C_DigestUpdate(session, b"c", 1), OK, "C_DigestUpdate")
    need(final(module, session, place=False) == (OK, 32), "the length of a digest")
    need(final(module, session, 31) == (TOO_SMALL, 32), "C_DigestFinal into a small buffer")
    need(final(module, session) == hashlib.sha256(b"abc").digest(), "C_DigestFinal")
    for end in [lambda: module.C_DigestInit(session, None), lambda: module.C_SessionCancel(session, 0x400),
                lambda: (module.C_DigestUpdate(session, None, 1) == ARGUMENTS_BAD) - 1,
                lambda: (module.C_DigestFinal(session, data, None) == ARGUMENTS_BAD) - 1,
                lambda: (module.C_Digest(session, None, 1, data, ctypes.byref(ULONG(64))) == ARGUMENTS_BAD) - 1]:
        rule(begin(module, session), OK, "C_DigestInit")
        rule(end(), OK, "the end of a digest")
        rule(digest(module, session, b"x")[0], NO_OPERATION, "C_Digest after the end")
    # A signature and a digest are two operations of one session.
    rule(begin(module, session), OK, "C_DigestInit")
    rule(sign_init(module, session, module.key(session)), OK, "C_SignInit during C_DigestInit")
    rule(sign_init(module, other, module.key(other), SHA256), MECHANISM_INVALID, "C_SignInit with a digest")
    rule(sign_init(module, other, module.key(other, 3), SHA256), MECHANISM_INVALID, "C_SignInit with a digest")
    rule(module.C_GetOperationState(session, None, ctypes.byref(ULONG())), UNSAVEABLE, "the state of a signature")
    rule(module.C_SessionCancel(session, 0x800), OK, "C_SessionCancel of the signature")
    saving(module, session, other)


def saving(module, session, other):
    """C_GetOperationState and C_SetOperationState (5.6); the session has an active digest."""
    rule(module.C_DigestUpdate(session, bytes(100), 100), OK, "C_DigestUpdate")
    length, state = ULONG(), ctypes.create_string_buffer(512)
    rule(module.C_GetOperationState(session, None, None), ARGUMENTS_BAD, "C_GetOperationState without a length")
    rule(module.C_GetOperationState(session, None, ctypes.byref(length)), OK, "the length of a state")
    size = length.value
    length.value = size - 1
    rule(module.C_GetOperationState(session, state, ctypes.byref(length)), TOO_SMALL, "a buffer that is too small")
    length.value = 512
    rule(module.C_GetOperationState(session, state, ctypes.byref(length)), OK, "C_GetOperationState")
    need(length.value == size, "the length of a state")
    rule(module.C_GetOperationState(other, state, ctypes.byref(ULONG(512))), NO_OPERATION, "the state of nothing")
    rule(module.C_SetOperationState(other, state, size, 1, 0), KEY_NOT_NEEDED, "a state with a key")
    rule(module.C_SetOperationState(other, None, size, 0, 0), ARGUMENTS_BAD, "no state")
    rule(module.C_SetOperationState(99_999, state, size, 0, 0), SESSION_INVALID, "a state in no session")
    for wrong in [state.raw[:size - 1], state.raw[:size] + b"\0", b"", b"\0", b"\2" + state.raw[1:size], b"\1\x09" + state.raw[2:size],
                  state.raw[:11] + b"\xff" * 8 + state.raw[19:size]]:
        rule(module.C_SetOperationState(other, wrong, len(wrong), 0, 0), STATE_INVALID, "an invalid state")
    rule(module.C_SetOperationState(other, state, size, 0, 0), OK, "C_SetOperationState")
    for one, end in [(session, b"a"), (other, b"b")]:
        rule(module.C_DigestUpdate(one, end, 1), OK, "C_DigestUpdate")
        need(final(module, one) == hashlib.sha256(bytes(100) + end).digest(), "a digest that continues")


def keys(module, session):
    """C_DigestKey accepts only secrets that the caller may read."""
    base = module.find(session, (0, number(3)), (0x10C, b"\1"))
    public = module.find(session, (0, number(PUBLIC_KEY)), (0x10C, b"\1"))
    need(base and len(base) == len(public), "CKA_DERIVE is not on both halves of a key pair")
    point = ctypes.create_string_buffer(POINT[2:], 65)
    passed = Agreement(1, 0, None, 65, ctypes.cast(point, ctypes.c_void_p))
    mechanism = Mechanism(0x1050, ctypes.cast(ctypes.byref(passed), ctypes.c_void_p), ctypes.sizeof(passed))
    secret = ULONG()
    module.need("C_DeriveKey", session, ctypes.byref(mechanism), base[0], template(), 0, ctypes.byref(secret))
    rule(begin(module, session), OK, "C_DigestInit")
    rule(module.C_DigestKey(session, secret.value), OK, "C_DigestKey")
    need(final(module, session) == hashlib.sha256(module.attribute(session, secret.value, 0x11)).digest(), "the digest of a secret")
    module.need("C_DeriveKey", session, ctypes.byref(mechanism), base[0], template((0x103, b"\1")), 1, ctypes.byref(secret))
    certificate = module.find(session, (0, number(CERTIFICATE)))[0]
    for key, code in [(secret.value, INDIGESTIBLE), (base[0], INDIGESTIBLE), (certificate, INDIGESTIBLE), (99_999, KEY_INVALID)]:
        rule(begin(module, session), OK, "C_DigestInit")
        rule(module.C_DigestKey(session, key), code, "C_DigestKey")
        rule(digest(module, session, b"x")[0], NO_OPERATION, "the digest after a refused key")


class Label(ctypes.Structure):
    _fields_ = [("digest", ULONG), ("mask", ULONG), ("source", ULONG), ("label", ctypes.c_void_p), ("length", ULONG)]


def parameters(module):
    """Parameters have the length of their structure, and a label has at most 4,096 bytes."""
    session = module.open()
    sealing, signing = module.key(session, 0, DECRYPT), module.key(session)
    label = ctypes.create_string_buffer(5_000)

    def begin_with(function, mechanism, passed, length, key):
        code = function(session, ctypes.byref(Mechanism(mechanism, ctypes.cast(ctypes.byref(passed), ctypes.c_void_p), length)), key)
        module.C_SessionCancel(session, 0xA00)
        return code

    salted = PSSParameters(SHA256, 2, 32)
    for length in [0, 1, 8, 23, 24, 25, 32, ALL_ONES]:
        rule(begin_with(module.C_SignInit, 0xD, salted, length, signing), OK if length == 24 else PARAMETER_INVALID, "PSS")
    for length, code in [(0, OK), (4_096, OK), (4_097, PARAMETER_INVALID), (ALL_ONES, PARAMETER_INVALID)]:
        passed = Label(SHA256, 2, 1, ctypes.cast(label, ctypes.c_void_p), length)
        rule(begin_with(module.C_DecryptInit, 9, passed, 40, sealing), code, f"a label of {length} bytes")
        rule(begin_with(module.C_DecryptInit, 9, passed, 39, sealing), PARAMETER_INVALID, "parameters of OAEP that are cut")
    rule(begin_with(module.C_DecryptInit, 9, Label(SHA256, 2, 1, None, 4), 40, sealing), PARAMETER_INVALID, "a label that is NULL")


def refusals(module):
    """Functions that always fail still check their arguments, the session first."""
    session, reading = module.open(), ULONG()
    module.need("C_OpenSession", 0, 4, None, None, ctypes.byref(reading))
    made = ULONG()
    for name, passed in arguments_of(module, 99_999, 1)[0].items():
        if passed and isinstance(passed[0], int) and passed[0] == 99_999:
            rule(getattr(module, name)(*passed), SESSION_INVALID, f"{name} in no session")
    place, secret, of_token = ctypes.byref(made), template((0x161, number(16))), template((1, b"\1"))
    aes, pair = ctypes.byref(Mechanism(0x1080, None, 0)), ctypes.byref(Mechanism(0, None, 0))
    wrong = ctypes.byref(Mechanism(SHA256_RSA_PKCS, None, 0))
    for arguments, code in [
            ((session, aes, secret, 1, place), NOT_SUPPORTED), ((session, None, secret, 1, place), ARGUMENTS_BAD),
            ((session, aes, None, 1, place), ARGUMENTS_BAD), ((session, aes, secret, 1, None), ARGUMENTS_BAD),
            ((session, wrong, secret, 1, place), MECHANISM_INVALID), ((reading.value, aes, of_token, 1, place), READ_ONLY),
            ((reading.value, aes, secret, 1, place), NOT_SUPPORTED)]:
        rule(module.C_GenerateKey(*arguments), code, "C_GenerateKey")
    for arguments, code in [
            ((session, pair, secret, 1, secret, 1, place, place), NOT_SUPPORTED),
            ((session, None, secret, 1, secret, 1, place, place), ARGUMENTS_BAD),
            ((session, pair, None, 1, secret, 1, place, place), ARGUMENTS_BAD),
            ((session, pair, secret, 1, None, 1, place, place), ARGUMENTS_BAD),
            ((session, pair, secret, 1, secret, 1, None, place), ARGUMENTS_BAD),
            ((session, pair, secret, 1, secret, 1, place, None), ARGUMENTS_BAD),
            ((session, wrong, secret, 1, secret, 1, place, place), MECHANISM_INVALID),
            ((reading.value, pair, secret, 1, of_token, 1, place, place), READ_ONLY)]:
        rule(module.C_GenerateKeyPair(*arguments), code, "C_GenerateKeyPair")
    out, length = ctypes.create_string_buffer(512), ctypes.byref(ULONG(512))
    rule(module.C_WrapKey(session, None, 1, 1, out, length), ARGUMENTS_BAD, "C_WrapKey without a mechanism")
    rule(module.C_WrapKey(session, aes, 1, 1, out, None), ARGUMENTS_BAD, "C_WrapKey without a length")
    rule(module.C_WrapKey(session, aes, 1, 1, out, length), NOT_SUPPORTED, "C_WrapKey")
    rule(module.C_UnwrapKey(session, None, 1, b"x", 1, secret, 1, place), ARGUMENTS_BAD, "C_UnwrapKey without a mechanism")
    rule(module.C_UnwrapKey(session, aes, 1, None, 1, secret, 1, place), ARGUMENTS_BAD, "C_UnwrapKey without a key")
    rule(module.C_UnwrapKey(session, aes, 1, b"x", 1, secret, 1, None), ARGUMENTS_BAD, "C_UnwrapKey without a place")
    rule(module.C_UnwrapKey(session, aes, 1, b"x", 1, secret, 1, place), NOT_SUPPORTED, "C_UnwrapKey")
    rule(module.C_SetPIN(session, None, 4, b"4321", 4), ARGUMENTS_BAD, "C_SetPIN without the old PIN")
    rule(module.C_SetPIN(session, b"1234", 4, None, 4), ARGUMENTS_BAD, "C_SetPIN without the new PIN")
    rule(module.C_SetPIN(session, b"1234", 4, b"4321", 4), NOT_SUPPORTED, "C_SetPIN")
    rule(module.C_SetPIN(reading.value, b"1234", 4, b"4321", 4), READ_ONLY, "C_SetPIN in a session that only reads")
    rule(module.C_VerifyInit(session, wrong, 1), NOT_SUPPORTED, "C_VerifyInit")
    rule(module.C_EncryptInit(session, aes, 1), NOT_SUPPORTED, "C_EncryptInit")


if __name__ == "__main__":
    loaded = Module(sys.argv[1])
    loaded.need("C_Initialize", None)
    random_numbers(loaded)
    digests(loaded)
    parameters(loaded)
    refusals(loaded)
    loaded.need("C_Finalize", None)
    print(f"{len(kept)} rules")
