import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * Count OPTIONS SAMPLES EMPTY: ns per id of examples/inprocess/VestaIds.java, of an empty call through JNA (the library EMPTY),
 * and of a generator in pure Java.
 */
public final class Count {
    private static final int PIECES = 5;
    private static final int PIECE = System.getenv("BENCH_TINY") == null ? 100_000 : 1000;

    private static native long empty(Pointer object);

    /** Twitter's algorithm. */
    private static final class Snowflake {
        private final long worker;
        private long last;
        private long sequence;

        Snowflake(long worker) {
            this.worker = worker << 12;
        }

        synchronized long next() {
            long now = System.currentTimeMillis();
            if (now < last) throw new IllegalStateException("the clock went back");
            sequence = now == last ? sequence + 1 & 4095 : 0;
            while (now <= last && sequence == 0) now = System.currentTimeMillis();
            last = now;
            return now - 1288834974657L << 22 | worker | sequence;
        }
    }

    private interface Call {
        long run();
    }

    private static long kept; // used, so that the compiler removes no call

    private static double cost(Call call) {
        long begun = System.nanoTime(), sum = 0;
        for (int i = 0; i < PIECE; i++) sum ^= call.run();
        kept ^= sum;
        return (double) (System.nanoTime() - begun) / PIECE;
    }

    public static void main(String[] arguments) {
        Native.register(NativeLibrary.getInstance(arguments[2]));
        VestaIds ids = VestaIds.open(arguments[0], 5000);
        Pointer object = new Pointer(1L << 40);
        Snowflake own = new Snowflake(7);
        Call[] runs = {ids::next, () -> empty(object), own::next};
        for (int sample = -1; sample < Integer.parseInt(arguments[1]); sample++) {
            double[] least = new double[runs.length];
            Arrays.fill(least, Double.MAX_VALUE);
            for (int i = 0; i < PIECES; i++)
                for (int at = 0; at < runs.length; at++) least[at] = Math.min(least[at], cost(runs[at]));
            if (sample >= 0) System.out.printf("{\"ours\": %.2f, \"empty\": %.2f, \"own\": %.2f}%n", least[0], least[1], least[2]);
        }
        Set<Long> counted = new HashSet<>();
        for (int i = 0; i < PIECE; i++) counted.add(ids.next());
        System.out.printf("{\"ids\": %d, \"duplicates\": %d}%n", PIECE, PIECE - counted.size());
        if (kept == 1) System.out.println();
    }
}
