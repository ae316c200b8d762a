"""A program that logs in to the PKCS #11 module in each login mode, and checks slots. The rows of `pkcs11.py` and tests
run it as a separate process.

usage: pkcs11_logins.py MODULE WHAT [ARGUMENT ...]

It prints one line, and exits with 0 if no rule is violated.
"""
import ctypes
import sys

from pkcs11_caller import CERTIFICATE, OK, PRIVATE_KEY, PUBLIC_KEY, SHA256_RSA_PKCS, ULONG, Attribute, Mechanism, Module, Verifier, need, number
from pkcs11_rules import ARGUMENTS_BAD, KEY_INVALID, NO_OPERATION, NOT_LOGGED_IN, OBJECT_INVALID, SESSION_INVALID, SLOT_INVALID, kept, rule, sign_init

PIN_INCORRECT, PIN_LOCKED, LOGGED_IN, USER_INVALID = 0xA0, 0xA4, 0x100, 0x103
ANOTHER_LOGGED_IN, READ_ONLY_EXISTS = 0x104, 0xB8
LOGIN_REQUIRED, PIN_SET, PROTECTED_PATH, COUNT_LOW, FINAL_TRY, LOCKED = 4, 8, 0x100, 0x10000, 0x20000, 0x40000


def token_flags(module, slot=0):
    info = ctypes.create_string_buffer(256)
    module.need("C_GetTokenInfo", slot, info)
    return ULONG.from_buffer(info, 96).value


def login(module, session, pin, user=1):
    return module.C_Login(session, user, pin, len(pin) if pin is not None else 0)


def signs(module, session):
    key = module.key(session)
    verifier = Verifier(module, session, key)
    signature = module.sign(session, key, SHA256_RSA_PKCS, b"abc")
    need(isinstance(signature, bytes) and verifier.accepts(signature, b"abc"), f"signing gave {signature}")
    return key


