"""A program that loads the PKCS #11 module, serves as its provider, and checks the arguments that the module rejects and
the values that it returns. Tests run it as a separate process.

usage: pkcs11_calls.py MODULE WHAT|list|all

It prints one line, and exits with 0 if all checks pass.
"""
import ctypes
import hashlib
import os
import struct
import sys
import tempfile

from pkcs11_caller import (
    ALL_ONES, DECRYPT, OK, PRIVATE_KEY, SENSITIVE, SHA256_RSA_PKCS, TOO_SMALL, ULONG, Attribute, Mechanism, Module, need,
    number, template)
from pkcs11_guards import (
    ACTIVE, ARGUMENTS_BAD, KEY_INVALID, NOT_LOGGED_IN, NO_OPERATION, PIN_INCORRECT, PIN_MODE, SAVED_INVALID, VALUE_INVALID,
    derived, expect, log_in, opened)
from pkcs11_lies import Program
from pkcs11_provider import CAN_DECRYPT, CAN_SIGN, HAS_KEY, Provider, frame, identity, octets
from pkcs11_rules import (
    ATTRIBUTE_READ_ONLY, CANT_LOCK, INCOMPLETE, INCONSISTENT, MECHANISM_INVALID, NOT_SUPPORTED, PROHIBITED, READ_ONLY,
    WRITE_PROTECTED, initialize)

ALREADY_INITIALIZED, READ_ONLY_EXISTS, ANOTHER_LOGGED_IN, NO_EVENT = 0x191, 0xB8, 0x104, 8
REJECTED, CANCELED, DEVICE_ERROR, GENERAL_ERROR, PIN_LOCKED = 0x200, 0x50, 0x30, 5, 0xA4
SHA256, SHARED, READ_WRITE = 0x250, 4, 6


class Interface(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("functions", ctypes.c_void_p), ("flags", ULONG)]


def initialization(module, folder):
    """C_Initialize rejects locks that the module cannot use, and only the known interfaces are returned."""
    some, mutexes = (1, 0, 0, 0), (1, 1, 1, 1)
    expect(initialize(module, reserved=1), ARGUMENTS_BAD, "pReserved of C_Initialize")
    for flags in [0, 2]:
        expect(initialize(module, some, flags), ARGUMENTS_BAD, "one mutex function")
    expect(initialize(module, mutexes), CANT_LOCK, "mutexes without permission to use the system's")
    expect(initialize(module, mutexes, 2), OK, "mutexes with permission to use the system's")
    expect(initialize(module), ALREADY_INITIALIZED, "a second C_Initialize")
    expect(module.C_Finalize(ctypes.c_void_p(1)), ARGUMENTS_BAD, "pReserved of C_Finalize")
    expect(module.C_Finalize(None), OK, "C_Finalize")

    count, interfaces = ULONG(), (Interface * 8)()
    module.need("C_GetInterfaceList", None, ctypes.byref(count))
    needed = count.value
    need(needed > 1, f"{needed} interfaces")
    count.value = needed - 1
    expect(module.C_GetInterfaceList(interfaces, ctypes.byref(count)), TOO_SMALL, "a short list of interfaces")
    need(count.value == needed and not any(one.name for one in interfaces), "interfaces in a short list")
    found = ctypes.POINTER(Interface)()
    for name, flags, code in [(b"PKCS 11", 0, OK), (None, 0, OK), (b"Vendor", 0, ARGUMENTS_BAD), (b"PKCS 11", 1, ARGUMENTS_BAD)]:
        expect(module.C_GetInterface(name, None, ctypes.byref(found), flags), code, f"the interface {name} with flags {flags}")
    for version, code in [(b"\2\x28", OK), (b"\3\0", OK), (b"\3\1", ARGUMENTS_BAD), (b"\2\0", ARGUMENTS_BAD)]:
        expect(module.C_GetInterface(None, version, ctypes.byref(found), 0), code, f"version {version}")
        if code == OK:
            its = ctypes.string_at(found.contents.functions, 2)
            need(its == version, f"version {its} instead of {version}")


