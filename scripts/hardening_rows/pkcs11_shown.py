"""A program that loads the PKCS #11 module, serves as its provider, and checks how the module shows a list. Tests run it
as a separate process.

usage: pkcs11_shown.py MODULE WHAT|list|all

It prints one line, and exits with 0 if all checks pass.
"""
import ctypes
import os
import resource
import signal
import socket
import sys
import tempfile
import time

import _ctypes
from pkcs11_caller import (
    CERTIFICATE, ECDSA_SHA256, OK, PRIVATE_KEY, PUBLIC_KEY, RSA_PKCS, ULONG, Mechanism, Module, need, number)
from pkcs11_lies import Program
from pkcs11_provider import CAN_DECRYPT, CAN_SIGN, HAS_KEY, IS_AUTHORITY, Provider, curve, frame, identity, octets
from pkcs11_rules import sign_init


def authority(module, folder):
    """A certificate of an authority has a key pair if its private key is registered."""
    held = identity(1, traits=CAN_SIGN | HAS_KEY | IS_AUTHORITY)
    other = identity(2, traits=CAN_SIGN | IS_AUTHORITY)
    log = os.path.join(folder, "log")
    with Program(module, Provider(folder, held, other), KEYSHARE_PKCS11_LOG=log) as program:
        session = module.open()
        need(len(module.find(session, (0, number(CERTIFICATE)))) == 2, "the certificates")
        need(len(module.find(session, (0, number(PUBLIC_KEY)))) == 1, "the public keys")
        keys = module.find(session, (0, number(PRIVATE_KEY)))
        need(len(keys) == 1 and module.attribute(session, keys[0], 3) == b"signature Person 1", "the private keys")
        need(program.sign() == OK, "signing")
    with open(log, encoding="utf-8") as lines:
        line = next((line for line in lines if "no private key at the provider" in line), "")
    need("1 of 2 certificates" in line and "%016X" % 0 in line, f"the log: {line}")


def shared_key(module, folder):
    """The key pair of several certificates is named after the newest one that does not belong to an authority."""
    key = dict(traits=CAN_SIGN | HAS_KEY)
    same = [identity(1, b"old", not_before=1, **key), identity(1, b"new", not_before=2, **key),
            identity(1, b"authority", not_before=3, traits=CAN_SIGN | HAS_KEY | IS_AUTHORITY),
            identity(1, b"keyless", not_before=4, traits=CAN_SIGN)]
    # The objects differ, but the keys are equal.
    same = [one.replace(b"%064X" % 1, b"%064X" % (10 + place)) for place, one in enumerate(same)]
    with Program(module, Provider(folder, *same)):
        session = module.open()
        need(len(module.find(session, (0, number(CERTIFICATE)))) == 4, "the certificates")
        for kind in [PUBLIC_KEY, PRIVATE_KEY]:
            found = [module.attribute(session, one, 3) for one in module.find(session, (0, number(kind)))]
            need(found == [b"new"], f"the keys {found}")


def useless(module, folder):
    """The log reports a key whose certificate permits no operation."""
    log = os.path.join(folder, "log")
    with Program(module, Provider(folder, identity(1, traits=HAS_KEY)), KEYSHARE_PKCS11_LOG=log):
        module.find(module.open())
    with open(log, encoding="utf-8") as lines:
        need(any("1 of 1 certificates have a key usage" in line for line in lines), "the log")


def order(module, folder):
    """Signing keys come first; slots keep the order of the registrations."""
    given = [identity(1, b"encryption A", traits=CAN_DECRYPT | HAS_KEY), identity(2, b"signature A"),
             identity(3, b"encryption B", traits=CAN_DECRYPT | HAS_KEY), curve(4, label=b"authentication A")]
    with Program(module, Provider(folder, *given)):
        session = module.open()
        for kind in [CERTIFICATE, PUBLIC_KEY, PRIVATE_KEY]:
            labels = [module.attribute(session, one, 3) for one in module.find(session, (0, number(kind)))]
            need(labels == [b"signature A", b"authentication A", b"encryption A", b"encryption B"], f"the order {labels}")


