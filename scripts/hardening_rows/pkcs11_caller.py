"""A well-behaved or ill-behaved program that loads the PKCS #11 module. The rows of `pkcs11.py` run it as a separate
process, because a crash of the module is a crash of the program.

usage: pkcs11_caller.py MODULE WHAT [ARGUMENT ...]

It prints one line, and exits with 0 if all checks pass.
"""
import _ctypes
import ctypes
import hashlib
import os
import random
import signal
import sys
import threading
import time

ULONG = ctypes.c_ulong
ALL_ONES = ULONG(-1).value
OK, NOT_INITIALIZED, TOO_SMALL, SENSITIVE = 0, 0x190, 0x150, 0x11
SIGN, DECRYPT = 0x108, 0x105
CERTIFICATE, PUBLIC_KEY, PRIVATE_KEY, SECRET_KEY, PROFILE = 1, 2, 3, 4, 9
RSA_PKCS, RSA_X_509, OAEP, PSS, SHA256_RSA_PKCS, ECDSA, ECDSA_SHA256, ECDH = 1, 3, 9, 0xD, 0x40, 0x1041, 0x1044, 0x1050
SECRET_PARTS = [0x123, 0x124, 0x125, 0x126, 0x127, 0x128]
DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")


class Attribute(ctypes.Structure):
    _fields_ = [("type", ULONG), ("value", ctypes.c_void_p), ("length", ULONG)]


class Mechanism(ctypes.Structure):
    _fields_ = [("mechanism", ULONG), ("parameter", ctypes.c_void_p), ("length", ULONG)]


def template(*attributes):
    """A template of (type, bytes); its values live as long as it does."""
    made = (Attribute * max(len(attributes), 1))()
    made.kept = []
    for place, (kind, value) in enumerate(attributes):
        buffer = ctypes.create_string_buffer(value, len(value))
        made.kept.append(buffer)
        made[place] = Attribute(kind, ctypes.cast(buffer, ctypes.c_void_p), len(value))
    return made


def number(value):
    return bytes(ULONG(value))


class Module:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def __getattr__(self, name):
        function = getattr(self.library, name)
        function.restype = ULONG

        def call(*arguments):
            return function(*[ULONG(a & ALL_ONES) if isinstance(a, int) else a for a in arguments])
        setattr(self, name, call)
        return call

    def need(self, name, *arguments):
        code = getattr(self, name)(*arguments)
        if code != OK:
            raise SystemExit(f"{name} gave 0x{code:x}")

    def open(self):
        session = ULONG()
        self.need("C_OpenSession", 0, 6, None, None, ctypes.byref(session))
        return session.value

    def find(self, session, *attributes):
        self.need("C_FindObjectsInit", session, template(*attributes), len(attributes))
        found, count = (ULONG * 4096)(), ULONG()
        self.need("C_FindObjects", session, found, 4096, ctypes.byref(count))
        self.need("C_FindObjectsFinal", session)
        return list(found[:count.value])

    def attribute(self, session, handle, kind):
        asked = (Attribute * 1)(Attribute(kind, None, 0))
        code = self.C_GetAttributeValue(session, handle, asked, 1)
        if code != OK:
            return None
        buffer = ctypes.create_string_buffer(max(asked[0].length, 1))
        asked[0].value = ctypes.cast(buffer, ctypes.c_void_p)
        self.need("C_GetAttributeValue", session, handle, asked, 1)
        return buffer.raw[:asked[0].length]

    def key(self, session, kind=0, can=SIGN):
        """The first private key of a type that permits an operation."""
        keys = self.find(session, (0, number(PRIVATE_KEY)), (0x100, number(kind)), (can, b"\1"))
        if not keys:
            raise SystemExit("no key permits the operation")
        return keys[0]

    def sign(self, session, key, mechanism, data):
        """A signature, or the number of the error."""
        code = self.C_SignInit(session, ctypes.byref(Mechanism(mechanism, None, 0)), key)
        if code != OK:
            return code
        signature, length = ctypes.create_string_buffer(1024), ULONG(1024)
        code = self.C_Sign(session, data, len(data), signature, ctypes.byref(length))
        return code if code != OK else signature.raw[:length.value]