def templates(module, folder):
    """A derivation rejects templates of other objects and with other values."""
    provider = Provider(folder)
    provider.result = lambda: b"s" * 32
    with Program(module, provider):
        session = opened(module)
        for attributes, code in [
                ([(2, b"\0"), (2, b"\0")], INCONSISTENT), ([(2, b"\2")], VALUE_INVALID), ([(2, b"\0\0")], VALUE_INVALID),
                ([(0x161, b"\x20\0\0\0")], VALUE_INVALID), ([(0x161, number(0))], VALUE_INVALID),
                ([(0, number(PRIVATE_KEY))], INCONSISTENT), ([(0x100, number(0))], INCONSISTENT),
                ([(0x100, number(3))], INCONSISTENT),
                ([(1, b"\1")], INCONSISTENT), ([(0x163, b"\1")], ATTRIBUTE_READ_ONLY), ([(0x11, b"s" * 32)], INCONSISTENT)]:
            expect(-derived(module, session, *attributes), code, f"the template {attributes}")
        good = [(0, number(SHARED)), (0x100, number(0x1F)), (1, b"\0"), (2, b"\0"), (0x161, number(32))]
        need(derived(module, session, *good) > 0, "a template with correct values")


def read_only(module, folder):
    """In a read-only session, requests to change the token fail because of the session."""
    with Program(module, Provider(folder)):
        made, pin = ULONG(), b"123456"
        of_token, of_session = template((0, number(3)), (1, b"\1")), template((0, number(3)), (1, b"\0"))

        def generate(session, mechanism, attributes):
            return module.C_GenerateKey(session, ctypes.byref(Mechanism(mechanism, None, 0)), attributes, 2, ctypes.byref(made))

        def pair(session, mechanism, attributes):
            return module.C_GenerateKeyPair(
                session, ctypes.byref(Mechanism(mechanism, None, 0)), of_session, 2, attributes, 2, ctypes.byref(made),
                ctypes.byref(ULONG()))

        for flags in [4, READ_WRITE]:
            session, is_read_only = opened(module, 0, flags), flags == 4
            key = module.key(session)
            denied = READ_ONLY if is_read_only else NOT_SUPPORTED
            expect(module.C_SetPIN(session, pin, 6, pin, 6), denied, "C_SetPIN")
            for name, call, mechanism in [("C_GenerateKey", generate, 0x1080), ("C_GenerateKeyPair", pair, 0)]:
                expect(call(session, mechanism, of_token), denied, f"{name} for the token")
                expect(call(session, mechanism, of_session), NOT_SUPPORTED, f"{name} for the session")
                expect(call(session, SHA256, of_session), MECHANISM_INVALID, f"{name} with a digest")
            expect(module.C_CreateObject(session, template((1, b"\1")), 1, ctypes.byref(made)),
                   INCOMPLETE, "an object without a class")
            expect(module.C_CreateObject(session, of_session, 2, ctypes.byref(made)), NOT_SUPPORTED, "an object of the session")
            expect(module.C_CreateObject(session, of_token, 2, ctypes.byref(made)),
                   READ_ONLY if is_read_only else WRITE_PROTECTED, "an object of the token")
            denied = READ_ONLY if is_read_only else PROHIBITED
            expect(module.C_SetAttributeValue(session, key, template((3, b"x")), 1), denied, "C_SetAttributeValue")
            expect(module.C_CopyObject(session, key, of_token, 2, ctypes.byref(made)), denied, "a copy for the token")
            expect(module.C_CopyObject(session, key, of_session, 2, ctypes.byref(made)), PROHIBITED, "a copy for the session")