def types(module, folder):
    """KEYSHARE_PKCS11_TYPES selects certificates with their keys, and slots."""
    given = [identity(1, b"encryption A"), identity(2, b"signature A"), curve(3, label=b"authentication A")]
    provider = Provider(folder, *given)
    for words, expected in [("signature", [b"signature A"]), ("Authentication, signature", [b"signature A", b"authentication A"]),
                            ("sign", [])]:
        with Program(module, provider, KEYSHARE_PKCS11_TYPES=words):
            session = module.open()
            for kind in [CERTIFICATE, PUBLIC_KEY, PRIVATE_KEY]:
                labels = [module.attribute(session, one, 3) for one in module.find(session, (0, number(kind)))]
                need(labels == expected, f"{words}: {labels}")
    with Program(module, provider, KEYSHARE_PKCS11_TYPES="authentication", KEYSHARE_PKCS11_SLOTS="token"):
        need(token_labels(module) == [b"authentication A"], "the slots")


def token_labels(module):
    count, slots, info = ULONG(64), (ULONG * 64)(), ctypes.create_string_buffer(512)
    module.need("C_GetSlotList", 1, slots, ctypes.byref(count))
    labels = []
    for slot in slots[:count.value]:
        module.need("C_GetTokenInfo", slot, info)
        labels.append(info.raw[:32].rstrip(b" "))
    return labels


def labels(module, folder):
    """With a slot for each registration, the token labels are unique within their 32 bytes."""
    name = b"signature RIVERA.JORDAN.ALEXANDER.1234567890"
    given = [name, name + b" 0A1B2C3D", name + b" 0A1B2C3E", b"encryption" + name[9:], b"signature Short",
             b"signature Anna-Maria Alexandra Montgomery", b"signature Annabelle Alexandra Montgomery",
             b"signature " + "Ä".encode() * 60, b"x" * 60_000]
    identities = [identity(place, label, certificate=b"c") for place, label in enumerate(given)]
    # The objects' names begin differently, like those of certificates.
    identities = [one.replace(b"%064X" % place, b"%04X" % place + b"F" * 60) for place, one in enumerate(identities)]
    provider = Provider(folder)
    provider.page = lambda body: Provider.page(provider, body, identities=identities[:8])
    with Program(module, provider, KEYSHARE_PKCS11_SLOTS="token"):
        found = token_labels(module)
    need(len(set(found)) == len(found) == 8, f"the labels {found}")
    need(found[1] == b"signature R..1234567890 0A1B2C3D" and found[4] == b"signature Short", f"the labels {found}")
    need(all(len(one.decode()) <= 32 for one in found), "a label is cut inside a character")


def absent(module, folder):
    """Without a provider, the log contains the reason and the socket's path, although the functions return CKR_OK."""
    log, path = os.path.join(folder, "log"), os.path.join(folder, "nothing.sock")
    missing = type("Missing", (), {"path": path})
    with Program(module, missing, KEYSHARE_PKCS11_LOG=log):
        count, buffer = ULONG(), ctypes.create_string_buffer(512)
        module.need("C_GetSlotList", 1, None, ctypes.byref(count))
        module.need("C_GetSlotInfo", 0, buffer)
        need(count.value == 0 and ULONG.from_buffer(buffer, 96).value & 1 == 0, "a token is present")
    with open(log, encoding="utf-8") as lines:
        found = [line for line in lines if "slot 0 has no token: " in line]
    # A provider without registrations has one empty slot, even if each registration has its own slot.
    provider = Provider(folder)
    provider.identities = ()
    with Program(module, provider, KEYSHARE_PKCS11_SLOTS="token"):
        module.need("C_GetSlotList", 0, None, ctypes.byref(count))
        need(count.value == 1, f"{count.value} slots without registrations")
    need(len(found) == 2 and all("No such file" in line and line.endswith(f"socket: {path}\n") for line in found), f"the log: {found}")


