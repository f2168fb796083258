/* Flake.java -- Twitter's algorithm in the form that Java libraries use (5 bits of datacenter, 5 of worker, 12 of
 * sequence).  Both numbers come from `vesta lease run`.  Debian packages no Java library with such a generator.
 *
 *     javac Flake.java
 *     vesta lease run --datacenter-bits 5 -- java Flake 1000
 */
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;

public final class Flake {
    private static final long EPOCH_MS = 1288834974657L;

    private final long node;
    private long lastMs = -1, sequence;

    Flake(long datacenter, long worker) {
        if (datacenter < 0 || datacenter > 31 || worker < 0 || worker > 31) throw new IllegalArgumentException("0 to 31");
        node = datacenter << 17 | worker << 12;
    }

    synchronized long next() {
        long now = System.currentTimeMillis();
        if (now < lastMs) throw new IllegalStateException("the clock went back by " + (lastMs - now) + " ms");
        if (now > lastMs) {
            sequence = 0;
        } else if ((sequence = (sequence + 1) & 4095) == 0) {
            while (now <= lastMs) now = System.currentTimeMillis();
        }
        lastMs = now;
        return now - EPOCH_MS << 22 | node | sequence;
    }

    private static int number(String name) {
        String text = System.getenv(name);
        if (text == null) throw new IllegalStateException(name + " is not set: start this program with vesta lease run --datacenter-bits 5");
        return Integer.parseInt(text);
    }

    public static void main(String[] args) {
        Flake ids = new Flake(number("VESTA_DATACENTER_PART"), number("VESTA_MACHINE_PART")); // one generator per process
        PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)));
        for (int left = args.length > 0 ? Integer.parseInt(args[0]) : 10; left > 0; left--) out.println(ids.next());
        out.flush();
    }
}