def logins(module, mode, pin="123456"):
    """Logging in (5.6), in the provider's login mode."""
    pin = pin.encode()
    module.need("C_Initialize", None)
    session = module.open()
    flags = token_flags(module)
    expected = {"presence": 0, "path": LOGIN_REQUIRED | PROTECTED_PATH, "pin": LOGIN_REQUIRED}[mode.split("+")[0]]
    need(flags & (LOGIN_REQUIRED | PROTECTED_PATH | PIN_SET) == expected | PIN_SET, f"the token's flags 0x{flags:x}")
    rule(login(module, session, pin, 0), PIN_INCORRECT, "the security officer, which the token does not have")
    rule(login(module, session, pin, 77), USER_INVALID, "a user of no type")
    reading = ULONG()
    module.need("C_OpenSession", 0, 4, None, None, ctypes.byref(reading))
    rule(login(module, session, pin, 0), READ_ONLY_EXISTS, "the security officer with a read-only session")
    module.need("C_CloseSession", reading.value)
    rule(module.C_InitPIN(session, pin, len(pin)), NOT_LOGGED_IN, "C_InitPIN, which only the security officer may call")
    rule(module.C_InitPIN(session, None, 4), ARGUMENTS_BAD, "C_InitPIN without a PIN")
    rule(login(module, session, pin, 2), NO_OPERATION, "a login for no operation")
    rule(module.C_Logout(session), NOT_LOGGED_IN, "C_Logout before C_Login")
    rule(login(module, session, b"wrong pin"), PIN_INCORRECT, "a wrong PIN")
    rule(module.C_Login(session, 1, None, 4), ARGUMENTS_BAD, "a login with the length of a PIN, but without the PIN")
    private = module.find(session, (0, number(PRIVATE_KEY)))
    if mode == "presence":
        signs(module, session)
        rule(login(module, session, None), OK, "a login without a PIN, which is not required")
        module.need("C_Logout", session)
    else:
        need(not private, "private keys before the login")
        need(module.find(session, (0, number(PUBLIC_KEY))), "no public keys before the login")
        rule(login(module, session, None), OK if mode.startswith("path") else ARGUMENTS_BAD, "a login without a PIN")
        if mode.startswith("path"):
            module.need("C_Logout", session)
    if mode.startswith("pin"):
        need(token_flags(module) & (COUNT_LOW | FINAL_TRY) == COUNT_LOW, "the flags after one wrong PIN")
        rule(login(module, session, b"wrong pin"), PIN_INCORRECT, "a second wrong PIN")
        need(token_flags(module) & (COUNT_LOW | FINAL_TRY) == COUNT_LOW | FINAL_TRY, "the flags after two wrong PINs")
    rule(login(module, session, pin), OK, "the right PIN")
    rule(login(module, session, pin), LOGGED_IN, "a login after a login")
    rule(login(module, session, pin, 0), ANOTHER_LOGGED_IN, "the security officer after the user")
    need(not token_flags(module) & (COUNT_LOW | FINAL_TRY | LOCKED), "the flags after the right PIN")
    need(session_state(module, session) == 3, "the session's state after a login")
    is_private = b"\0" if mode == "presence" else b"\1"
    keys = module.find(session, (0, number(PRIVATE_KEY)))
    need(keys and all(module.attribute(session, key, 2) == is_private for key in keys), "CKA_PRIVATE")
    if mode.endswith("+always"):
        always(module, session, pin)
    else:
        need(all(module.attribute(session, key, 0x202) == b"\0" for key in keys), "CKA_ALWAYS_AUTHENTICATE")
        key = signs(module, session)
        rule(sign_init(module, session, key), OK, "C_SignInit")
        rule(login(module, session, pin, 2), NO_OPERATION, "a login for an operation that requires none")
        rule(module.C_SignInit(session, None, 0), OK, "the end of the operation")
        rule(module.C_LoginUser(session, 1, pin, len(pin), b"name", 4), ARGUMENTS_BAD, "C_LoginUser with a name")
        rule(module.C_LoginUser(99_999, 1, pin, len(pin), b"name", 4), SESSION_INVALID, "C_LoginUser in no session")
        rule(module.C_LoginUser(session, 1, pin, len(pin), None, 0), LOGGED_IN, "C_LoginUser after C_Login")
        module.need("C_Logout", session)
        if mode != "presence":
            rule(sign_init(module, session, key), (NOT_LOGGED_IN, KEY_INVALID), "a key after C_Logout")
            rule(login(module, session, pin), OK, "the next login")
            rule(sign_init(module, session, key), KEY_INVALID, "a handle from before C_Logout")
            signs(module, session)
        # Closing the last session ends the login.
        module.C_CloseSession(session)
        session = module.open()
        rule(module.C_Logout(session), NOT_LOGGED_IN, "the login after the last session")
    if mode.startswith("pin"):
        module.C_CloseAllSessions(0)
        session = module.open()
        for code in [PIN_INCORRECT, PIN_INCORRECT, PIN_LOCKED, PIN_LOCKED]:
            rule(login(module, session, b"0000"), code, "wrong PINs one after the other")
        rule(login(module, session, pin), PIN_LOCKED, "the right PIN after three wrong ones")
        need(token_flags(module) & LOCKED, "the flags after three wrong PINs")
    print(f"{len(kept)} rules")


def always(module, session, pin):
    """Keys that require a login for each use."""
    keys = [key for key in module.find(session, (0, number(PRIVATE_KEY)), (0x100, number(0)))
            if module.attribute(session, key, 0x202) == b"\1"]
    need(len(keys) == 1 and module.attribute(session, keys[0], 0x108) == b"\1", "the key for non-repudiation requires a login for each use")
    key, (out, length) = keys[0], (ctypes.create_string_buffer(1_024), ULONG(1_024))
    verifier = Verifier(module, session, key)

    def sign():
        length.value = 1_024
        return module.C_Sign(session, b"abc", 3, out, ctypes.byref(length))

    for _ in range(2):
        rule(sign_init(module, session, key), OK, "C_SignInit")
        rule(sign(), NOT_LOGGED_IN, "C_Sign without a login of its own")
        rule(sign(), NO_OPERATION, "the operation after that")
        rule(sign_init(module, session, key), OK, "C_SignInit")
        rule(login(module, session, b"wrong pin", 2), PIN_INCORRECT, "a wrong PIN for the operation")
        rule(login(module, session, pin, 2), OK, "the login for the operation")
        rule(sign(), OK, "C_Sign")
        need(verifier.accepts(out.raw[:256], b"abc"), "the signature")


def one_login(module, expected, pin=""):
    """One login, which succeeds or is rejected with this number; an empty PIN means no PIN."""
    module.need("C_Initialize", None)
    rule(login(module, module.open(), pin.encode() or None), int(expected, 0), "C_Login")
    print("as expected")


