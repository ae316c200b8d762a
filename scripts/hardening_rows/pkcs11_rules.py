"""A program that checks the PKCS #11 module against the text of the standard. The rows of `pkcs11.py` and tests run it as
a separate process, because the rules begin before `C_Initialize`.

usage: pkcs11_rules.py MODULE

It prints one line, and exits with 0 if no rule is violated.
"""
import ctypes
import sys

from pkcs11_caller import (
    ALL_ONES, CERTIFICATE, DECRYPT, ECDSA, NOT_INITIALIZED, OK, PRIVATE_KEY, PROFILE, PUBLIC_KEY, RSA_PKCS, SENSITIVE,
    SHA256_RSA_PKCS, TOO_SMALL, ULONG, Attribute, Mechanism, Module, Verifier, arguments_of, need, number, template)

ARGUMENTS_BAD, SLOT_INVALID, CANT_LOCK, ATTRIBUTE_UNKNOWN = 7, 3, 0xA, 0x12
SESSION_INVALID, NOT_PARALLEL = 0xB3, 0xB4
ACTIVE, NO_OPERATION, OBJECT_INVALID, KEY_INVALID = 0x90, 0x91, 0x82, 0x60
PROHIBITED, READ_ONLY, WRITE_PROTECTED, NOT_SUPPORTED, INCOMPLETE, INCONSISTENT = 0x1B, 0xB5, 0xE2, 0x54, 0xD0, 0xD1
NOT_LOGGED_IN, ALREADY_INITIALIZED = 0x101, 0x191
ATTRIBUTE_READ_ONLY, VALUE_INVALID = 0x10, 0x13
AES = 0x1F
MECHANISM_INVALID, PARAMETER_INVALID, TYPE_INCONSISTENT, NOT_PERMITTED, LENGTH = 0x70, 0x71, 0x63, 0x68, 0x21

kept = []


def rule(got, expected, what):
    """One rule: a function returned the expected number."""
    expected = expected if isinstance(expected, tuple) else (expected,)
    need(got in expected, f"{what}: 0x{got:x}, expected {' or '.join(f'0x{e:x}' for e in expected)}")
    kept.append(what)


def sign_init(module, session, key, mechanism=SHA256_RSA_PKCS, parameter=None):
    size = ctypes.sizeof(parameter) if parameter is not None else 0
    pointer = ctypes.cast(ctypes.byref(parameter), ctypes.c_void_p) if parameter is not None else None
    return module.C_SignInit(session, ctypes.byref(Mechanism(mechanism, pointer, size)), key)


class InitializeArguments(ctypes.Structure):
    _fields_ = [("functions", ctypes.c_void_p * 4), ("flags", ULONG), ("reserved", ctypes.c_void_p)]


def initialize(module, functions=(0, 0, 0, 0), flags=0, reserved=None):
    passed = InitializeArguments((ctypes.c_void_p * 4)(*functions), flags, reserved)
    return module.C_Initialize(ctypes.byref(passed))


def beginning(module):
    """C_Initialize, C_Finalize, and every function before and after (5.4)."""
    functions, _ = arguments_of(module, 1, 1)
    anytime = ("C_GetFunctionList", "C_GetInterfaceList", "C_GetInterface")

    def all_refuse(when):
        for name, passed in functions.items():
            if name not in anytime:
                rule(getattr(module, name)(*passed), NOT_INITIALIZED, f"{name} {when}")
        rule(module.C_CloseAllSessions(0), NOT_INITIALIZED, f"C_CloseAllSessions {when}")
        rule(module.C_Finalize(None), NOT_INITIALIZED, f"C_Finalize {when}")

    all_refuse("before C_Initialize")
    rule(initialize(module, reserved=1), ARGUMENTS_BAD, "pReserved of C_Initialize")
    some = 0x1000
    rule(initialize(module, (some, 0, 0, 0)), ARGUMENTS_BAD, "one mutex function of four")
    rule(initialize(module, (some, some, some, 0), 2), ARGUMENTS_BAD, "three mutex functions of four")
    rule(initialize(module, (some,) * 4), CANT_LOCK, "only the caller's mutexes")
    for functions_given, flags in [((0,) * 4, 0), ((0,) * 4, 2), ((some,) * 4, 2), ((0,) * 4, 1), ((0,) * 4, 3)]:
        rule(initialize(module, functions_given, flags), OK, f"C_Initialize with the flags {flags}")
        rule(module.C_Initialize(None), ALREADY_INITIALIZED, "C_Initialize twice")
        rule(module.C_Finalize(ctypes.byref(ULONG())), ARGUMENTS_BAD, "pReserved of C_Finalize")
        rule(module.C_Finalize(None), OK, "C_Finalize")
    all_refuse("after C_Finalize")
    rule(module.C_Initialize(None), OK, "C_Initialize after C_Finalize")