class Verifier:
    """Verifies signatures of an RSA key with plain arithmetic."""

    def __init__(self, module, session, key):
        self.modulus = int.from_bytes(module.attribute(session, key, 0x120), "big")
        self.exponent = int.from_bytes(module.attribute(session, key, 0x122), "big")
        self.size = (self.modulus.bit_length() + 7) // 8

    def accepts(self, signature, message):
        """Whether a signature is RSASSA-PKCS1-v1_5 with SHA-256 of the message."""
        info = DIGEST_INFO + hashlib.sha256(message).digest()
        expected = b"\0\1" + b"\xff" * (self.size - 3 - len(info)) + b"\0" + info
        return pow(int.from_bytes(signature, "big"), self.exponent, self.modulus).to_bytes(self.size, "big") == expected


def need(condition, message):
    if not condition:
        raise SystemExit(message)


def still_works(module, session, key, verifier):
    signature = module.sign(session, key, SHA256_RSA_PKCS, b"still there")
    need(isinstance(signature, bytes) and verifier.accepts(signature, b"still there"), f"signing gave {signature}")


def arguments_of(module, session, key):
    """For each function, the arguments of a well-behaved caller."""
    buffer, count = ctypes.create_string_buffer(65_536), ULONG(65_536)
    attributes = template((0, number(PRIVATE_KEY)), (0x104, b"\1"))
    mechanism = Mechanism(SHA256_RSA_PKCS, None, 0)
    data = b"data"
    length = ctypes.byref(count)
    sign = (session, ctypes.byref(mechanism), key)
    update = (session, data, 4, buffer, length)
    message = (session, buffer, 4, data, 4, data, 4, buffer, length)
    return {
        "C_GetInfo": (buffer,), "C_GetFunctionList": (buffer,), "C_GetSlotList": (1, buffer, length),
        "C_GetSlotInfo": (0, buffer), "C_GetTokenInfo": (0, buffer), "C_GetMechanismList": (0, buffer, length),
        "C_GetMechanismInfo": (0, RSA_PKCS, buffer), "C_InitToken": (0, data, 4, buffer),
        "C_InitPIN": (session, data, 4), "C_SetPIN": (session, data, 4, data, 4),
        "C_OpenSession": (0, 4, None, None, buffer), "C_CloseSession": (ALL_ONES,), "C_GetSessionInfo": (session, buffer),
        "C_GetOperationState": (session, buffer, length), "C_SetOperationState": (session, buffer, 4, key, key),
        "C_Login": (session, 1, data, 4), "C_Logout": (session,), "C_CreateObject": (session, attributes, 2, buffer),
        "C_CopyObject": (session, key, attributes, 2, buffer), "C_DestroyObject": (session, key),
        "C_GetObjectSize": (session, key, buffer), "C_GetAttributeValue": (session, key, attributes, 2),
        "C_SetAttributeValue": (session, key, attributes, 2), "C_FindObjectsInit": (session, attributes, 2),
        "C_FindObjects": (session, buffer, 100, length), "C_FindObjectsFinal": (session,),
        "C_SignInit": sign, "C_Sign": update, "C_SignUpdate": (session, data, 4), "C_SignFinal": (session, buffer, length),
        "C_DecryptInit": sign, "C_Decrypt": update, "C_DecryptUpdate": update, "C_DecryptFinal": (session, buffer, length),
        "C_EncryptInit": sign, "C_Encrypt": update, "C_EncryptUpdate": update, "C_EncryptFinal": (session, buffer, length),
        "C_DigestInit": sign[:2], "C_Digest": update, "C_DigestUpdate": (session, data, 4), "C_DigestKey": (session, key),
        "C_DigestFinal": (session, buffer, length), "C_SignRecoverInit": sign, "C_SignRecover": update,
        "C_VerifyInit": sign, "C_Verify": (session, data, 4, data, 4), "C_VerifyUpdate": (session, data, 4),
        "C_VerifyFinal": (session, data, 4), "C_VerifyRecoverInit": sign, "C_VerifyRecover": update,
        "C_DigestEncryptUpdate": update, "C_DecryptDigestUpdate": update, "C_SignEncryptUpdate": update,
        "C_DecryptVerifyUpdate": update, "C_GenerateKey": (session, ctypes.byref(mechanism), attributes, 2, buffer),
        "C_GenerateKeyPair": (session, ctypes.byref(mechanism), attributes, 2, attributes, 2, buffer, buffer),
        "C_WrapKey": (session, ctypes.byref(mechanism), key, key, buffer, length),
        "C_UnwrapKey": (session, ctypes.byref(mechanism), key, data, 4, attributes, 2, buffer),
        "C_DeriveKey": (session, ctypes.byref(mechanism), key, attributes, 2, buffer),
        "C_SeedRandom": (session, data, 4), "C_GenerateRandom": (session, buffer, 4),
        "C_GetFunctionStatus": (session,), "C_CancelFunction": (session,), "C_WaitForSlotEvent": (1, buffer, None),
        "C_GetInterfaceList": (buffer, length), "C_GetInterface": (None, None, buffer, 0),
        "C_LoginUser": (session, 1, data, 4, data, 4), "C_SessionCancel": (session, 0x800),
        "C_MessageEncryptInit": sign, "C_EncryptMessage": message, "C_EncryptMessageBegin": message[:5],
        "C_EncryptMessageNext": (session, buffer, 4, data, 4, buffer, length, 0), "C_MessageEncryptFinal": (session,),
        "C_MessageDecryptInit": sign, "C_DecryptMessage": message, "C_DecryptMessageBegin": message[:5],
        "C_DecryptMessageNext": (session, buffer, 4, data, 4, buffer, length, 0), "C_MessageDecryptFinal": (session,),
        "C_MessageSignInit": sign, "C_SignMessage": (session, buffer, 4, data, 4, buffer, length),
        "C_SignMessageBegin": (session, buffer, 4), "C_SignMessageNext": (session, buffer, 4, data, 4, buffer, length),
        "C_MessageSignFinal": (session,), "C_MessageVerifyInit": sign,
        "C_VerifyMessage": (session, buffer, 4, data, 4, data, 4), "C_VerifyMessageBegin": (session, buffer, 4),
        "C_VerifyMessageNext": (session, buffer, 4, data, 4, data, 4), "C_MessageVerifyFinal": (session,),
    }, count


