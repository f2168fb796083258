import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Ids in your own process, through libvesta and JNA (Debian: libjna-java).  Copy this file.
 *
 * <pre>
 *     VestaIds ids = VestaIds.open("namespace=orders any_worker=true");
 *     long id = ids.next();              // unsigned: print it with Long.toUnsignedString
 *     long[] many = ids.batch(500);
 *     ids.nextUuid("uuid7");             // a String
 *     ids.explain(id).get("time");
 * </pre>
 *
 * All threads may use one object at the same time.  If libvesta is built but not installed, set LD_LIBRARY_PATH to its
 * folder.  docs/languages.md has the rest.
 */
public final class VestaIds implements AutoCloseable {
    private static final String LIBRARY = "libvesta.so.0";
    private static final int ANSWER_MAX = 4096;
    private static final int BATCH_MAX = 10_000;
    private static final int TEXT_MAX = 91; // as in vesta_uuid.h

    static {
        try {
            Native.register(NativeLibrary.getInstance(LIBRARY, Map.of(Library.OPTION_STRING_ENCODING, "UTF-8")));
        } catch (UnsatisfiedLinkError error) {
            throw new UnsatisfiedLinkError(error.getMessage() + ": install libvesta0, or set LD_LIBRARY_PATH to the folder of " + LIBRARY);
        }
    }

    private static native long vesta_plain_open(String options, byte[] answer);
    private static native void vesta_plain_close(long handle);
    private static native long vesta_plain_next(long handle);
    private static native long vesta_plain_next_wait(long handle, long waitMsMax, byte[] answer);
    private static native int vesta_plain_batch(long handle, long[] ids, long n, long waitMsMax, byte[] answer);
    private static native int vesta_plain_next_uuid(long handle, String shape, byte[] text, long waitMsMax, byte[] answer);
    private static native int vesta_plain_explain(long handle, long id, byte[] answer);
    private static native int vesta_plain_make(long handle, String fields, byte[] answer);
    private static native int vesta_plain_info(long handle, byte[] answer);
    private static native int vesta_plain_format(String base, long id, byte[] answer);
    private static native int vesta_plain_parse(String base, byte[] text, long length, byte[] answer);

    /** A rejected call.  code: the name of an error of vesta.h, such as "bad_option". */
    public static class Failure extends RuntimeException {
        private static final long serialVersionUID = 1L;
        private final String code;

        Failure(String code, String text) {
            super(text);
            this.code = code;
        }

        public String code() {
            return code;
        }
    }

    /** No id is available now. */
    public static final class Pause extends Failure {
        private static final long serialVersionUID = 1L;
        private final String reason;
        private final long waitMs;

        Pause(String text, String reason, long waitMs) {
            super("pause", text);
            this.reason = reason;
            this.waitMs = waitMs;
        }

        /** For example "clock_back". */
        public String reason() {
            return reason;
        }

        /** When to try again, -1 if waiting will not help. */
        public long waitMs() {
            return waitMs;
        }
    }

    private volatile long handle;
    private final long waitMs;

    private VestaIds(long handle, long waitMs) {
        this.handle = handle;
        this.waitMs = waitMs;
    }

    /** next and batch wait for up to 2 seconds for an id. */
    public static VestaIds open(String options) {
        return open(options, 2000);
    }

    public static VestaIds open(String options, long waitMs) {
        byte[] answer = new byte[ANSWER_MAX];
        long handle = vesta_plain_open(options, answer);
        if (handle == 0) throw failure(answer);
        return new VestaIds(handle, waitMs);
    }

    public long next() {
        long id = vesta_plain_next(handle);
        return id != 0 ? id : nextWait();
    }

    private long nextWait() {
        byte[] answer = new byte[ANSWER_MAX];
        long id = vesta_plain_next_wait(handle, waitMs, answer);
        if (id == 0) throw failure(answer);
        return id;
    }

    /** Returns n ids. */
    public long[] batch(int n) {
        byte[] answer = new byte[ANSWER_MAX];
        long[] ids = new long[Math.max(1, Math.min(n, BATCH_MAX))];
        check(vesta_plain_batch(handle, ids, n, waitMs, answer), answer);
        return ids;
    }

    /** Returns a UUID as text.  shape: uuid7, uuid8, ulid or hex32. */
    public String nextUuid(String shape) {
        byte[] answer = new byte[ANSWER_MAX], text = new byte[TEXT_MAX];
        check(vesta_plain_next_uuid(handle, shape, text, waitMs, answer), answer);
        return Native.toString(text, "UTF-8");
    }

    /** Returns the fields of an id, and its time as unix_ms. */
    public Map<String, Long> explain(long id) {
        byte[] answer = new byte[ANSWER_MAX];
        Map<String, Long> fields = new LinkedHashMap<>();
        check(vesta_plain_explain(handle, id, answer), answer).forEach((name, value) -> fields.put(name, Long.valueOf(value)));
        return fields;
    }

    /** Makes an id by hand from its fields.  A generator may issue the same id. */
    public long make(Map<String, Long> fields) {
        byte[] answer = new byte[ANSWER_MAX];
        String text = fields.entrySet().stream().map(one -> one.getKey() + "=" + one.getValue()).collect(Collectors.joining(" "));
        return id(check(vesta_plain_make(handle, text, answer), answer));
    }

    /** Returns the generator's state. */
    public Map<String, String> info() {
        byte[] answer = new byte[ANSWER_MAX];
        return check(vesta_plain_info(handle, answer), answer);
    }

    /** Closes the generator.  No other call may run at the same time.  Later calls throw a Failure with the code "closed". */
    @Override
    public void close() {
        long closing = handle;
        handle = 0;
        vesta_plain_close(closing);
    }

    /** Returns an id as text.  base: decimal, hex, base32 or base62. */
    public static String format(long id, String base) {
        byte[] answer = new byte[ANSWER_MAX];
        return check(vesta_plain_format(base, id, answer), answer).get("text");
    }

    public static long parse(String text, String base) {
        byte[] answer = new byte[ANSWER_MAX], bytes = text.getBytes(StandardCharsets.UTF_8);
        return id(check(vesta_plain_parse(base, bytes, bytes.length, answer), answer));
    }

    private static long id(Map<String, String> told) {
        return Long.parseUnsignedLong(told.get("id"));
    }

    private static Map<String, String> check(int code, byte[] answer) {
        if (code != 0) throw failure(answer);
        return lines(answer);
    }

    private static Failure failure(byte[] answer) {
        Map<String, String> told = lines(answer);
        if (!told.get("code").equals("pause")) return new Failure(told.get("code"), told.get("text"));
        return new Pause(told.get("text"), told.get("reason"), Long.parseLong(told.get("wait_ms")));
    }

    private static Map<String, String> lines(byte[] answer) {
        Map<String, String> told = new LinkedHashMap<>();
        for (String line : Native.toString(answer, "UTF-8").split("\n")) {
            int at = line.indexOf('=');
            if (at > 0) told.put(line.substring(0, at), line.substring(at + 1));
        }
        return told;
    }
}
