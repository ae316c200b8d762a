"""A program that loads the PKCS #11 module, serves as its provider, and checks the module's own guards: lifetimes of
secrets and logins, limits, and replies that must not be combined. Tests run it as a separate process.

usage: pkcs11_guards.py MODULE WHAT|list|all

It prints one line, and exits with 0 if all checks pass.
"""
import ctypes
import os
import signal
import socket
import struct
import sys
import tempfile

import pkcs11_provider as wire
from pkcs11_caller import (
    CERTIFICATE, DECRYPT, ECDSA, OAEP, OK, PRIVATE_KEY, PSS, RSA_PKCS, RSA_X_509, SECRET_KEY, SHA256_RSA_PKCS, TOO_SMALL, ULONG,
    Attribute, Mechanism, Module, need, number, template)
from pkcs11_lies import Program
from pkcs11_provider import LOGIN, OBJECTS, STATUS, USE, USE_BEGIN, Provider, curve, frame, identity, octets
from pkcs11_rules import MECHANISM_INVALID, Agreement, PSSParameters, sign_init
from pkcs11_shown import COMPLEMENT, listens, remains, token_labels

ARGUMENTS_BAD, KEY_INVALID, OBJECT_INVALID, VALUE_INVALID, SAVED_INVALID, UNSAVEABLE = 7, 0x60, 0x82, 0x13, 0x160, 0x180
LENGTH, PARAMETER_INVALID, ACTIVE, NO_OPERATION, INDIGESTIBLE = 0x21, 0x71, 0x90, 0x91, 0x67
PIN_INCORRECT, LOGGED_IN, NOT_LOGGED_IN, SENSITIVE = 0xA0, 0x100, 0x101, 0x11
SESSION_INVALID, SHA256_RSA_PSS, ECDH, DERIVATION_SHA256, TOKEN_ABSENT = 0xB3, 0x43, 0x1050, 6, 0xE0
PIN_MODE = bytes([2, 2, 3]) + octets(b"t" * 16)


class Recorder(Provider):
    """Keeps the types of the requests."""

    def __init__(self, folder, *identities):
        self.seen = []
        super().__init__(folder, *identities)

    def answer(self, peer, kind, request, body):
        self.seen.append(kind)
        return super().answer(peer, kind, request, body)


class OAEPParameters(ctypes.Structure):
    _fields_ = [("digest", ULONG), ("mask", ULONG), ("source", ULONG), ("label", ctypes.c_void_p), ("length", ULONG)]


def expect(got, expected, what):
    need(got == expected, f"{what}: 0x{got:x}, expected 0x{expected:x}")


def opened(module, slot=0, flags=6):
    session = ULONG()
    module.need("C_OpenSession", slot, flags, None, None, ctypes.byref(session))
    return session.value


def derived(module, session, *attributes, derivation=1, shared=b"", passed=None):
    """The handle of a derived secret, or the error as a negative number."""
    key = module.find(session, (0, number(PRIVATE_KEY)), (0x10C, b"\1"))[0]
    point, held = ctypes.create_string_buffer(wire.POINT[2:], 65), ctypes.create_string_buffer(shared, max(len(shared), 1))
    agreement = Agreement(derivation, len(shared), ctypes.cast(held, ctypes.c_void_p) if shared else None, 65,
                          ctypes.cast(point, ctypes.c_void_p))
    mechanism = Mechanism(ECDH, ctypes.cast(ctypes.byref(agreement), ctypes.c_void_p), ctypes.sizeof(agreement))
    made = ULONG()
    code = module.C_DeriveKey(session, ctypes.byref(mechanism), key, passed or template(*attributes),
                              len(passed or attributes), ctypes.byref(made))
    return made.value if code == OK else -code


def size_of(module, session, handle):
    return module.C_GetObjectSize(session, handle, ctypes.byref(ULONG()))


def log_in(module, session, pin=b"123456", user=1):
    return module.C_Login(session, user, pin, len(pin))