def interfaces(module):
    """The lists of functions and interfaces (3.0, 5.4)."""
    pointer = ctypes.c_void_p()
    rule(module.C_GetFunctionList(None), ARGUMENTS_BAD, "C_GetFunctionList without a place")
    module.need("C_GetFunctionList", ctypes.byref(pointer))
    need(tuple(ctypes.string_at(pointer.value, 2)) == (2, 40), "the list of C_GetFunctionList is 2.40")
    table = (ctypes.c_void_p * 69).from_address(pointer.value)
    need(all(table[1:]), "a function of 2.40 is NULL")
    count = ULONG(0)
    rule(module.C_GetInterfaceList(None, None), ARGUMENTS_BAD, "C_GetInterfaceList without a count")
    module.need("C_GetInterfaceList", None, ctypes.byref(count))
    buffer = ctypes.create_string_buffer(24 * 8)
    short = ULONG(count.value - 1)
    rule(module.C_GetInterfaceList(buffer, ctypes.byref(short)), TOO_SMALL, "C_GetInterfaceList, one too few")
    need(short.value == count.value, "the count after a buffer that is too small")
    for name, version, found in [
            (None, None, True), (b"PKCS 11\0", None, True), (b"PKCS 11\0", (3, 0), True), (b"PKCS 11\0", (2, 40), True),
            (b"PKCS 11\0", (9, 9), False), (b"Vendor X\0", None, False)]:
        wanted = (ctypes.c_ubyte * 2)(*version) if version else None
        code = module.C_GetInterface(name, wanted, ctypes.byref(pointer), 0)
        need((code == OK) == found, f"C_GetInterface {name} {version}: 0x{code:x}")
        if found:
            functions = ctypes.cast(pointer.value + 8, ctypes.POINTER(ctypes.c_void_p))[0]
            got = tuple(ctypes.string_at(functions, 2))
            need(got == (version or (3, 0)), f"C_GetInterface {version} gave {got}")
            size = 93 if got[0] == 3 else 69
            need(all((ctypes.c_void_p * size).from_address(functions)[1:]), f"a function of {got} is NULL")