def log(module, folder):
    """A reason of the provider is one line of the log, without control characters."""
    path, provider = os.path.join(folder, "log"), Provider(folder)
    said = frame(0xFF, 0, b"\0\x0b" + octets(b"\x1b]0;title\x07\nforged line" * 5) + b"\x80\0" + octets(b"user-denied"))
    provider.used = lambda peer, kind, request, body: said[:5] + request.to_bytes(4, "big") + said[9:]
    with Program(module, provider, KEYSHARE_PKCS11_LOG=path) as program:
        need(program.sign() == 0x200, "the code of a user who refuses")
    with open(path, "rb") as lines:
        whole = lines.read()
    need(b"forged line" in whole, "the reason is in the log")
    need(all(line.startswith(b"%d " % os.getpid()) for line in whole.splitlines()), "a line that the provider forged")
    need(not any(byte < 0x20 and byte != 0x0A or byte == 0x7F for byte in whole), "a control character")
    need(os.stat(path).st_mode & 0o777 == 0o600, "the mode of the log")


def garbage(module, folder):
    """A certificate and names that are not DER are shown unchanged."""
    noise, provider = bytes(range(256)) * 4, Provider(folder, identity(1, certificate=bytes(range(256)) * 4))
    provider.serial = b"\xff" * 60_000
    with Program(module, provider) as program:
        session, info = module.open(), ctypes.create_string_buffer(512)
        found = module.find(session, (0, number(CERTIFICATE)))
        need(module.attribute(session, found[0], 0x11) == noise, "the certificate")
        module.need("C_GetTokenInfo", 0, info)
        need(program.sign() == OK, "signing")


def guessed(module, folder):
    """A private key is not used before the login, even by a program that guesses its handle."""
    provider = Provider(folder)
    provider.login = bytes([2, 2, 3]) + octets(b"")
    with Program(module, provider):
        session = module.open()
        need(not module.find(session, (0, number(PRIVATE_KEY))), "private keys before the login")
        codes = [sign_init(module, session, handle) for handle in range(50)]
        need(0x101 in codes and OK not in codes, f"C_SignInit with guessed handles gave {codes}")
        out = ctypes.create_string_buffer(64)
        found = [handle for handle in range(50) if codes[handle] == 0x101]
        need(all(module.C_GetObjectSize(session, handle, out) == 0x82 for handle in found), "an attribute before the login")


def other_user(module, folder):
    """A provider of another user is not used. Only root can test that."""
    if os.geteuid() != 0:
        return
    os.chmod(folder, 0o777)
    os.seteuid(65_534)
    try:
        provider = Provider(folder)
    finally:
        os.seteuid(0)
    with Program(module, provider):
        need(module.C_OpenSession(0, 4, None, None, ctypes.byref(ULONG())) == 0xE0, "a session with another user's token")
    need(provider.requests == 0, "a request to another user")


def busy(module, folder):
    """A request to a provider that is briefly busy is retried."""
    provider, turns = Provider(folder), [1, 2, 3]
    provider.used = lambda peer, kind, request, body: (
        frame(0xFF, request, b"\0\x09" + octets(b"busy")) if turns and turns.pop() else Provider.used(provider, peer, kind, request, body))
    with Program(module, provider) as program:
        need(program.sign() == OK and not turns, "signing with a busy provider")
    os.unlink(provider.path)
    provider, turns = Provider(folder), [1, 2]
    answer = provider.answer
    provider.answer = lambda peer, kind, request, body: (
        frame(0xFF, request, b"\0\x09" + octets(b"busy")) if turns and turns.pop() else answer(peer, kind, request, body))
    with Program(module, provider) as program:
        need(program.sign() == OK and not turns, "connecting to a busy provider")