def state(module, session):
    """Whether a session is logged in."""
    buffer = ctypes.create_string_buffer(64)
    module.need("C_GetSessionInfo", session, buffer)
    return ULONG.from_buffer(buffer, 8).value in (1, 3)


def secret_lifetimes(module, folder):
    """A derived secret ends with its session, and a private one ends with the login."""
    provider = Provider(folder)
    provider.result = lambda: b"s" * 32
    with Program(module, provider):
        first, other = opened(module), opened(module)
        secret = derived(module, first)
        expect(size_of(module, other, secret), OK, "the secret in another session of the slot")
        module.need("C_CloseSession", first)
        expect(size_of(module, other, secret), OBJECT_INVALID, "the secret of a closed session")
        secret = derived(module, other)
        module.need("C_CloseAllSessions", 0)
        other = opened(module)
        expect(size_of(module, other, secret), OBJECT_INVALID, "the secret after C_CloseAllSessions")
        need(not module.find(other, (0, number(SECRET_KEY))), "a secret is found after C_CloseAllSessions")
    os.unlink(provider.path)
    provider = Provider(folder)
    provider.login, provider.result = PIN_MODE, lambda: b"s" * 32
    with Program(module, provider):
        session = opened(module)
        expect(log_in(module, session), OK, "the login")
        private, public = derived(module, session, (2, b"\1")), derived(module, session, (2, b"\0"))
        module.need("C_Logout", session)
        expect(size_of(module, session, private), OBJECT_INVALID, "a private secret after the logout")
        expect(size_of(module, session, public), OK, "another secret after the logout")
        expect(log_in(module, session), OK, "the next login")
        private = derived(module, session, (2, b"\1"))
        provider.status = lambda: struct.pack(">QIBQI", 1, 2, 3, 1, 0) + octets(Provider.serial)
        need(not state(module, session), "the session is still logged in after a lock")
        expect(size_of(module, session, private), OBJECT_INVALID, "a private secret after a lock")
        expect(size_of(module, session, public), OK, "another secret after a lock")


def other_slots(module, folder):
    """A session neither sees nor uses the keys and secrets of another slot."""
    provider = Provider(folder)
    provider.result = lambda: b"s" * 32
    with Program(module, provider, KEYSHARE_PKCS11_SLOTS="token"):
        token_labels(module)
        rsa, ec = opened(module, 1), opened(module, 2)
        secret = derived(module, ec)
        need(secret > 0, f"the secret: {-secret:x}")
        expect(size_of(module, rsa, secret), OBJECT_INVALID, "a secret of another slot")
        expect(module.C_DestroyObject(rsa, secret), OBJECT_INVALID, "destroying a secret of another slot")
        expect(size_of(module, ec, secret), OK, "the secret in its own slot")
        key = module.find(ec, (0, number(PRIVATE_KEY)))[0]
        expect(sign_init(module, rsa, key, ECDSA), KEY_INVALID, "a key of another slot")
    os.unlink(provider.path)
    provider = Provider(folder)
    provider.login = PIN_MODE
    with Program(module, provider, KEYSHARE_PKCS11_SLOTS="token"):
        token_labels(module)
        sessions = [opened(module, 1), opened(module, 2)]
        for session in sessions:
            expect(log_in(module, session), OK, "the login of a slot")
        keys = [module.find(session, (0, number(PRIVATE_KEY)))[0] for session in sessions]
        module.need("C_Logout", sessions[0])
        expect(size_of(module, sessions[1], keys[1]), OK, "a key after the logout of another slot")
        expect(log_in(module, sessions[0]), OK, "the second login of a slot")
        expect(size_of(module, sessions[0], keys[0]), OBJECT_INVALID, "a handle from before the slot's logout")