def arguments(module, full):
    """Every argument NULL, 0, 1 and ~0 in turn, and every length one too small."""
    functions, _ = arguments_of(module, 1, 1)
    for name, passed in functions.items():
        # Before C_Initialize only the function lists are available.
        code = getattr(module, name)(*passed)
        need(code == OK if name in ("C_GetFunctionList", "C_GetInterfaceList", "C_GetInterface")
             else code in (NOT_INITIALIZED, 0x54, 7), f"{name} before C_Initialize gave 0x{code:x}")
    need(module.C_Finalize(None) == NOT_INITIALIZED, "C_Finalize before C_Initialize")
    need(module.C_Initialize(None) == OK and module.C_Initialize(None) == 0x191, "C_Initialize")
    session = module.open()
    key = module.key(session)
    verifier = Verifier(module, session, key)
    calls = 0
    functions, count = arguments_of(module, session, key)
    for prepare in [None, "C_SignInit", "C_DecryptInit", "C_FindObjectsInit"]:
        for name, passed in functions.items():
            for place, value in enumerate(passed):
                changes = [0, 1, ALL_ONES] if isinstance(value, int) else [None]
                for change in changes:
                    count.value = 65_536
                    if prepare:
                        getattr(module, prepare)(*functions[prepare])
                    getattr(module, name)(*passed[:place], change, *passed[place + 1:])
                    calls += 1
            for short in [0, 1, ALL_ONES]:
                count.value = short
                if prepare:
                    getattr(module, prepare)(*functions[prepare])
                getattr(module, name)(*passed)
                calls += 1
        # Ends the active operations, so that the next round starts clean.
        module.C_CloseAllSessions(0)
        session = module.open()
        key = module.key(session)
        functions, count = arguments_of(module, session, key)
        still_works(module, session, key, verifier)
    # A buffer that is one byte too small keeps the operation and returns the length.
    length, buffer = ULONG(verifier.size - 1), ctypes.create_string_buffer(verifier.size)
    module.need("C_SignInit", session, ctypes.byref(Mechanism(SHA256_RSA_PKCS, None, 0)), key)
    need(module.C_Sign(session, b"x", 1, buffer, ctypes.byref(length)) == TOO_SMALL, "a short buffer")
    need(length.value == verifier.size, "the length of a signature")
    need(module.C_Sign(session, b"x", 1, None, ctypes.byref(length)) == OK, "the question for the length")
    module.need("C_Sign", session, b"x", 1, buffer, ctypes.byref(length))
    need(verifier.accepts(buffer.raw, b"x"), "the signature after a short buffer")
    print(f"{calls} calls")