def slots(module):
    """Slots, tokens, mechanisms (5.5)."""
    count, list_, buffer = ULONG(0), (ULONG * 64)(), ctypes.create_string_buffer(512)
    for present in [0, 1]:
        count.value = 0
        rule(module.C_GetSlotList(present, None, ctypes.byref(count)), OK, "the number of slots")
        need(count.value == 1, "there is one slot")
        count.value = 0
        rule(module.C_GetSlotList(present, list_, ctypes.byref(count)), TOO_SMALL, "C_GetSlotList, one too few")
        need(count.value == 1, "the count after a buffer that is too small")
        count.value = 64
        rule(module.C_GetSlotList(present, list_, ctypes.byref(count)), OK, "C_GetSlotList, more than enough")
        need(count.value == 1, "the count of what was given")
        rule(module.C_GetSlotList(present, list_, None), ARGUMENTS_BAD, "C_GetSlotList without a count")
    for name in ["C_GetSlotInfo", "C_GetTokenInfo"]:
        rule(getattr(module, name)(77, buffer), SLOT_INVALID, f"{name} of no slot")
        rule(getattr(module, name)(0, None), ARGUMENTS_BAD, f"{name} without a place")
        module.need(name, 0, buffer)
        # No text field contains a NUL.
        texts = buffer.raw[:96]
        need(b"\0" not in texts, f"{name} has a NUL in a text")
    need(buffer.raw[:8] == b"KeyShare", "the token's label")
    rule(module.C_GetMechanismList(77, None, ctypes.byref(count)), SLOT_INVALID, "mechanisms of no slot")
    rule(module.C_GetMechanismList(0, None, ctypes.byref(count)), OK, "the number of mechanisms")
    total, mechanisms = count.value, (ULONG * 64)()
    count.value = total - 1
    rule(module.C_GetMechanismList(0, mechanisms, ctypes.byref(count)), TOO_SMALL, "mechanisms, one too few")
    need(count.value == total, "the count after a buffer that is too small")
    module.need("C_GetMechanismList", 0, mechanisms, ctypes.byref(count))
    for mechanism in mechanisms[:total]:
        module.need("C_GetMechanismInfo", 0, mechanism, buffer)
        least, most, flags = (ULONG * 3).from_buffer(buffer)
        if flags & 0x400:
            need((least, most, flags) == (0, 0, 0x400), f"mechanism 0x{mechanism:x}")
            continue
        need(0 < least <= most and flags & 1, f"mechanism 0x{mechanism:x}")
        # The list and the operations agree: verifying, encrypting and generating keys are not offered.
        need(not flags & (0x100 | 0x2000 | 0x8000 | 0x10000 | 0x20000 | 0x40000), f"flags of 0x{mechanism:x}")
    rule(module.C_GetMechanismInfo(0, 0x99, buffer), MECHANISM_INVALID, "a mechanism that does not exist")
    rule(module.C_WaitForSlotEvent(1, list_, None), 8, "C_WaitForSlotEvent without an event")
    rule(module.C_WaitForSlotEvent(1, list_, list_), ARGUMENTS_BAD, "C_WaitForSlotEvent with a reserved argument")
    rule(module.C_InitToken(0, b"1234", 4, bytes(32)), 0x54, "C_InitToken")
    rule(module.C_InitToken(77, b"1234", 4, bytes(32)), SLOT_INVALID, "C_InitToken of no slot")
    rule(module.C_InitToken(0, b"1234", 4, None), ARGUMENTS_BAD, "C_InitToken without a label")
    rule(module.C_InitToken(0, None, 4, bytes(32)), ARGUMENTS_BAD, "C_InitToken without a PIN")


def sessions(module):
    """Sessions (5.6)."""
    handle, buffer = ULONG(), ctypes.create_string_buffer(64)
    rule(module.C_OpenSession(0, 0, None, None, ctypes.byref(handle)), NOT_PARALLEL, "a parallel session")
    rule(module.C_OpenSession(77, 4, None, None, ctypes.byref(handle)), SLOT_INVALID, "a session with no slot")
    rule(module.C_OpenSession(0, 4, None, None, None), ARGUMENTS_BAD, "a session without a place")
    opened = []
    for flags, state in [(4, 0), (6, 2)]:
        rule(module.C_OpenSession(0, flags, None, None, ctypes.byref(handle)), OK, "C_OpenSession")
        module.need("C_GetSessionInfo", handle.value, buffer)
        need(list((ULONG * 4).from_buffer(buffer)) == [0, state, flags, 0], "C_GetSessionInfo")
        opened.append(handle.value)
    rule(module.C_CloseSession(opened[0]), OK, "C_CloseSession")
    for name, rest in [("C_CloseSession", ()), ("C_GetSessionInfo", (buffer,)), ("C_Logout", ()), ("C_FindObjectsFinal", ())]:
        rule(getattr(module, name)(opened[0], *rest), SESSION_INVALID, f"{name} of a session that is closed")
    rule(module.C_CloseAllSessions(0), OK, "C_CloseAllSessions")
    rule(module.C_GetSessionInfo(opened[1], buffer), SESSION_INVALID, "a session that was closed with all")
    opened = []
    while (code := module.C_OpenSession(0, 4, None, None, ctypes.byref(handle))) == OK:
        opened.append(handle.value)
        need(len(opened) < 5_000, "sessions without end")
    rule(code, 0xB1, "a session too many")
    need(len(opened) == len(set(opened)) == 1_024, f"{len(opened)} sessions")
    module.need("C_CloseAllSessions", 0)
    session = module.open()
    for name in ["C_GetFunctionStatus", "C_CancelFunction"]:
        rule(getattr(module, name)(session), 0x51, name)
        rule(getattr(module, name)(99_999), SESSION_INVALID, f"{name} in no session")