def slot_lists(module, folder):
    """Listing slots sends one status request and at most one request for the objects, however many slots exist."""
    provider = Recorder(folder, *[identity(place) for place in range(50)])
    changes = iter(range(2, 1_000))
    provider.status = lambda: struct.pack(">QIBQI", next(changes), 2, 3, 0, 0) + octets(Provider.serial)
    with Program(module, provider, KEYSHARE_PKCS11_SLOTS="token"):
        for present, expected in [(1, 50), (0, 50)]:
            count, sent = ULONG(), len(provider.seen)
            module.need("C_GetSlotList", present, None, ctypes.byref(count))
            need(count.value == expected, f"{count.value} slots")
            sent = provider.seen[sent:]
            need(sent.count(STATUS) == 1 and sent.count(OBJECTS) == 1, f"the requests {sent}")
        provider.identities = provider.identities[:2]
        module.need("C_GetSlotList", 1, None, ctypes.byref(count))
        need(count.value == 2, f"{count.value} slots have a token")
        module.need("C_GetSlotList", 0, None, ctypes.byref(count))
        need(count.value == 50, f"{count.value} slots")
        for slot, code in [(1, OK), (2, OK), (3, TOKEN_ABSENT), (50, TOKEN_ABSENT)]:
            expect(module.C_GetTokenInfo(slot, ctypes.create_string_buffer(512)), code, f"the token of slot {slot}")


def secret_values(module, folder):
    """A secret whose template forbids it is neither read nor digested, and a certificate is no secret."""
    provider = Provider(folder)
    provider.result = lambda: b"s" * 32
    with Program(module, provider):
        session = opened(module)
        for hidden in [(0x103, b"\1"), (0x162, b"\0")]:
            secret = derived(module, session, hidden)
            asked = (Attribute * 1)(Attribute(0x11, None, 0))
            expect(module.C_GetAttributeValue(session, secret, asked, 1), SENSITIVE, "the value of a sensitive secret")
            module.need("C_DigestInit", session, ctypes.byref(Mechanism(0x250, None, 0)))
            expect(module.C_DigestKey(session, secret), INDIGESTIBLE, "digesting a sensitive secret")
            module.C_DigestInit(session, None)
        certificate = module.find(session, (0, number(CERTIFICATE)))[0]
        module.need("C_DigestInit", session, ctypes.byref(Mechanism(0x250, None, 0)))
        expect(module.C_DigestKey(session, certificate), INDIGESTIBLE, "digesting a certificate")