def sequences(module, full, count="10000", seed="1"):
    """Calls in random order with random combinations of arguments."""
    random.seed(int(seed))
    module.C_Initialize(None)
    session = module.open()
    functions, length = arguments_of(module, session, module.key(session))
    names = [name for name in functions if name not in ("C_GetFunctionList",)] + ["C_Initialize", "C_Finalize"] * 2
    keys = module.find(session)
    sessions = [session]
    calls = 0
    for _ in range(int(count)):
        for _ in range(random.randint(2, 8)):
            name = random.choice(names)
            length.value = random.choice([0, 1, 64, 255, 256, 65_536, ALL_ONES])
            if name in ("C_Initialize", "C_Finalize"):
                if random.random() < 0.05:
                    getattr(module, name)(None)
                continue
            passed = list(functions[name])
            for place, value in enumerate(passed):
                if isinstance(value, int) and place == 0 and value not in (0, 1):
                    passed[0] = random.choice(sessions + [0, ALL_ONES])
                elif isinstance(value, int) and value not in (4, 2, 100):
                    passed[place] = random.choice(keys + [value, 0, 1, ALL_ONES])
                elif not isinstance(value, int) and random.random() < 0.1:
                    passed[place] = None
            if name == "C_SignInit" and passed[1] is not None:
                passed[1] = ctypes.byref(Mechanism(random.choice([RSA_PKCS, RSA_X_509, SHA256_RSA_PKCS, ECDSA, ECDSA_SHA256, PSS, 0x99]), None, 0))
            code = getattr(module, name)(*passed)
            calls += 1
            if name == "C_OpenSession" and code == OK and passed[4] is not None:
                sessions = (sessions + [ctypes.cast(passed[4], ctypes.POINTER(ULONG))[0]])[-20:]
    module.C_Finalize(None)
    module.need("C_Initialize", None)
    session = module.open()
    key = module.key(session)
    still_works(module, session, key, Verifier(module, session, key))
    print(f"{calls} calls")


def against_liar(module, full, seconds="20"):
    """All operations of a client, while a proxy changes the provider's replies."""
    end, rounds = time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        rounds += 1
        module.C_Initialize(None)
        count, slots, buffer = ULONG(8), (ULONG * 8)(), ctypes.create_string_buffer(4096)
        module.C_GetSlotList(1, slots, ctypes.byref(count))
        module.C_GetTokenInfo(0, buffer)
        session = ULONG()
        if module.C_OpenSession(0, 4, None, None, ctypes.byref(session)) == OK:
            session = session.value
            if module.C_FindObjectsInit(session, None, 0) == OK:
                found, number_found = (ULONG * 4096)(), ULONG()
                module.C_FindObjects(session, found, 4096, ctypes.byref(number_found))
                module.C_FindObjectsFinal(session)
                for handle in found[:min(number_found.value, 12)]:
                    for kind in [0, 3, 0x11, 0x80, 0x81, 0x82, 0x100, 0x101, 0x102, 0x110, 0x111, 0x120, 0x123, 0x180, 0x181, 0x40000600]:
                        module.attribute(session, handle, kind)
                    module.sign(session, handle, random.choice([SHA256_RSA_PKCS, ECDSA_SHA256, RSA_PKCS]), b"abc")
                    length = ULONG(4096)
                    if module.C_DecryptInit(session, ctypes.byref(Mechanism(RSA_PKCS, None, 0)), handle) == OK:
                        module.C_Decrypt(session, bytes(256), 256, buffer, ctypes.byref(length))
        if rounds % 5 == 0:
            module.C_Finalize(None)
    print(f"{rounds} rounds")


def lying_length(module, full):
    """A caller whose buffer is shorter than it claims, which no module can detect but a sanitizer must."""
    module.need("C_Initialize", None)
    session = module.open()
    key, memory = module.key(session), ctypes.CDLL(None)
    memory.malloc.restype = ctypes.c_void_p
    module.need("C_SignInit", session, ctypes.byref(Mechanism(SHA256_RSA_PKCS, None, 0)), key)
    module.C_Sign(session, b"x", 1, ctypes.c_void_p(memory.malloc(16)), ctypes.byref(ULONG(256)))


def silent(module, full):
    """A provider that accepts connections and never replies causes one reply time-out."""
    module.need("C_Initialize", None)
    begun, count, buffer = time.monotonic(), ULONG(), ctypes.create_string_buffer(4096)
    module.C_GetSlotList(1, None, ctypes.byref(count))
    need(count.value == 0, "a token is present")
    module.C_GetSlotInfo(0, buffer)
    need(module.C_GetTokenInfo(0, buffer) == 0xE0, "the token is present")
    took = time.monotonic() - begun
    need(took < 3, f"three calls took {took:.1f} s")
    print(f"{took:.1f} s")