def finding(module):
    """Searches (5.7)."""
    session = module.open()
    found, count = (ULONG * 64)(), ULONG()
    rule(module.C_FindObjects(session, found, 4, ctypes.byref(count)), NO_OPERATION, "a search that was not begun")
    rule(module.C_FindObjectsFinal(session), NO_OPERATION, "the end of no search")
    # An invalid session is reported before any invalid argument (5.1.8).
    rule(module.C_FindObjects(99_999, None, 1, None), SESSION_INVALID, "C_FindObjects in no session")
    rule(module.C_FindObjectsInit(99_999, None, 1), SESSION_INVALID, "C_FindObjectsInit in no session")
    rule(module.C_FindObjectsInit(session, None, 1), ARGUMENTS_BAD, "a template that is NULL")
    everything = module.find(session)
    need(len(everything) == len(set(everything)) and 0 not in everything, "handles are equal, or 0")
    module.need("C_FindObjectsInit", session, None, 0)
    rule(module.C_FindObjectsInit(session, None, 0), ACTIVE, "a search in a search")
    rule(module.C_FindObjects(session, None, 1, ctypes.byref(count)), ARGUMENTS_BAD, "a search without a place")
    rule(module.C_FindObjects(session, found, 1, None), ARGUMENTS_BAD, "a search without a count")
    paged = []
    while True:
        rule(module.C_FindObjects(session, found, 3, ctypes.byref(count)), OK, "C_FindObjects")
        paged += found[:count.value]
        if count.value < 3:
            break
    need(paged == everything, "pages of three are another list")
    rule(module.C_FindObjects(session, found, 3, ctypes.byref(count)), OK, "C_FindObjects at the end")
    need(count.value == 0, "more after the end")
    # Two sessions can search at the same time.
    other = module.open()
    rule(module.C_FindObjectsInit(other, None, 0), OK, "a search in another session")
    module.need("C_FindObjectsFinal", other)
    module.need("C_FindObjectsFinal", session)
    classes = {kind: module.find(session, (0, number(kind))) for kind in [CERTIFICATE, PUBLIC_KEY, PRIVATE_KEY, PROFILE]}
    need(sorted(sum(classes.values(), [])) == sorted(everything), "the classes are not everything")
    need(len(classes[PROFILE]) == 1, "profiles")
    for key in classes[PRIVATE_KEY]:
        identifier = module.attribute(session, key, 0x102)
        need(identifier and len(identifier) == 20, "an ID of 20 bytes")
        for kind in [CERTIFICATE, PUBLIC_KEY]:
            need(module.find(session, (0, number(kind)), (0x102, identifier)), "a key without its certificate or public key")
        need(module.find(session, (0, number(PRIVATE_KEY)), (0x102, identifier)) == [key], "two keys of one ID")
        label = module.attribute(session, key, 3)
        need(module.find(session, (0, number(PRIVATE_KEY)), (3, label)) == [key], "two keys of one label")
    for wanted in [(0x8000_0001, b"x"), (3, b"no such label"), (0x102, b""), (1, b"\0"), (0, b"\1")]:
        need(not module.find(session, wanted), f"something has {wanted}")
    return classes