def wiped_secrets(module, folder):
    """No copy of a derived secret remains in memory once it has ended, even if the program has read it."""
    # This process contains only the complements; the provider is another process.
    complements = [bytes(byte | 1 for byte in os.urandom(32)) for _ in range(4)]
    child = os.fork()
    if child == 0:
        secrets = iter(complements)
        provider = Provider(folder)
        provider.login, provider.result = PIN_MODE, lambda: next(secrets).translate(COMPLEMENT)
        signal.pause()
    path = os.path.join(folder, "provider.sock")
    while not listens(path):
        pass
    try:
        with Program(module, type("Other", (), {"path": path})):
            for way, complement in zip(["C_DestroyObject", "C_CloseSession", "C_CloseAllSessions", "C_Logout"], complements):
                session, buffer = opened(module), ctypes.create_string_buffer(32)
                need(log_in(module, session) in (OK, LOGGED_IN), "the login")
                secret = derived(module, session, (2, b"\1"))
                need(secret > 0, f"the secret: {-secret:x}")
                asked = (Attribute * 1)(Attribute(0x11, ctypes.cast(buffer, ctypes.c_void_p), 32))
                module.need("C_GetAttributeValue", session, secret, asked, 1)
                need(buffer[31] == bytes([complement[31] ^ 0xFF]), "the value of the secret")
                ctypes.memset(buffer, 0, 32)
                arguments = {"C_DestroyObject": (session, secret), "C_CloseAllSessions": (0,)}
                module.need(way, *arguments.get(way, (session,)))
                need(not remains(complement), f"the secret remains in memory after {way}")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def logins(module, folder):
    """A login that cannot succeed is not sent to the provider, and a login that the provider ended ends here."""
    provider = Recorder(folder)
    provider.login = PIN_MODE
    with Program(module, provider):
        session = opened(module)
        expect(log_in(module, session, b"1" * 65), PIN_INCORRECT, "a PIN of 65 bytes")
        sent = provider.seen.count(LOGIN)
        expect(log_in(module, session, b"1" * 65), PIN_INCORRECT, "a PIN of 65 bytes")
        need(provider.seen.count(LOGIN) == sent, "a PIN of 65 bytes was sent")
        expect(log_in(module, session, b"1" * 64), OK, "a PIN of 64 bytes")
        sent = provider.seen.count(LOGIN)
        expect(log_in(module, session), LOGGED_IN, "a second login")
        need(provider.seen.count(LOGIN) == sent, "a second login was sent")
        expect(log_in(module, session, user=2), NO_OPERATION, "a login for an operation that was not begun")
        key = module.key(session)
        module.need("C_SignInit", session, ctypes.byref(Mechanism(SHA256_RSA_PKCS, None, 0)), key)
        module.need("C_Logout", session)
        out, length = ctypes.create_string_buffer(256), ULONG(256)
        expect(module.C_Sign(session, b"x", 1, out, ctypes.byref(length)), NO_OPERATION, "an operation after the logout")
        expect(log_in(module, session), OK, "a login after a logout")
        expect(size_of(module, session, key), OBJECT_INVALID, "a handle from before the logout")
        key = module.key(session)
        over = b"\0\x0b" + octets(b"over") + b"\0\0" + octets(b"not-logged-in")
        provider.used = lambda peer, kind, request, body: frame(0xFF, request, over)
        need(module.sign(session, key, SHA256_RSA_PKCS, b"x") == NOT_LOGGED_IN, "a use after the provider ended the login")
        need(not state(module, session), "the session is still logged in")
        expect(log_in(module, session), OK, "a login after the provider ended the previous one")
        provider.status = lambda: struct.pack(">QIBQI", 1, 2, 3, 1, 0) + octets(Provider.serial)
        need(not state(module, session), "the session is still logged in after a lock")
    os.unlink(provider.path)
    provider = Recorder(folder)
    with Program(module, provider):
        session = opened(module)
        expect(module.C_Login(session, 1, None, 0), OK, "a login that the mode does not require")
        module.need("C_Logout", session)
        sent = provider.seen.count(LOGIN)
        expect(module.C_Login(session, 1, None, 0), OK, "a second login that the mode does not require")
        need(provider.seen.count(LOGIN) == sent, "a login without a PIN was sent although the mode requires none")


def hidden_keys(module, folder):
    """A private key is not listed before the login, even if the mode changed while the program was connected."""
    provider = Recorder(folder)
    with Program(module, provider):
        session = opened(module)
        need(len(module.find(session, (0, number(PRIVATE_KEY)))) == 2, "the private keys")
        provider.login, dropped = PIN_MODE, []
        answer = provider.answer
        provider.answer = lambda peer, kind, request, body: (
            answer(peer, kind, request, body) if dropped or dropped.append(1) else None)
        need(not module.find(session, (0, number(PRIVATE_KEY))), "private keys of a new connection in another mode")


def lengths(module, folder):
    """Data of a wrong length is rejected before it is sent."""
    provider = Recorder(folder)
    with Program(module, provider):
        session, out, length = opened(module), ctypes.create_string_buffer(1_024), ULONG(1_024)
        rsa, ec = module.key(session), module.key(session, 3)
        for mechanism in [RSA_PKCS, RSA_X_509]:
            expect(sign_init(module, session, rsa, mechanism), OK, "C_SignInit")
            module.need("C_SignUpdate", session, bytes(40_000), 40_000)
            expect(module.C_SignUpdate(session, bytes(40_000), 40_000), LENGTH, "80,000 bytes of a digest")
        digest = PSSParameters(0x250, 2, 32)
        for mechanism, size in [(ECDSA, 0), (ECDSA, 1_025), (RSA_PKCS, 246), (RSA_X_509, 257), (PSS, 31), (PSS, 33)]:
            key, passed = ec if mechanism == ECDSA else rsa, digest if mechanism == PSS else None
            expect(sign_init(module, session, key, mechanism, passed), OK, "C_SignInit")
            length.value = 1_024
            code = module.C_Sign(session, bytes(size), size, out, ctypes.byref(length))
            expect(code, LENGTH, f"{size} bytes for mechanism 0x{mechanism:x}")
        expect(module.C_DigestInit(session, ctypes.byref(Mechanism(0x250, None, 0))), OK, "C_DigestInit")
        expect(module.C_DigestUpdate(session, b"x", 2 ** 41), ARGUMENTS_BAD, "data of 2 TiB")
        need(USE not in provider.seen and USE_BEGIN not in provider.seen, f"the requests {provider.seen}")