def stalled(module, full):
    """Half a reply to a key use causes the reply time-out, and not the longer time-out of a prompt."""
    module.need("C_Initialize", None)
    session = module.open()
    key, begun = module.key(session), time.monotonic()
    code = module.sign(session, key, SHA256_RSA_PKCS, b"abc")
    took = time.monotonic() - begun
    need(code == 0x30 and took < 10, f"signing gave {code} after {took:.1f} s")
    print(f"{took:.1f} s")


def forks(module, full, count="300"):
    """Children of a process whose threads sign without a pause: each has its own state."""
    module.need("C_Initialize", None)
    session = module.open()
    key = module.key(session)
    verifier = Verifier(module, session, key)
    # Swift's runtime creates types under locks when they are used for the first time, and is not fork-safe meanwhile.
    need(isinstance(module.sign(session, key, SHA256_RSA_PKCS, b"first"), bytes), "the first signature")
    # Swift Testing blocks this signal, and child processes inherit the mask.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    stopped, signed = threading.Event(), []

    def work():
        session = module.open()
        while not stopped.is_set():
            need(isinstance(module.sign(session, key, SHA256_RSA_PKCS, b"parent"), bytes), "the parent's signature")
            signed.append(1)
    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    bad = 0
    for place in range(int(count)):
        child = os.fork()
        if child == 0:
            # Nothing of Python's own state is touched before the child has ended.
            signal_alarm = ctypes.CDLL(None).alarm
            signal_alarm(20)
            code = 1
            if module.C_GetSlotList(1, None, ctypes.byref(ULONG())) == NOT_INITIALIZED and module.C_Initialize(None) == OK:
                code = 2
                if place % 10 == 0:
                    mine = module.open()
                    signature = module.sign(mine, module.key(mine), SHA256_RSA_PKCS, b"child")
                    code = 0 if isinstance(signature, bytes) and verifier.accepts(signature, b"child") else 3
                else:
                    code = 0
            os._exit(code)
        _, status = os.waitpid(child, 0)
        bad += status != 0
    stopped.set()
    for thread in threads:
        thread.join()
    need(bad == 0, f"{bad} of {count} children failed or hung")
    still_works(module, session, key, verifier)
    print(f"{count} children, {len(signed)} signatures meanwhile")


def thread_load(module, full, threads="64", count="50"):
    """Many threads, each with a session; every signature is verified."""
    module.need("C_Initialize", None)
    session = module.open()
    key = module.key(session)
    verifier = Verifier(module, session, key)
    failures = []

    def work(name):
        session = module.open()
        for place in range(int(count)):
            message = f"{name} {place}".encode()
            signature = module.sign(session, key, SHA256_RSA_PKCS, message)
            if not isinstance(signature, bytes) or not verifier.accepts(signature, message):
                failures.append(signature)
        module.C_CloseSession(session)
    started = [threading.Thread(target=work, args=(name,)) for name in range(int(threads))]
    begun = time.monotonic()
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    need(not failures, f"{len(failures)} failures, the first {failures[:1]}")
    print(f"{int(threads) * int(count)} signatures in {time.monotonic() - begun:.1f} s")


def unload(module, full, count="20"):
    """The module is unloaded and loaded again, while threads that have used it continue to run."""
    path, descriptors = module.library._name, len(os.listdir("/proc/self/fd"))
    for _ in range(int(count)):
        module.need("C_Initialize", None)
        used, unloaded, signed = threading.Barrier(5), threading.Event(), []

        def work():
            session = module.open()
            signed.append(module.sign(session, module.key(session), SHA256_RSA_PKCS, b"abc"))
            used.wait(30)
            unloaded.wait(30)
        threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        used.wait(30)
        need(all(isinstance(one, bytes) for one in signed), f"signing gave {signed}")
        module.need("C_Finalize", None)
        _ctypes.dlclose(module.library._handle)
        # It is linked with `-z nodelete`, so that repeated loading leaks no memory.
        with open("/proc/self/maps", encoding="utf-8") as maps:
            need(os.path.basename(path) in maps.read(), "the module leaves the memory")
        unloaded.set()
        for thread in threads:
            thread.join()
        left = len(os.listdir("/proc/self/fd"))
        need(left == descriptors, f"{left} descriptors instead of {descriptors}")
        module = Module(path)
    print(f"{count} times")


