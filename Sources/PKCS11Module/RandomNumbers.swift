public import CPKCS11

// Random numbers from the kernel (PKCS #11 5.15).

/// `C_SeedRandom` always fails: the module uses the kernel's generator, and programs cannot seed it (PKCS #11 5.15).
@c @implementation public func C_SeedRandom(
    _ session: CK_SESSION_HANDLE, _ seed: CK_BYTE_PTR?, _ length: CK_ULONG
) -> CK_RV {
    Library.call("C_SeedRandom") { library throws(Refusal) in
        try library.requireSession(session)
        _ = unsafe try Caller.data(seed, length)
        throw Refusal(CKR_RANDOM_SEED_NOT_SUPPORTED, "the kernel's generator needs no seed")
    }
}

/// `C_GenerateRandom` fills a buffer with getrandom(2) (PKCS #11 5.15).
@c @implementation public func C_GenerateRandom(
    _ session: CK_SESSION_HANDLE, _ output: CK_BYTE_PTR?, _ length: CK_ULONG
) -> CK_RV {
    Library.call("C_GenerateRandom") { library throws(Refusal) in
        try library.requireSession(session)
        let count = unsafe try Caller.data(output, length).count
        let failure = unsafe cpkcs11_fill_randomly(output, CK_ULONG(count))
        guard failure == 0 else {
            throw Refusal(CKR_DEVICE_ERROR, "getrandom(2) fails with error \(failure)")
        }
    }
}