def attributes(module, classes):
    """C_GetAttributeValue's five cases (5.7), and read-only attributes."""
    session = module.open()
    key = next(k for k in classes[PRIVATE_KEY] if module.attribute(session, k, 0x100) == number(0))
    buffer = ctypes.create_string_buffer(4_096)
    place = ctypes.cast(buffer, ctypes.c_void_p)

    def asked(*attributes):
        passed = (Attribute * len(attributes))(*[Attribute(*attribute) for attribute in attributes])
        code = module.C_GetAttributeValue(session, key, passed, len(attributes))
        return code, [attribute.length for attribute in passed]

    code, lengths = asked((0x120, None, 0), (0x123, None, 0), (0x8765_4321, None, 0), (3, place, 1), (0x100, place, 4_096))
    rule(code, (SENSITIVE, ATTRIBUTE_UNKNOWN, TOO_SMALL), "attributes, three of them unavailable")
    need(lengths == [256, ALL_ONES, ALL_ONES, ALL_ONES, 8], f"the lengths {lengths}")
    need(buffer.raw[:8] == number(0), "the attribute after the unavailable ones")
    for attribute, expected in [((0x123, None, 0), SENSITIVE), ((0x8765_4321, None, 0), ATTRIBUTE_UNKNOWN), ((0x120, place, 255), TOO_SMALL)]:
        rule(asked(attribute)[0], expected, f"attribute 0x{attribute[0]:x}")
    rule(module.C_GetAttributeValue(session, 99_999, (Attribute * 1)(), 1), OBJECT_INVALID, "attributes of no object")
    for kind, flags in [(0x103, b"\1"), (0x162, b"\0"), (0x164, b"\0"), (0x165, b"\0"), (0x163, b"\0"), (0x170, b"\0"), (0x171, b"\0"), (1, b"\1")]:
        need(module.attribute(session, key, kind) == flags, f"attribute 0x{kind:x} of a private key")
    size = ULONG()
    rule(module.C_GetObjectSize(session, key, ctypes.byref(size)), OK, "C_GetObjectSize")
    for certificate in classes[CERTIFICATE]:
        whole = module.attribute(session, certificate, 0x11)
        for part in [0x81, 0x82, 0x101, 0x129]:
            need(module.attribute(session, certificate, part) in whole, f"attribute 0x{part:x} is not in the certificate")
        for date in [0x110, 0x111]:
            need(module.attribute(session, certificate, date).isdigit(), "a date")
        need(module.attribute(session, certificate, 0x87) in (number(1), number(2)), "the category")
    changes(module, key)