def over(module, action):
    """A login that ends while the program runs: a line on standard input starts the check. The program checks whether
    the login is over, or uses a key."""
    module.need("C_Initialize", None)
    session = module.open()
    rule(login(module, session, b"123456"), OK, "C_Login")
    key = signs(module, session)
    print("ready", flush=True)
    sys.stdin.readline()
    out, length = ctypes.create_string_buffer(1_024), ULONG(1_024)
    if action == "asks":
        need(session_state(module, session) == 2, "the session's state after the login has ended")
        rule(sign_init(module, session, key), NOT_LOGGED_IN, "C_SignInit after the login has ended")
    elif action == "searches":
        need(not module.find(session, (0, number(PRIVATE_KEY))), "private keys after the login has ended")
        rule(sign_init(module, session, key), NOT_LOGGED_IN, "C_SignInit after the login has ended")
    elif action == "uses":
        rule(sign_init(module, session, key), OK, "C_SignInit")
        rule(module.C_Sign(session, b"abc", 3, out, ctypes.byref(length)), NOT_LOGGED_IN, "C_Sign after the login has ended")
    if action != "logs in":
        rule(module.C_Logout(session), NOT_LOGGED_IN, "C_Logout after the login has ended")
    rule(login(module, session, b"123456"), OK, "the next login")
    need(session_state(module, session) == 3, "the session's state after the next login")
    # A handle stays valid after the device has ended a login, as it does after the provider restarts.
    rule(sign_init(module, session, key), OK, "C_SignInit")
    rule(module.C_Sign(session, b"abc", 3, out, ctypes.byref(length)), OK, "C_Sign after the next login")
    print(f"{len(kept)} rules")


def session_state(module, session):
    info = ctypes.create_string_buffer(64)
    module.need("C_GetSessionInfo", session, info)
    return (ULONG * 4).from_buffer(info)[1]


def slot_for_each(module, count):
    """A slot for each registration (KEYSHARE_PKCS11_SLOTS=token)."""
    module.need("C_Initialize", None)
    expected, number_, list_, buffer = int(count), ULONG(), (ULONG * 64)(), ctypes.create_string_buffer(512)
    for present in [0, 1]:
        number_.value = 64
        module.need("C_GetSlotList", present, list_, ctypes.byref(number_))
        need(number_.value == expected, f"{number_.value} slots")
    labels, serials, keys = set(), set(), set()
    for slot in list_[:expected]:
        module.need("C_GetTokenInfo", slot, buffer)
        labels.add(buffer.raw[:32])
        serials.add(buffer.raw[80:96])
        session = ULONG()
        module.need("C_OpenSession", slot, 6, None, None, ctypes.byref(session))
        session = session.value
        module.need("C_GetSessionInfo", session, buffer)
        need(ULONG.from_buffer(buffer).value == slot, "the slot of a session")
        for kind in [CERTIFICATE, PUBLIC_KEY, PRIVATE_KEY]:
            need(len(module.find(session, (0, number(kind)))) == 1, f"objects of class {kind} in slot {slot}")
        keys.add(module.find(session, (0, number(PRIVATE_KEY)))[0])
        rule(login(module, session, b"123456"), OK, "C_Login")
    need(len(labels) == len(serials) == len(keys) == expected, "two slots have one label, serial number or key")
    # A login applies to one slot, so the keys of another slot stay locked.
    module.need("C_CloseAllSessions", list_[0])
    session = ULONG()
    module.need("C_OpenSession", list_[0], 4, None, None, ctypes.byref(session))
    rule(module.C_Logout(session.value), NOT_LOGGED_IN, "the login of another slot")
    mine = module.find(session.value, (0, number(PRIVATE_KEY)))[0]
    for key in keys - {mine}:
        rule(module.C_SignInit(session.value, ctypes.byref(Mechanism(SHA256_RSA_PKCS, None, 0)), key), KEY_INVALID, "a key of another slot")
        rule(module.C_GetAttributeValue(session.value, key, (Attribute * 1)(Attribute(3, None, 0)), 1), OBJECT_INVALID, "attributes of another slot")
    rule(module.C_GetSlotInfo(99, buffer), SLOT_INVALID, "a slot that does not exist")
    print(f"{expected} slots")


if __name__ == "__main__":
    WHAT = {"logins": logins, "login": one_login, "over": over, "slots": slot_for_each}
    WHAT[sys.argv[2]](Module(sys.argv[1]), *sys.argv[3:])