def users(module, folder):
    """Only the token's user can log in, and has no name."""
    provider = Provider(folder)
    provider.login = PIN_MODE
    with Program(module, provider):
        session = opened(module)
        expect(log_in(module, session, user=0), PIN_INCORRECT, "the security officer")
        expect(module.C_LoginUser(session, 1, b"123456", 6, b"name", 4), ARGUMENTS_BAD, "a user with a name")
        expect(module.C_LoginUser(session, 1, b"123456", 6, None, 0), OK, "a user without a name")
        expect(log_in(module, session, user=0), ANOTHER_LOGGED_IN, "the security officer after the user")
        other = opened(module, 0, 4)
        expect(log_in(module, session, user=0), READ_ONLY_EXISTS, "the security officer with a read-only session")
        module.need("C_CloseSession", other)
        expect(log_in(module, session, user=0), ANOTHER_LOGGED_IN, "the security officer without a read-only session")
    os.unlink(provider.path)
    provider = Provider(folder)
    # The protected authentication path.
    provider.login = b"\1" + PIN_MODE[1:]
    with Program(module, provider):
        session = opened(module)
        expect(module.C_Login(session, 1, None, 6), ARGUMENTS_BAD, "the length of a missing PIN")
        expect(module.C_Login(session, 1, None, 0), OK, "a login on the protected path")


def digests(module, folder):
    """A digest continues after a short buffer and ends with its result, and its parts are not mixed with C_Digest."""
    with Program(module, Provider(folder)):
        session, out, length = opened(module), ctypes.create_string_buffer(64), ULONG(31)
        begin = ctypes.byref(Mechanism(SHA256, None, 0))
        module.need("C_DigestInit", session, begin)
        expect(module.C_DigestInit(session, begin), ACTIVE, "a second C_DigestInit")
        module.need("C_DigestUpdate", session, b"ab", 2)
        expect(module.C_Digest(session, b"c", 1, out, ctypes.byref(length)), ACTIVE, "C_Digest after C_DigestUpdate")
        module.need("C_DigestUpdate", session, b"c", 1)
        expect(module.C_DigestFinal(session, out, ctypes.byref(length)), TOO_SMALL, "a short buffer")
        need(length.value == 32, f"the length {length.value}")
        module.need("C_DigestFinal", session, out, ctypes.byref(length))
        need(out.raw[:32] == hashlib.sha256(b"abc").digest(), "the digest of the parts")
        expect(module.C_DigestFinal(session, out, ctypes.byref(length)), NO_OPERATION, "a second C_DigestFinal")
        module.need("C_DigestInit", session, begin)
        module.need("C_Digest", session, b"abc", 3, out, ctypes.byref(length))
        expect(module.C_DigestUpdate(session, b"x", 1), NO_OPERATION, "C_DigestUpdate after C_Digest")
        module.need("C_DigestInit", session, begin)
        expect(module.C_DigestUpdate(session, None, 1), ARGUMENTS_BAD, "a part at NULL")
        expect(module.C_DigestFinal(session, out, ctypes.byref(length)), NO_OPERATION, "C_DigestFinal after a failure")
        module.need("C_DigestInit", session, begin)
        saved, size = ctypes.create_string_buffer(1_024), ULONG(1_024)
        module.need("C_GetOperationState", session, saved, ctypes.byref(size))
        for keys in [(1, 0), (0, 1)]:
            need(module.C_SetOperationState(session, saved, size.value, *keys) not in (OK, SAVED_INVALID), f"the keys {keys}")