def continued(module, folder):
    """A call in the wrong order leaves the operation as it was, and a kept result is only for its own ciphertext."""
    provider = Recorder(folder)
    with Program(module, provider):
        session, out, length = opened(module), ctypes.create_string_buffer(1_024), ULONG(1_024)
        key = module.key(session)
        expect(sign_init(module, session, key), OK, "C_SignInit")
        module.need("C_SignUpdate", session, b"part", 4)
        expect(module.C_Sign(session, b"x", 1, out, ctypes.byref(length)), ACTIVE, "C_Sign after C_SignUpdate")
        expect(module.C_SignFinal(session, out, ctypes.byref(length)), OK, "C_SignFinal after that")
        sealing = module.key(session, 0, DECRYPT)
        provider.result = lambda: b"first"
        module.need("C_DecryptInit", session, ctypes.byref(Mechanism(RSA_PKCS, None, 0)), sealing)
        length.value = 1
        expect(module.C_Decrypt(session, b"1" * 256, 256, out, ctypes.byref(length)), TOO_SMALL, "a small buffer")
        provider.result = lambda: b"second"
        length.value = 1_024
        module.need("C_Decrypt", session, b"2" * 256, 256, out, ctypes.byref(length))
        need(out.raw[:length.value] == b"second", "the plaintext of another ciphertext")


def parameters(module, folder):
    """The limits of mechanism parameters and templates."""
    provider = Provider(folder, identity(1), curve(2), identity(3, b"signature short", bits=512, modulus=b"\x80" * 64))
    provider.result = lambda: b"s" * 4_096
    with Program(module, provider):
        session = opened(module)
        rsa = [key for key in module.find(session, (0, number(PRIVATE_KEY)), (0x100, number(0)))]
        rsa.sort(key=lambda one: -len(module.attribute(session, one, 0x120)))
        expect(sign_init(module, session, rsa[0], PSS, PSSParameters(0x250, 2, 222)), OK, "the longest salt")
        module.C_SignInit(session, None, 0)
        expect(sign_init(module, session, rsa[0], PSS, PSSParameters(0x250, 2, 223)), PARAMETER_INVALID, "a salt too long")
        expect(sign_init(module, session, rsa[0], SHA256_RSA_PSS, PSSParameters(0x260, 3, 48)), PARAMETER_INVALID, "another digest")
        for key, code in [(rsa[0], OK), (rsa[1], PARAMETER_INVALID)]:
            passed = OAEPParameters(0x270, 4, 1, None, 0)
            mechanism = Mechanism(OAEP, ctypes.cast(ctypes.byref(passed), ctypes.c_void_p), ctypes.sizeof(passed))
            expect(module.C_DecryptInit(session, ctypes.byref(mechanism), key), code, "OAEP with SHA-512")
            module.C_DecryptInit(session, None, 0)
        label = ctypes.cast(ctypes.c_char_p(b"label"), ctypes.c_void_p)
        for source, size, code in [(1, 5, OK), (1, 0, OK), (0, 0, OK), (0, 5, PARAMETER_INVALID), (2, 0, PARAMETER_INVALID)]:
            passed = OAEPParameters(0x250, 2, source, label if size else None, size)
            mechanism = Mechanism(OAEP, ctypes.cast(ctypes.byref(passed), ctypes.c_void_p), ctypes.sizeof(passed))
            got = module.C_DecryptInit(session, ctypes.byref(mechanism), rsa[0])
            expect(got, code, f"OAEP with source {source} and a label of {size} bytes")
            module.C_DecryptInit(session, None, 0)
        passed.source = 1
        expect(module.C_SignInit(session, ctypes.byref(mechanism), rsa[0]), MECHANISM_INVALID, "signing with OAEP")
        need(derived(module, session, shared=b"x") == -PARAMETER_INVALID, "shared data without a derivation")
        size = (0x161, number(4_096))
        need(derived(module, session, size, derivation=DERIVATION_SHA256, shared=bytes(4_096)) > 0, "4,096 bytes of shared data")
        need(derived(module, session, size, derivation=DERIVATION_SHA256, shared=bytes(4_097)) == -PARAMETER_INVALID, "4,097 bytes")
        provider.result = lambda: b"s" * 4_097
        need(derived(module, session, (0x161, number(4_097)), derivation=DERIVATION_SHA256) == -VALUE_INVALID, "a secret of 4,097 bytes")
        null = (Attribute * 1)(Attribute(3, None, 5))
        expect(module.C_FindObjectsInit(session, null, 1), VALUE_INVALID, "an attribute of 5 bytes at NULL")
        many = template(*[(3, b"x")] * 4_097)
        expect(module.C_FindObjectsInit(session, many, 4_096), OK, "a template of 4,096 attributes")
        module.need("C_FindObjectsFinal", session)
        expect(module.C_FindObjectsInit(session, many, 4_097), ARGUMENTS_BAD, "a template of 4,097 attributes")