def changes(module, key):
    """Forbidden operations, with the numbers that the standard defines for them (5.7)."""
    label, made = template((3, b"other")), ULONG()
    data, token = (0, number(0)), (1, b"\1")
    for flags, on_token, of_token in [(6, WRITE_PROTECTED, PROHIBITED), (4, READ_ONLY, READ_ONLY)]:
        session = ULONG()
        module.need("C_OpenSession", 0, flags, None, None, ctypes.byref(session))
        session = session.value
        rule(module.C_SetAttributeValue(session, key, label, 1), of_token, "C_SetAttributeValue")
        rule(module.C_SetAttributeValue(session, key, None, 1), ARGUMENTS_BAD, "C_SetAttributeValue without a template")
        rule(module.C_DestroyObject(session, key), of_token, "C_DestroyObject")
        rule(module.C_CopyObject(session, key, label, 1, ctypes.byref(made)), PROHIBITED, "C_CopyObject into the session")
        rule(module.C_CopyObject(session, key, template(token), 1, ctypes.byref(made)), of_token, "C_CopyObject onto the token")
        rule(module.C_CopyObject(session, key, label, 1, None), ARGUMENTS_BAD, "C_CopyObject without a place")
        rule(module.C_CreateObject(session, label, 1, ctypes.byref(made)), INCOMPLETE, "C_CreateObject without a class")
        rule(module.C_CreateObject(session, template(data), 1, ctypes.byref(made)), NOT_SUPPORTED, "C_CreateObject in the session")
        rule(module.C_CreateObject(session, template(data, token), 2, ctypes.byref(made)), on_token, "C_CreateObject on the token")
        rule(module.C_CreateObject(session, None, 1, ctypes.byref(made)), ARGUMENTS_BAD, "C_CreateObject without a template")
        rule(module.C_CreateObject(session, label, 1, None), ARGUMENTS_BAD, "C_CreateObject without a place")
        for name, arguments in [("C_SetAttributeValue", (label, 1)), ("C_DestroyObject", ()), ("C_CopyObject", (label, 1, ctypes.byref(made)))]:
            rule(getattr(module, name)(session, 99_999, *arguments), OBJECT_INVALID, f"{name} of no object")
            rule(getattr(module, name)(99_999, key, *arguments), SESSION_INVALID, f"{name} in no session")
        module.need("C_CloseSession", session)


class PSSParameters(ctypes.Structure):
    _fields_ = [("digest", ULONG), ("mask", ULONG), ("salt", ULONG)]


