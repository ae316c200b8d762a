// java.security.KeyStore as a consumer, in Kotlin, as on Android. UNTESTED: this project has never built this file.
// Its claim is identity.
//
//   kotlinc KeyStore.kt -include-runtime -d keystore.jar
//   keyshare-provider conformance --claims identity --reports json --skip archives --memory 2048 -- \
//     java -jar keystore.jar {file} {password-file}
import java.io.File
import java.security.KeyStore
import java.security.UnrecoverableKeyException
import kotlin.system.exitProcess

fun main(arguments: Array<String>) {
    val password = File(arguments[1]).readText().removeSuffix("\n").toCharArray()
    try {
        val store = KeyStore.getInstance("PKCS12")
        File(arguments[0]).inputStream().use { store.load(it, password) }
        val count = store.aliases().toList().count { store.isKeyEntry(it) && store.getKey(it, password) != null }
        println("""{"identities": $count, "blames": null}""")
        exitProcess(if (count > 0) 0 else 1)
    } catch (error: Exception) {
        // The cause of an IOException identifies a wrong password.
        val blames = if (error.cause is UnrecoverableKeyException) "\"password\"" else "\"file\""
        println("""{"identities": 0, "blames": $blames}""")
        System.err.println(error)
        exitProcess(1)
    }
}