def attacks(module, full):
    """The known attacks on a private key that cannot be extracted."""
    module.need("C_Initialize", None)
    session = module.open()
    module.C_Login(session, 1, b"0000", 4)
    out, length, new = ctypes.create_string_buffer(65_536), ULONG(65_536), ULONG()
    keys = module.find(session, (0, number(PRIVATE_KEY)))
    publics = module.find(session, (0, number(PUBLIC_KEY)))
    need(keys and publics, "the token has no keys")
    for key in keys:
        kind = module.attribute(session, key, 0x100)
        for part in (SECRET_PARTS if kind == number(0) else [0x11]):
            asked = (Attribute * 1)(Attribute(part, ctypes.cast(out, ctypes.c_void_p), 65_536))
            need(module.C_GetAttributeValue(session, key, asked, 1) == SENSITIVE, f"attribute 0x{part:x}")
            need(asked[0].length == ALL_ONES and not any(out.raw), f"bytes of attribute 0x{part:x}")
        need(module.attribute(session, key, 0x103) == b"\1" and module.attribute(session, key, 0x162) == b"\0", "flags")
        for mechanism in [RSA_PKCS, RSA_X_509, OAEP, 0x1082, 0x1085, 0x2109]:
            wrap = ctypes.byref(Mechanism(mechanism, None, 0))
            for wrapping in publics[:1] + keys:
                need(module.C_WrapKey(session, wrap, wrapping, key, out, ctypes.byref(length)) != OK, "wrapping")
            need(module.C_UnwrapKey(session, wrap, key, bytes(256), 256, template((0, number(PRIVATE_KEY))), 1,
                                    ctypes.byref(new)) != OK, "unwrapping")
        for change in [(0x103, b"\0"), (0x162, b"\1"), (0x105, b"\1"), (0x106, b"\1"), (0x2, b"\0"), (0x10C, b"\1")]:
            need(module.C_SetAttributeValue(session, key, template(change), 1) != OK, "changing an attribute")
            need(module.C_CopyObject(session, key, template(change, (1, b"\0")), 2, ctypes.byref(new)) != OK, "copying")
        need(module.C_DestroyObject(session, key) != OK, "destroying")
        need(module.C_GetOperationState(session, out, ctypes.byref(length)) != OK, "saving an operation's state")
        for mechanism in [0x2100, 0x360, 0x362, 0x363, 0x365]:
            need(module.C_DeriveKey(session, ctypes.byref(Mechanism(mechanism, None, 0)), key, template(), 0,
                                    ctypes.byref(new)) != OK, "deriving from the key's bytes")
    need(module.C_CreateObject(session, template((0, number(PRIVATE_KEY))), 1, ctypes.byref(new)) != OK, "creating")
    print(f"{len(keys)} keys")


def signing(module, full, expected):
    """One signature, which succeeds or is rejected with this number."""
    module.need("C_Initialize", None)
    session = module.open()
    answer = module.sign(session, module.key(session), SHA256_RSA_PKCS, b"abc")
    got = OK if isinstance(answer, bytes) else answer
    need(got == int(expected, 0), f"signing gave 0x{got:x}")
    print("as expected")


def empty(module, full):
    """Without a provider."""
    module.need("C_Initialize", None)
    count, slots, buffer = ULONG(), (ULONG * 4)(), ctypes.create_string_buffer(4096)
    module.need("C_GetSlotList", 1, None, ctypes.byref(count))
    need(count.value == 0, "a token is present")
    count.value = 4
    module.need("C_GetSlotList", 0, slots, ctypes.byref(count))
    need(count.value == 1, "the slot is missing")
    module.need("C_GetSlotInfo", 0, buffer)
    need(module.C_GetTokenInfo(0, buffer) == 0xE0, "C_GetTokenInfo")
    need(module.C_OpenSession(0, 4, None, None, buffer) == 0xE0, "C_OpenSession")
    need(module.C_GetMechanismList(0, None, ctypes.byref(count)) == 0xE0, "C_GetMechanismList")
    need(module.C_GetMechanismInfo(0, RSA_PKCS, buffer) == 0xE0, "C_GetMechanismInfo")
    module.need("C_Finalize", None)
    print("no token")


if __name__ == "__main__":
    WHAT = {
        "arguments": arguments, "sequences": sequences, "liar": against_liar, "silent": silent, "forks": forks,
        "threads": thread_load, "attacks": attacks, "lying-length": lying_length, "unload": unload, "stalled": stalled,
        "signing": signing, "empty": empty,
    }
    WHAT[sys.argv[2]](Module(sys.argv[1]), False, *sys.argv[3:])