def operations(module, classes):
    """The states of an operation (5.2, 5.11)."""
    session, other = module.open(), module.open()
    key = module.key(session)
    curve = module.key(session, 3)
    sealing = module.key(session, 0, DECRYPT)
    verifier = Verifier(module, session, key)
    out, length = ctypes.create_string_buffer(1_024), ULONG(1_024)

    def sign(data, place=out, count=1_024, session=session):
        length.value = count
        return module.C_Sign(session, data, len(data), place, ctypes.byref(length))

    rule(sign(b"x"), NO_OPERATION, "C_Sign that was not begun")
    rule(module.C_SignUpdate(session, b"x", 1), NO_OPERATION, "C_SignUpdate that was not begun")
    rule(module.C_SignFinal(session, out, ctypes.byref(length)), NO_OPERATION, "C_SignFinal that was not begun")
    rule(module.C_Decrypt(session, bytes(256), 256, out, ctypes.byref(length)), NO_OPERATION, "C_Decrypt that was not begun")
    rule(module.C_SignInit(99_999, None, key), SESSION_INVALID, "C_SignInit in no session")
    rule(module.C_SignInit(session, None, key), (ARGUMENTS_BAD, OK, NO_OPERATION), "C_SignInit without a mechanism")
    rule(sign_init(module, session, 99_999), KEY_INVALID, "C_SignInit with no key")
    rule(sign_init(module, session, classes[CERTIFICATE][0]), KEY_INVALID, "C_SignInit with a certificate")
    rule(sign_init(module, session, key, 0x99), MECHANISM_INVALID, "C_SignInit with no mechanism")
    rule(sign_init(module, session, key, ECDSA), TYPE_INCONSISTENT, "ECDSA with a key of RSA")
    rule(sign_init(module, session, curve, RSA_PKCS), TYPE_INCONSISTENT, "RSA with a key of a curve")
    rule(sign_init(module, session, sealing), NOT_PERMITTED, "signing with a key that decrypts")
    rule(sign_init(module, session, key, 0xD), PARAMETER_INVALID, "PSS without parameters")
    rule(sign_init(module, session, key, 0xD, PSSParameters(0x210, 1, 32)), PARAMETER_INVALID, "PSS with MD5")
    rule(sign_init(module, session, key, 0xD, PSSParameters(0x250, 2, 4_000)), PARAMETER_INVALID, "PSS with much salt")
    rule(sign_init(module, session, key, 0xD, PSSParameters(0x250, 2, 2**64 - 1)), PARAMETER_INVALID, "PSS with endless salt")
    rule(sign_init(module, session, key, SHA256_RSA_PKCS, PSSParameters(0x250, 2, 32)), PARAMETER_INVALID, "parameters too many")
    # No failed call has begun an operation.
    rule(sign(b"x"), NO_OPERATION, "C_Sign after refused beginnings")
    rule(sign_init(module, session, key), OK, "C_SignInit")
    rule(sign_init(module, session, key), ACTIVE, "C_SignInit in an operation")
    rule(sign(b"x", None, 0), OK, "the length of a signature")
    need(length.value == 256, "the length of a signature")
    rule(sign(b"x", out, 255), TOO_SMALL, "a buffer that is too small")
    need(length.value == 256, "the length after a buffer that is too small")
    rule(sign(b"x"), OK, "C_Sign")
    need(verifier.accepts(out.raw[:256], b"x"), "the signature")
    rule(sign(b"x"), NO_OPERATION, "C_Sign after C_Sign")
    rule(sign_init(module, session, key, RSA_PKCS), OK, "C_SignInit")
    rule(sign(bytes(246)), LENGTH, "data one byte too long")
    rule(sign(bytes(10)), NO_OPERATION, "C_Sign after an error")
    # Signing and decrypting are two operations of one session, and sessions are independent.
    rule(sign_init(module, session, key), OK, "C_SignInit")
    rule(module.C_DecryptInit(session, ctypes.byref(Mechanism(RSA_PKCS, None, 0)), sealing), OK, "C_DecryptInit during C_SignInit")
    rule(sign_init(module, other, key), OK, "C_SignInit in another session")
    length.value = 1_024
    rule(module.C_Decrypt(session, bytes(255), 255, out, ctypes.byref(length)), 0x41, "a ciphertext too short")
    rule(module.C_Decrypt(session, bytes(256), 256, out, ctypes.byref(length)), NO_OPERATION, "C_Decrypt after an error")
    rule(sign(b"y"), OK, "C_Sign after C_Decrypt")
    rule(sign(b"z", session=other), OK, "C_Sign in another session")
    rule(sign_init(module, session, key), OK, "C_SignInit")
    for part in [b"a", b"", b"bc"]:
        rule(module.C_SignUpdate(session, part, len(part)), OK, "C_SignUpdate")
    length.value = 10
    rule(module.C_SignFinal(session, out, ctypes.byref(length)), TOO_SMALL, "C_SignFinal into a small buffer")
    length.value = 1_024
    rule(module.C_SignFinal(session, out, ctypes.byref(length)), OK, "C_SignFinal")
    need(verifier.accepts(out.raw[:256], b"abc"), "the signature of parts")
    for end in [lambda: module.C_SignInit(session, None, 0), lambda: module.C_SessionCancel(session, 0x800)]:
        rule(sign_init(module, session, key), OK, "C_SignInit")
        rule(end(), OK, "the end of an operation (3.0)")
        rule(sign(b"x"), NO_OPERATION, "C_Sign after that")
    rule(sign_init(module, session, key), OK, "C_SignInit")
    module.need("C_CloseSession", session)
    rule(sign(b"x"), SESSION_INVALID, "C_Sign in a session that is closed")


class Agreement(ctypes.Structure):
    _fields_ = [("derivation", ULONG), ("shared_length", ULONG), ("shared", ctypes.c_void_p), ("length", ULONG),
                ("point", ctypes.c_void_p)]


