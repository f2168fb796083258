import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import vesta.Vesta;

/** Count ADDRESS NAME SAMPLES: ids per second from examples/clients/Vesta.java, and from a counter under a lock. */
public final class Count {
    private static final boolean TINY = System.getenv("BENCH_TINY") != null;
    private static final int PIECE = TINY ? 100_000 : 10_000_000, COUNTED = TINY ? 10_000 : 1_000_000;
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static long last;
    private static long sum; // otherwise the compiler removes the unused numbers

    private static long locked() {
        LOCK.lock();
        try {
            return ++last;
        } finally {
            LOCK.unlock();
        }
    }

    private static double perSecond(LongSupplier next) {
        long begun = System.nanoTime();
        for (int i = 0; i < PIECE; i++)
            sum += next.getAsLong();
        return PIECE / ((System.nanoTime() - begun) / 1e9);
    }

    public static void main(String[] arguments) {
        Vesta.Options options = new Vesta.Options().size(100_000).ttl(Duration.ofMinutes(10)).wait(Duration.ofSeconds(30));
        try (Vesta client = new Vesta(List.of(arguments[0]), arguments[1], options)) {
            for (int warm = 0; warm < 3; warm++) {
                perSecond(client::next);
                perSecond(Count::locked);
            }
            for (int i = Integer.parseInt(arguments[2]); i > 0; i--)
                System.out.println("{\"ours\": " + perSecond(client::next) + ", \"yard\": " + perSecond(Count::locked) + "}");
            Set<Long> given = new HashSet<>();
            for (int i = 0; i < COUNTED; i++)
                given.add(client.next());
            System.out.println("{\"ids\": " + COUNTED + ", \"duplicates\": " + (COUNTED - given.size()) + "}");
        }
    }
}
