// Android's KeyStore as an instrumented test, in Kotlin. UNTESTED: this project has never built this file.
// It runs on a phone or an emulator, without the conformance command. Write the test vectors to the assets first:
//
//   keyshare-provider vectors --format json -o app/src/androidTest/assets
//   ./gradlew connectedAndroidTest
import androidx.test.ext.junit.runners.AndroidJUnit4
import androidx.test.platform.app.InstrumentationRegistry
import java.security.KeyStore
import org.json.JSONObject
import org.junit.Assert.assertEquals
import org.junit.Test
import org.junit.runner.RunWith

@RunWith(AndroidJUnit4::class)
class Pkcs12Test {
    private fun identities(file: ByteArray, password: CharArray?): Int = try {
        val store = KeyStore.getInstance("PKCS12")
        file.inputStream().use { store.load(it, password) }
        store.aliases().toList().count { store.isKeyEntry(it) && store.getKey(it, password) != null }
    } catch (error: Exception) { 0 }

    @Test
    fun everyFile() {
        val assets = InstrumentationRegistry.getInstrumentation().context.assets
        val groups = JSONObject(assets.open("pkcs12-vectors.json").reader().readText()).getJSONArray("testGroups")
        val wrong = mutableListOf<String>()
        for (group in 0 until groups.length()) {
            val tests = groups.getJSONObject(group).getJSONArray("tests")
            for (test in (0 until tests.length()).map(tests::getJSONObject)) {
                val file = test.getString("p12").chunked(2).map { it.toInt(16).toByte() }.toByteArray()
                val password = if (test.isNull("password")) null else test.getString("password").toCharArray()
                val isRight = identities(file, password) == test.getJSONArray("identities").length()
                if (test.getString("result") != "acceptable" && !isRight) wrong += test.getString("name")
            }
        }
        assertEquals(emptyList<String>(), wrong)
    }
}