def saved_states(module, folder):
    """The state of an operation with a key is not saved, and an altered state is not restored."""
    with Program(module, Provider(folder)):
        session, saved, length = opened(module), ctypes.create_string_buffer(1_024), ULONG(1_024)
        module.need("C_DigestInit", session, ctypes.byref(Mechanism(0x250, None, 0)))
        module.need("C_GetOperationState", session, saved, ctypes.byref(length))
        expect(module.C_SetOperationState(session, saved, length.value, 0, 0), OK, "a saved state")
        saved[0] = 2
        expect(module.C_SetOperationState(session, saved, length.value, 0, 0), SAVED_INVALID, "an altered state")
        expect(sign_init(module, session, module.key(session)), OK, "C_SignInit")
        length.value = 1_024
        expect(module.C_GetOperationState(session, saved, ctypes.byref(length)), UNSAVEABLE, "the state of a signature")


def log(module, folder):
    """The log is not written through a symbolic link."""
    target, link = os.path.join(folder, "target"), os.path.join(folder, "link")
    os.symlink(target, link)
    with Program(module, Provider(folder), KEYSHARE_PKCS11_LOG=link) as program:
        need(program.sign() == OK, "signing")
    need(not os.path.exists(target), "the log followed the link")


def changing_lists(module, folder):
    """The pages of two lists are never combined."""
    provider, asked = Recorder(folder), []

    def page(body):
        asked.append(1)
        if len(asked) == 1:
            return Provider.page(provider, body, identities=[identity(1, b"signature old")], cursor=b"1")
        return Provider.page(provider, body, change=2, identities=[identity(2, b"signature new")])

    provider.page = page
    with Program(module, provider):
        session = opened(module)
        labels = [module.attribute(session, one, 3) for one in module.find(session, (0, number(CERTIFICATE)))]
        need(labels == [b"signature new"], f"the list {labels}")
    # The provider no longer knows the cursor of the old list.
    os.unlink(provider.path)
    provider, asked = Recorder(folder), []
    provider.page = page
    answer = provider.answer
    provider.answer = lambda peer, kind, request, body: (
        frame(0xFF, request, b"\0\4" + octets(b"gone")) if kind == OBJECTS and len(asked) == 1 and not asked.append(1)
        else answer(peer, kind, request, body))
    with Program(module, provider):
        session = opened(module)
        labels = [module.attribute(session, one, 3) for one in module.find(session, (0, number(CERTIFICATE)))]
        need(labels == [b"signature new"], f"the list after a lost cursor {labels}")


