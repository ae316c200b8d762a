// Code that uses the device also uses the keychain and the apps, so one import provides both.
@_exported public import SimulatedKeychain