def derivations(module):
    """C_DeriveKey, and the template of the secret (5.14)."""
    session = module.open()
    keys = module.find(session, (0, number(PRIVATE_KEY)), (0x100, number(3)), (0x10C, b"\1"))
    if not keys:
        return
    publics = module.find(session, (0, number(PUBLIC_KEY)), (0x102, module.attribute(session, keys[0], 0x102)))
    point = module.attribute(session, publics[0], 0x181)[2:]
    held, size = ctypes.create_string_buffer(point, len(point)), (len(point) - 1) // 2

    def derive(*attributes, key=keys[0], derivation=1, place=True, points=held):
        passed = Agreement(derivation, 0, None, len(points.raw), ctypes.cast(points, ctypes.c_void_p))
        mechanism, made = Mechanism(0x1050, ctypes.cast(ctypes.byref(passed), ctypes.c_void_p), ctypes.sizeof(passed)), ULONG()
        code = module.C_DeriveKey(session, ctypes.byref(mechanism), key, template(*attributes), len(attributes),
                                  ctypes.byref(made) if place else None)
        return (code, made.value) if code == OK else code

    for attributes, expected in [
            ([(0, number(PRIVATE_KEY))], INCONSISTENT), ([(1, b"\1")], INCONSISTENT), ([(0x100, number(3))], INCONSISTENT),
            ([(0x11, b"value")], INCONSISTENT), ([(0x161, number(size + 1))], INCONSISTENT),
            ([(3, b"a"), (3, b"b")], INCONSISTENT), ([(0x103, b"")], VALUE_INVALID), ([(0x162, b"\0\0")], VALUE_INVALID),
            ([(0x103, b"\2")], VALUE_INVALID), ([(0x100, b"\x10")], VALUE_INVALID), ([(0x161, number(0))], VALUE_INVALID),
            ([(0x161, number(ALL_ONES))], VALUE_INVALID), ([(0x163, b"\1")], ATTRIBUTE_READ_ONLY),
            ([(0x164, b"\1")], ATTRIBUTE_READ_ONLY), ([(0x165, b"\1")], ATTRIBUTE_READ_ONLY),
            ([(0x99999, b"x")], ATTRIBUTE_UNKNOWN), ([(0x100, number(AES)), (0x161, number(17))], INCONSISTENT)]:
        rule(derive(*attributes), expected, f"a secret with {attributes}")
    rule(derive(place=False), ARGUMENTS_BAD, "C_DeriveKey without a place")
    rule(derive(key=99_999), KEY_INVALID, "C_DeriveKey with no key")
    rule(derive(key=module.key(session)), TYPE_INCONSISTENT, "C_DeriveKey with a key of RSA")
    rule(derive(derivation=99), PARAMETER_INVALID, "a derivation that does not exist")
    rule(derive(points=ctypes.create_string_buffer(b"\4" + bytes(2 * size), 2 * size + 1)), PARAMETER_INVALID, "a point off the curve")
    values = []
    for attributes in [[], [(0x161, number(size))], [(0x161, number(16))],
                       [(0x100, number(AES)), (0x161, number(16))], [(0x103, b"\1")], [(0x162, b"\0")]]:
        code, secret = derive(*attributes)
        rule(code, OK, f"a secret with {attributes}")
        asked = (Attribute * 1)(Attribute(0x11, None, 0))
        hidden = attributes and attributes[0][0] in (0x103, 0x162)
        rule(module.C_GetAttributeValue(session, secret, asked, 1), SENSITIVE if hidden else OK, "the secret's value")
        if not hidden:
            values.append(module.attribute(session, secret, 0x11))
        need(module.find(session, (0, number(4)), (1, b"\0")) == [secret], "the secret is found")
        rule(module.C_DestroyObject(session, secret), OK, "C_DestroyObject of a secret")
        rule(module.C_DestroyObject(session, secret), OBJECT_INVALID, "C_DestroyObject twice")
    need(values[0] == values[1] and len(values[0]) == size and values[2] == values[0][-16:], "the secrets")


def rules(module):
    beginning(module)
    interfaces(module)
    slots(module)
    sessions(module)
    classes = finding(module)
    attributes(module, classes)
    operations(module, classes)
    derivations(module)
    module.need("C_Finalize", None)
    print(f"{len(kept)} rules")


if __name__ == "__main__":
    rules(Module(sys.argv[1]))