def signatures(module, folder):
    """A signature continues after a short buffer, and C_SessionCancel ends only the selected operations."""
    with Program(module, Provider(folder)):
        session, out = opened(module), ctypes.create_string_buffer(256)
        key, begin = module.key(session), ctypes.byref(Mechanism(SHA256_RSA_PKCS, None, 0))
        for final in [False, True]:
            module.need("C_SignInit", session, begin, key)
            if final:
                module.need("C_SignUpdate", session, b"x", 1)
            sign = (lambda length: module.C_SignFinal(session, out, ctypes.byref(length))) if final else (
                lambda length: module.C_Sign(session, b"x", 1, out, ctypes.byref(length)))
            expect(sign(ULONG(255)), TOO_SMALL, "a short buffer")
            expect(sign(ULONG(256)), OK, "a signature after a short buffer")
            expect(sign(ULONG(256)), NO_OPERATION, "a second signature")
        for flag, ends in [(0x400, False), (0x200, False), (0x40, False), (0x800, True)]:
            module.C_SignInit(session, begin, key)
            module.need("C_SessionCancel", session, flag)
            code = module.C_Sign(session, b"x", 1, out, ctypes.byref(ULONG(256)))
            expect(code, NO_OPERATION if ends else OK, f"C_Sign after C_SessionCancel with 0x{flag:x}")


def token_flags(module, folder):
    """The token's flags show the login mode, the remaining attempts and whether a passcode exists."""
    initialized, low, final, locked = 8, 0x10000, 0x20000, 0x40000
    provider, info = Provider(folder), ctypes.create_string_buffer(256)
    with Program(module, provider):
        for mode, tries, passcode, expected in [
                (2, 0, 1, initialized | locked), (2, 1, 1, initialized | low | final), (2, 2, 1, initialized | low),
                (2, 3, 1, initialized), (2, 3, 0, 0), (0, 0, 1, initialized)]:
            provider.login = bytes([mode, 2 * passcode, tries]) + octets(b"t" * 16 if mode else b"")
            module.need("C_GetTokenInfo", 0, info)
            flags = ULONG.from_buffer(info, 96).value
            need(flags & (initialized | low | final | locked) == expected, f"{tries} attempts: flags 0x{flags:x}")


def lists(module, folder):
    """Lists are not written past the caller's buffer, and waiting for an event is not supported."""
    with Program(module, Provider(folder)):
        count, places = ULONG(), (ULONG * 256)()
        for name, arguments in [("C_GetMechanismList", (0,)), ("C_GetSlotList", (0,))]:
            module.need(name, *arguments, None, ctypes.byref(count))
            needed = count.value
            count.value = needed - 1
            ctypes.memset(places, 0xFF, ctypes.sizeof(places))
            expect(getattr(module, name)(*arguments, places, ctypes.byref(count)), TOO_SMALL, f"{name} with a short buffer")
            need(count.value == needed and set(places) == {ALL_ONES}, f"{name} wrote to a short buffer")
            module.need(name, *arguments, places, ctypes.byref(count))
        slot = ctypes.byref(ULONG())
        for flags, reserved, code in [(1, None, NO_EVENT), (0, None, NOT_SUPPORTED), (1, ctypes.c_void_p(1), ARGUMENTS_BAD)]:
            expect(module.C_WaitForSlotEvent(flags, slot, reserved), code, f"C_WaitForSlotEvent with the flags {flags}")


def refusals(module, folder):
    """Each reason for which the provider rejects a key use has its return code."""
    provider = Provider(folder)
    with Program(module, provider):
        session, out = opened(module), ctypes.create_string_buffer(256)
        signing, sealing = module.key(session), module.key(session, 0, DECRYPT)

        def use(decrypts):
            if decrypts:
                module.need("C_DecryptInit", session, ctypes.byref(Mechanism(1, None, 0)), sealing)
                return module.C_Decrypt(session, bytes(256), 256, out, ctypes.byref(ULONG(256)))
            code = module.sign(session, signing, SHA256_RSA_PKCS, b"x")
            return code if isinstance(code, int) else OK

        for reason, of_signing, of_decryption in [
                (b"user-timed-out", CANCELED, CANCELED), (b"user-denied", REJECTED, REJECTED),
                (b"user-canceled", REJECTED, REJECTED), (b"wrong-length", 0x21, 0x41), (b"undecryptable", 0x40, 0x40),
                (b"usage-forbids", 0x68, 0x68), (b"device-locked", DEVICE_ERROR, DEVICE_ERROR),
                (b"foreground-timeout", DEVICE_ERROR, DEVICE_ERROR), (b"key-missing", KEY_INVALID, KEY_INVALID),
                (b"wrong-passcode", PIN_INCORRECT, PIN_INCORRECT), (b"passcode-locked", PIN_LOCKED, PIN_LOCKED)]:
            body = b"\0\x0b" + octets(b"no") + b"\0\0" + octets(reason)
            provider.used = lambda peer, kind, request, _: frame(0xFF, request, body)
            expect(use(False), of_signing, f"signing with {reason}")
            expect(use(True), of_decryption, f"decrypting with {reason}")