def silence(module, folder):
    """A provider that does not answer causes only one time-out."""
    provider = Provider(folder)
    provider.answer = lambda peer, kind, request, body: b""
    with Program(module, provider):
        for limit in [4, 0.5, 0.5]:
            begun = time.monotonic()
            need(module.C_OpenSession(0, 4, None, None, ctypes.byref(ULONG())) == 0xE0, "a session with a silent provider")
            need(time.monotonic() - begun < limit, f"{time.monotonic() - begun:.1f} s")


def wiped(module, folder):
    """Neither a PIN nor a plaintext remains in the memory of the program, once its own copies are gone."""
    # This process contains only the complements; the provider is another process.
    pin, plain = [bytes(byte | 1 for byte in os.urandom(count)) for count in (60, 16)]
    child = os.fork()
    if child == 0:
        provider = Provider(folder)
        provider.login = bytes([2, 2, 3]) + octets(b"t" * 16)
        provider.result = lambda: plain.translate(COMPLEMENT) * 4
        signal.pause()
    path = os.path.join(folder, "provider.sock")
    while not listens(path):
        pass
    try:
        with Program(module, type("Other", (), {"path": path})) as program:
            session, buffer = module.open(), ctypes.create_string_buffer(60)
            for place in range(60):
                buffer[place] = pin[place] ^ 0xFF
            module.need("C_Login", session, 1, buffer, 60)
            key, out, length = program.key(session, 0, 0x105), ctypes.create_string_buffer(256), ULONG(256)
            ctypes.memset(buffer, 0, 60)
            need(not remains(pin), "the PIN remains in memory")
            module.need("C_DecryptInit", session, ctypes.byref(Mechanism(RSA_PKCS, None, 0)), key)
            module.need("C_Decrypt", session, bytes(256), 256, out, ctypes.byref(length))
            need(length.value == 64 and out[0] == bytes([plain[0] ^ 0xFF]), "the plaintext")
            ctypes.memset(out, 0, 256)
            need(not remains(plain), "the plaintext remains in memory")
            # Only now, because a successful search leaves copies in memory.
            for place in range(16):
                buffer[place] = plain[place] ^ 0xFF
            need(remains(plain), "the search does not find a plaintext that is present")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def listens(path):
    """Whether a provider accepts connections at the path. Its socket exists before it listens."""
    with socket.socket(socket.AF_UNIX) as peer:
        return peer.connect_ex(path) == 0


COMPLEMENT = bytes(255 - byte for byte in range(256))


def remains(complement):
    """Whether the bytes with this complement are anywhere in this process's writable memory."""
    with open("/proc/self/maps", encoding="ascii") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps.read().splitlines():
            first, last = (int(one, 16) for one in line.split()[0].split("-"))
            if line.split()[1].startswith("rw") and "[v" not in line:
                try:
                    memory.seek(first)
                    if complement in memory.read(last - first).translate(COMPLEMENT):
                        return True
                except OSError:
                    pass
    return False


def unloading(module, folder):
    """Loading and unloading the module repeatedly does not increase the program's memory."""
    provider = Provider(folder, curve(1))
    path = module.library._name
    provider.result = lambda: b"s" * 64
    for turn in range(220):
        with Program(module, provider) as program:
            need(turn % 20 or program.sign(ECDSA_SHA256, 3, 64) == OK, "signing")
        _ctypes.dlclose(module.library._handle)
        if turn == 20:
            before = resident()
        module = Module(path)
    grown = resident() - before
    need(grown < 2_000, f"200 times cost {grown} KB")


def resident():
    with open("/proc/self/statm", encoding="ascii") as sizes:
        return int(sizes.read().split()[1]) * resource.getpagesize() // 1024


WHAT = [authority, shared_key, useless, order, types, labels, absent, log, garbage, guessed, other_user, busy, silence, wiped, unloading]

if __name__ == "__main__":
    if sys.argv[2] == "list":
        print(" ".join(one.__name__ for one in WHAT))
    else:
        for one in WHAT:
            if one.__name__ == sys.argv[2] or sys.argv[2] == "all":
                with tempfile.TemporaryDirectory() as scratch:
                    one(Module(sys.argv[1]), scratch)
        print("as expected")