def connections(module, folder):
    """A connection is closed after a false reply, the list is read again over a new connection, and a descriptor that
    the program has reused is not touched."""
    provider = Recorder(folder)
    with Program(module, provider) as program:
        need(program.sign() == OK, "signing")
        provider.used = lambda peer, kind, request, body: frame(kind | 0x80, request + 1, b"s" * 256)
        need(program.sign() == 0x30, "a false reply")
        del provider.used
        hellos = provider.seen.count(wire.HELLO)
        need(program.sign() == OK, "signing after a false reply")
        need(provider.seen.count(wire.HELLO) == hellos + 1, "the connection with the false reply was used again")
        sockets = [int(one) for one in os.listdir("/proc/self/fd") if is_client(int(one), provider.path)]
        need(len(sockets) == 1, f"the module's sockets {sockets}")
        session = opened(module)
        need(len(module.find(session, (0, number(CERTIFICATE)))) == 2, "the list")
        # A new keychain, whose change count happens to be the same.
        provider.identities = (identity(3, b"signature new"),)
        need(len(module.find(session, (0, number(CERTIFICATE)))) == 2, "the list was read again without a reason")
        provider.used = lambda peer, kind, request, body: None
        need(program.sign() != OK, "signing over a closed connection")
        del provider.used
        labels = [module.attribute(session, one, 3) for one in module.find(session, (0, number(CERTIFICATE)))]
        need(labels == [b"signature new"], f"the list after a new connection {labels}")
        sockets = [int(one) for one in os.listdir("/proc/self/fd") if is_client(int(one), provider.path)]
        mine, peer = socket.socketpair()
        os.dup2(mine.fileno(), sockets[0])
        mine.close()
    peer.settimeout(1)
    os.write(sockets[0], b"still open")
    need(peer.recv(16) == b"still open", "the reused descriptor")
    peer.sendall(b"x")
    need(os.read(sockets[0], 1) == b"x", "the reused descriptor")


def is_client(descriptor, path):
    """Whether a descriptor is a connection to a socket in the file system."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as one:
            return one.getpeername() == path
    except (OSError, ValueError):
        return False


def meanwhile(module, folder):
    """Another thread closes the session or logs in while a call waits for the provider."""
    provider = Recorder(folder)
    with Program(module, provider):
        session, other = opened(module), opened(module)
        provider.result = lambda: (module.C_CloseSession(session), b"s" * 32)[1]
        expect(-derived(module, session), SESSION_INVALID, "C_DeriveKey in a session that was closed meanwhile")
        need(not module.find(other, (0, number(SECRET_KEY))), "a secret of a closed session")
        del provider.result
        provider.login, nested, answer = PIN_MODE, [], provider.answer

        def log_in_twice(peer, kind, request, body):
            if kind == LOGIN and body[0] == 2 and not nested:
                nested.append(1)
                nested.append(log_in(module, other))
            return answer(peer, kind, request, body)

        provider.answer = log_in_twice
        expect(log_in(module, opened(module)), LOGGED_IN, "a login that another thread overtook")
        expect(nested[1], OK, "the login of the other thread")
        module.need("C_Logout", other)
        closed = []

        def close_all(peer, kind, request, body):
            if kind == LOGIN and body[0] == 2:
                closed.append(module.C_CloseAllSessions(0))
            return answer(peer, kind, request, body)

        provider.answer = close_all
        expect(log_in(module, opened(module)), SESSION_INVALID, "a login whose session was closed meanwhile")
        need(closed == [OK] and not state(module, opened(module)), "the login outlived its session")


WHAT = [secret_lifetimes, other_slots, slot_lists, secret_values, wiped_secrets, logins, hidden_keys, lengths, continued,
        parameters, saved_states, log, changing_lists, meanwhile, connections]

if __name__ == "__main__":
    if sys.argv[2] == "list":
        print(" ".join(one.__name__ for one in WHAT))
    else:
        for one in WHAT:
            if one.__name__ == sys.argv[2] or sys.argv[2] == "all":
                with tempfile.TemporaryDirectory() as scratch:
                    one(Module(sys.argv[1]), scratch)
        print("as expected")