def values(module, folder):
    """Dates, flags and the secret components of keys."""
    day = 86_400_000
    years = [(0, b"19700101"), (2_932_896 * day, b"99991231"), (2_932_897 * day, b""), (-719_529 * day, b"")]
    keys = [identity(1), identity(2, bits=256, kind=2, traits=CAN_SIGN | CAN_DECRYPT | HAS_KEY)]
    keys += [identity(3 + place, label=b"date %d" % place, traits=CAN_SIGN | HAS_KEY, not_before=one)
             for place, (one, _) in enumerate(years)]
    with Program(module, Provider(folder, *keys)):
        session = opened(module)
        for place, (_, expected) in enumerate(years):
            key = module.find(session, (0, number(PRIVATE_KEY)), (3, b"date %d" % place))[0]
            start = module.attribute(session, key, 0x110)
            need(start == expected, f"the date {start} instead of {expected}")
        rsa, ec = module.key(session), module.key(session, 3)
        need(module.attribute(session, rsa, DECRYPT) == b"\1", "an RSA key may decrypt")
        need(module.attribute(session, ec, DECRYPT) == b"\0", "an EC key cannot decrypt")
        for key, parts in [(rsa, range(0x123, 0x129)), (ec, [0x11])]:
            for part in parts:
                asked = (Attribute * 1)(Attribute(part, None, 0))
                expect(module.C_GetAttributeValue(session, key, asked, 1), SENSITIVE, f"attribute 0x{part:x}")


def context_logins(module, folder):
    """A key that asks always signs only after its own login, and only in a mode with logins."""
    provider = Provider(folder, identity(1, traits=CAN_SIGN | HAS_KEY | 32))
    begin = ctypes.byref(Mechanism(SHA256_RSA_PKCS, None, 0))
    with Program(module, provider):
        session = opened(module)
        key = module.key(session)
        need(module.attribute(session, key, 0x202) == b"\0", "CKA_ALWAYS_AUTHENTICATE without logins")
        need(isinstance(module.sign(session, key, SHA256_RSA_PKCS, b"x"), bytes), "a signature without logins")
    provider.login = PIN_MODE
    with Program(module, provider):
        session, out = opened(module), ctypes.create_string_buffer(256)
        expect(log_in(module, session), OK, "the login")
        key = module.key(session)
        need(module.attribute(session, key, 0x202) == b"\1", "CKA_ALWAYS_AUTHENTICATE")
        module.need("C_SignInit", session, begin, key)
        expect(module.C_Sign(session, b"x", 1, out, ctypes.byref(ULONG(256))), NOT_LOGGED_IN, "a use without its own login")
        module.C_SignInit(session, None, 0)
        module.need("C_SignInit", session, begin, key)
        expect(log_in(module, session, user=2), OK, "the login for the use")
        expect(module.C_Sign(session, b"x", 1, out, ctypes.byref(ULONG(256))), OK, "a use with its own login")


WHAT = [initialization, templates, read_only, users, digests, signatures, token_flags, lists, refusals, values, context_logins]

if __name__ == "__main__":
    if sys.argv[2] == "list":
        print(" ".join(one.__name__ for one in WHAT))
    else:
        for one in WHAT:
            if one.__name__ == sys.argv[2] or sys.argv[2] == "all":
                with tempfile.TemporaryDirectory() as scratch:
                    one(Module(sys.argv[1]), scratch)
        print("as expected")
