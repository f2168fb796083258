package vesta;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * A client of vesta servers, for Java 17 and newer. It needs only this file.
 *
 * <pre>{@code
 * try (Vesta ids = new Vesta(List.of("10.0.0.1:8089", "10.0.0.2:8089"), "orders", new Vesta.Options())) {
 *     long id = ids.next();                       // unsigned: if the layout has 64 bits, print Long.toUnsignedString(id)
 * }
 * }</pre>
 *
 * With credentials and TLS:
 *
 * <pre>{@code
 * new Vesta(List.of("rediss://shop@ids1.example:8089"), "orders",
 *         new Vesta.Options().secretFile("/etc/shop/ids.secret").tlsCa("/etc/shop/ca.pem"))
 * }</pre>
 *
 * The client fetches blocks from the servers and computes the ids of a block by itself, so most calls of next() need no
 * network, only an atomic addition. When a tenth of a block is used, a thread fetches the next one. Any thread, virtual or
 * not, can call its methods.
 */
public final class Vesta implements AutoCloseable {
    /** No id was available. The message lists every server and its last result. */
    public static final class NoId extends RuntimeException {
        private static final long serialVersionUID = 1;

        NoId(String message) {
            super(message);
        }
    }

    /** The options, with their defaults. */
    public static final class Options {
        private int size = 1000;
        private Duration ttl = Duration.ofSeconds(10);
        private Duration timeout = Duration.ofSeconds(2);
        private Duration wait = Duration.ofSeconds(5);
        private String user;
        private String password;
        private String secretFile;
        private String tlsCa;
        private String tlsCertificate;
        private String tlsKey;
        private boolean tlsUnverified;

        public Options() {}

        private Options(Options from) {
            size = from.size;
            ttl = from.ttl;
            timeout = from.timeout;
            wait = from.wait;
            user = from.user;
            password = from.password;
            secretFile = from.secretFile;
            tlsCa = from.tlsCa;
            tlsCertificate = from.tlsCertificate;
            tlsKey = from.tlsKey;
            tlsUnverified = from.tlsUnverified;
        }

        /** Ids per block, 1 to 100000. */
        public Options size(int ids) {
            size = ids;
            return this;
        }

        /** The maximum age of a block, after which its unused ids are discarded. */
        public Options ttl(Duration time) {
            ttl = time;
            return this;
        }

        /** The maximum time of a request to a server, including the connection. */
        public Options timeout(Duration time) {
            timeout = time;
            return this;
        }

        /** The maximum time that next() waits for a block, or zero to never wait. */
        public Options wait(Duration time) {
            wait = time;
            return this;
        }

        /** The client's name, if an address has none. */
        public Options user(String name) {
            user = name;
            return this;
        }

        /** The client's secret, if an address has none. */
        public Options password(String text) {
            password = text;
            return this;
        }

        /** A file with the secret in its first line. It is read for each connection, so that the secret can be replaced. */
        public Options secretFile(String path) {
            secretFile = path;
            return this;
        }

        /** The PEM file of the certificate authorities for rediss:// servers. The default is the system's. */
        public Options tlsCa(String path) {
            tlsCa = path;
            return this;
        }

        /** The PEM files of the client's certificate and its key (PKCS 8), if servers require one. */
        public Options tlsCertificate(String path, String key) {
            tlsCertificate = path;
            tlsKey = key;
            return this;
        }

        /** Does not verify servers. For tests only, because an attacker could read the secret. */
        public Options tlsUnverified(boolean is) {
            tlsUnverified = is;
            return this;
        }

        private static final int SECRET_BYTES_MAX = 511;

        private void check(List<Server> servers) {
            Vesta.check(password == null || secretFile == null, "password and secretFile cannot be combined");
            for (Server server : servers)
                Vesta.check(server.user == null && user == null || server.secret != null || password != null || secretFile != null,
                        "server " + server.address + ": the client name has no secret. Set secretFile");
            Vesta.check(tlsCa == null && tlsCertificate == null && !tlsUnverified || servers.stream().anyMatch(one -> one.isTls),
                    "a TLS option is set, but no server begins with rediss://");
        }

        /** Returns the AUTH command for a new connection, which is empty without a secret. */
        private String[] greeting(Server server) throws IOException {
            String secret = server.secret != null ? server.secret : password, name = server.user != null ? server.user : user;
            if (secret == null && secretFile != null) {
                secret = Files.readString(Path.of(secretFile)).replaceFirst("^\uFEFF", "").split("\r?\n", 2)[0];
                int bytes = secret.getBytes(StandardCharsets.UTF_8).length;
                if (bytes < 1 || bytes > SECRET_BYTES_MAX)
                    throw new IOException("secretFile " + secretFile + ": its first line is not a secret of 1 to " + SECRET_BYTES_MAX + " bytes");
            }
            if (secret == null) return new String[0];
            return name == null ? new String[] {"AUTH", secret} : new String[] {"AUTH", name, secret};
        }

        /** Reads the files for each connection, so that they can be replaced. */
        private SSLContext tls() throws IOException, GeneralSecurityException {
            KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            TrustManagerFactory known = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            known.init(tlsCa == null ? null : store(tlsCa, null));
            if (tlsCertificate != null) own.init(store(tlsCertificate, key(tlsKey)), new char[0]);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(tlsCertificate == null ? null : own.getKeyManagers(),
                    tlsUnverified ? new TrustManager[] {new Anybody()} : known.getTrustManagers(), null);
            return context;
        }

        /** Returns the certificates of a PEM file. */
        private static KeyStore store(String path, PrivateKey key) throws IOException, GeneralSecurityException {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            List<Certificate> found = new ArrayList<>(CertificateFactory.getInstance("X.509")
                    .generateCertificates(new ByteArrayInputStream(Files.readAllBytes(Path.of(path)))));
            if (found.isEmpty()) throw new IOException(path + " has no certificate");
            if (key != null) store.setKeyEntry("own", key, new char[0], found.toArray(new Certificate[0]));
            for (int i = 0; key == null && i < found.size(); i++)
                store.setCertificateEntry("ca" + i, found.get(i));
            return store;
        }

        private static PrivateKey key(String path) throws IOException, GeneralSecurityException {
            Matcher pem = Pattern.compile("-----BEGIN PRIVATE KEY-----(.*?)-----END", Pattern.DOTALL).matcher(Files.readString(Path.of(path)));
            if (!pem.find()) throw new IOException(path + " has no key that begins with BEGIN PRIVATE KEY (PKCS 8)");
            PKCS8EncodedKeySpec key = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(pem.group(1)));
            for (String kind : List.of("RSA", "EC"))
                try {
                    return KeyFactory.getInstance(kind).generatePrivate(key);
                } catch (InvalidKeySpecException other) { // tries the next kind of key
                    continue;
                }
            return KeyFactory.getInstance("EdDSA").generatePrivate(key);
        }
    }

    /** For tlsUnverified: accepts every certificate. */
    private static final class Anybody extends X509ExtendedTrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) {}

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, javax.net.ssl.SSLEngine engine) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, javax.net.ssl.SSLEngine engine) {}

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }

    /** Counts: received blocks, requests, blocks that were dropped because of their age, and errors by server. */
    public record Info(long blocks, long requests, long drops, Map<String, Long> errors) {}

    private static final int SIZE_MAX = 100_000;
    private static final Duration LONGEST = Duration.ofDays(1);
    private static final long REST_MIN_NS = 100_000_000L;
    private static final long REST_MAX_NS = 6_400_000_000L;
    private static final int REPLY_BYTES_MAX = 65_536;
    private static final long SPENT = 1L << 62;
    private static final BigInteger TWO_64 = BigInteger.ONE.shiftLeft(64);

    /** Drops old blocks, so that next() need not read a clock for each id. */
    private static final ScheduledThreadPoolExecutor TIMER = new ScheduledThreadPoolExecutor(1, work -> daemon(work, "vesta-timer"));

    static {
        TIMER.setRemoveOnCancelPolicy(true);
    }

    private final String name;
    private final Options options;
    private final AtomicLong drops = new AtomicLong();
    private volatile Block current = new Block();

    private final ReentrantLock lock = new ReentrantLock(); // guards all fields below, except the servers' connections
    private final Condition changed = lock.newCondition();
    private final List<Server> servers = new ArrayList<>();
    private Block next;
    private boolean fetching;
    private boolean closed;
    private int waiting;
    private long blocks;
    private long requests;

    /** Checks the options. The first next() connects to a server. */
    public Vesta(List<String> addresses, String name, Options options) {
        check(!addresses.isEmpty(), "servers is empty: at least one HOST:PORT is needed");
        check(name.matches("[A-Za-z0-9_.:-]{1,64}"), "name '" + name + "' is not 1 to 64 of A-Z a-z 0-9 _ . : -");
        check(options.size >= 1 && options.size <= SIZE_MAX, "size " + options.size + " is not from 1 to " + SIZE_MAX);
        check(!options.ttl.isZero(), "ttl 0 is no time");
        check(!options.timeout.isZero(), "timeout 0 is no time");
        checkTime("ttl", options.ttl);
        checkTime("timeout", options.timeout);
        checkTime("wait", options.wait);
        addresses.forEach(text -> servers.add(new Server(text, servers.size() + 1)));
        options.check(servers);
        this.name = name;
        this.options = new Options(options);
    }

    private static void check(boolean holds, String message) {
        if (!holds) throw new IllegalArgumentException("vesta: " + message);
    }

    private static void checkTime(String key, Duration time) {
        check(!time.isNegative() && time.compareTo(LONGEST) <= 0, key + " " + time + " is not from 0 to " + LONGEST);
    }

    private static Thread daemon(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        return thread;
    }

    /** Returns an id, as an unsigned number. Throws NoId if there is none within Options.wait, or if the client is closed. */
    public long next() {
        Block block = current;
        long i = block.used.getAndIncrement();
        if (i < block.mark) return block.id(i);
        if (i >= block.count) return nextSlowly(Block::id);
        lock.lock();
        try {
            fetchAhead();
        } finally {
            lock.unlock();
        }
        return block.id(i);
    }

    /** Returns a UUID of version 7, made from one id of a block. Throws NoId as next does, and IllegalStateException for a tag. */
    public UUID nextUuid7() {
        Block block = current;
        long i = block.used.getAndIncrement();
        if (i >= block.count) return nextSlowly(Block::uuid7);
        if (i >= block.mark) {
            lock.lock();
            try {
                fetchAhead();
            } finally {
                lock.unlock();
            }
        }
        return block.uuid7(i);
    }

    private <T> T nextSlowly(BiFunction<Block, Long, T> made) {
        lock.lock();
        waiting++;
        try {
            for (long left = options.wait.toNanos(); !closed; left = changed.awaitNanos(left)) {
                do {
                    Block block = current;
                    long i = block.used.get() < block.count ? block.used.getAndIncrement() : SPENT;
                    if (i < block.count) return made.apply(block, i);
                } while (turn());
                boolean isRefused = !fetching && servers.stream().allMatch(server -> server.refuses);
                fetchAhead();
                if (left <= 0 || isRefused) throw new NoId("vesta: no id of '" + name + "': " + said());
            }
            throw new NoId("vesta: this client is closed");
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new NoId("vesta: interrupted while it waited for an id of '" + name + "'");
        } finally {
            waiting--;
            lock.unlock();
        }
    }

    private String said() {
        return String.join("; ", servers.stream().map(server -> server.address + ": " + server.said).toList());
    }

    /** Makes the next block the current block, and discards it if it is too old. */
    private boolean turn() {
        Block block = next;
        if (block == null) return false;
        next = null;
        long left = block.asked + options.ttl.toNanos() - System.nanoTime();
        if (left <= 0) {
            drops.incrementAndGet();
            return false;
        }
        if (current.expiry != null) current.expiry.cancel(false);
        block.expiry = TIMER.schedule(() -> drop(block), left, TimeUnit.NANOSECONDS);
        current = block;
        return true;
    }

    private void drop(Block block) {
        if (block.used.getAndSet(SPENT) < block.count) drops.incrementAndGet();
    }

    /** Starts to fetch the next block, if necessary. Until the fetch ends, next() does not call it again. */
    private void fetchAhead() {
        current.mark = current.count;
        if (next != null || fetching || closed) return;
        fetching = true;
        daemon(this::fetch, "vesta-fetch").start();
    }

    /** Requests a block from the servers that are not in a pause, in list order, until a block arrives or no caller waits. */
    private void fetch() {
        lock.lock();
        try {
            while (!closed) {
                Server server = servers.get(0);
                for (Server other : servers)
                    if (server.restNs() > 0 && other.restNs() < server.restNs()) server = other;
                if (server.restNs() > 0) {
                    if (waiting == 0 || servers.stream().allMatch(one -> one.refuses)) break;
                    changed.awaitNanos(Math.min(server.restNs(), REST_MIN_NS)); // if a caller waits, a server's pause is shorter
                }
                if (closed || ask(server)) break;
            }
        } catch (InterruptedException ours) { // cannot happen, because no other code has this thread
            Thread.currentThread().interrupt();
        } finally {
            long used = current.used.get();
            if (next == null && used < current.count * 9 / 10) current.mark = used + (current.count + 9) / 10; // tries again after another tenth
            fetching = false;
            if (closed) servers.forEach(Server::close);
            changed.signalAll();
            lock.unlock();
        }
    }

    /** Requests a block from a server. Holds the lock, except while it waits for the server. */
    private boolean ask(Server server) {
        Block block = null;
        Exception wrong = null;
        requests++;
        lock.unlock();
        try {
            long asked = System.nanoTime();
            Map<String, String> reply = server.ask(options, asked + options.timeout.toNanos(), "VESTA.BLOCK", name,
                    Integer.toString(options.size));
            block = new Block(reply, name, options.size, asked);
            if (block.overlaps(current)) throw new IOException("its block begins at " + block.first + ", which was given before");
        } catch (IOException | RuntimeException error) {
            server.close();
            wrong = error;
        } finally {
            lock.lock();
        }
        if (wrong == null) {
            next = block;
            blocks++;
            server.restNs = 0;
            server.refuses = false;
            server.said = "replied, but its next block has not arrived yet";
        } else {
            server.failed(wrong);
        }
        changed.signalAll();
        return wrong == null;
    }

    /** Closes the client. The unused ids of its blocks are lost, and waiting calls of next() throw NoId. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            next = null;
            if (current.expiry != null) current.expiry.cancel(false);
            current = new Block();
            servers.forEach(Server::hangUp);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    public Info info() {
        lock.lock();
        try {
            Map<String, Long> errors = new LinkedHashMap<>();
            servers.forEach(server -> errors.put(server.address, server.errors));
            return new Info(blocks, requests, drops.get(), errors);
        } finally {
            lock.unlock();
        }
    }

    /** A block of ids that a server issued to this client only. `used` counts the ids taken, and may exceed `count`. */
    private static final Pattern UNITS = Pattern.compile(" unit=(\\d+)(us|ms|s) epoch=([^ ]+)");
    private static final SecureRandom RANDOM = new SecureRandom();

    private static final class Block {
        final AtomicLong used = new AtomicLong();
        volatile long mark; // when `used` reaches it (at most count), the next block is fetched
        final long count;
        final boolean isTicks;
        final long base;
        final long first;
        final long stride;
        final int seqBits;
        final int timeShift;
        final int seqShift;
        final int lowBits;
        final int lowShift;
        final long last;
        final long asked;
        final String layout;
        ScheduledFuture<?> expiry;

        /** A block without ids. */
        Block() {
            count = base = first = stride = last = asked = 0;
            seqBits = timeShift = seqShift = lowBits = lowShift = 0;
            isTicks = false;
            layout = "";
        }

        Block(Map<String, String> reply, String name, int size, long asked) throws IOException {
            if (!name.equals(reply.get("ns"))) throw new IOException("its reply is for '" + reply.get("ns") + "', not for '" + name + "'");
            isTicks = "ticks".equals(reply.get("kind"));
            if (!isTicks && !"numbers".equals(reply.get("kind")))
                throw new IOException("its block is of kind '" + reply.get("kind") + "': this client knows ticks and numbers");
            BigInteger from = number(reply, "first", 0, TWO_64);
            first = from.longValue();
            count = number(reply, "count", 1, BigInteger.valueOf(size + 1L)).longValue();
            base = isTicks ? number(reply, "base", 0, TWO_64).longValue() : 0;
            stride = isTicks ? 1 : number(reply, "stride", 1, TWO_64).longValue();
            seqBits = isTicks ? shift(reply, "seq_bits") : 0;
            timeShift = isTicks ? shift(reply, "time_shift") : 0;
            seqShift = isTicks ? shift(reply, "seq_shift") : 0;
            lowBits = isTicks ? shift(reply, "low_bits") : 0;
            lowShift = isTicks ? shift(reply, "low_shift") : 0;
            BigInteger end = from.add(new BigInteger(Long.toUnsignedString(stride)).multiply(BigInteger.valueOf(count - 1)));
            if (end.compareTo(TWO_64) >= 0 || isTicks && !fits(end))
                throw new IOException("its block goes past 2^64 - 1, or has bits that overlap");
            last = end.longValue();
            mark = (count + 9) / 10;
            this.asked = asked;
            layout = String.valueOf(reply.get("layout"));
        }

        /** Makes a UUID of version 7: milliseconds, the other tick bits as a counter (RFC 9562, 6.2, method 1), random bits. */
        UUID uuid7(long i) {
            Matcher found = UNITS.matcher(layout);
            if (!isTicks || !found.find()) throw new IllegalStateException("the ids of this name have no time: name a namespace, not a tag");
            long unit = Long.parseLong(found.group(1)) * Map.of("us", 1, "ms", 1000, "s", 1000000).get(found.group(2));
            long epoch = Instant.parse(found.group(3)).toEpochMilli();
            long parts = (unit + 999) / unit; // units of less than a millisecond are counted too
            int width = seqBits + 64 - Long.numberOfLeadingZeros(parts - 1);
            if (epoch < 0 || width > 42)
                throw new IllegalStateException("this layout has no room for a UUID's counter, or begins before 1970: " + layout);
            long tick = first + i, us = (tick >>> seqBits) * unit;
            long counter = us % 1000 / unit << seqBits | tick & (1L << seqBits) - 1;
            // 12 bits follow the version, and 62 bits the variant: the counter, then random bits
            BigInteger rest = BigInteger.valueOf(counter).shiftLeft(74 - width).or(new BigInteger(74 - width, RANDOM));
            return new UUID(epoch + us / 1000 << 16 | 7L << 12 | rest.shiftRight(62).longValue(), rest.longValue() & (1L << 62) - 1 | 1L << 63);
        }

        private static BigInteger number(Map<String, String> reply, String key, long least, BigInteger end) throws IOException {
            String text = String.valueOf(reply.get(key));
            if (text.matches("[0-9]{1,20}")) {
                BigInteger number = new BigInteger(text);
                if (number.compareTo(BigInteger.valueOf(least)) >= 0 && number.compareTo(end) < 0) return number;
            }
            throw new IOException("its " + key + " '" + text + "' is not a number from " + least + " to " + end.subtract(BigInteger.ONE));
        }

        private static int shift(Map<String, String> reply, String key) throws IOException {
            return number(reply, key, 0, BigInteger.valueOf(64)).intValue();
        }

        /** Returns whether no fields of an id overlap. If they overlapped, two ids could be equal. */
        private boolean fits(BigInteger end) {
            BigInteger seen = new BigInteger(Long.toUnsignedString(base));
            for (BigInteger part : List.of(ones(end.shiftRight(seqBits).bitLength()).shiftLeft(timeShift),
                    ones(seqBits).shiftRight(lowBits).shiftLeft(seqShift), ones(lowBits).shiftLeft(lowShift))) {
                if (part.compareTo(TWO_64) >= 0 || part.and(seen).signum() != 0) return false;
                seen = seen.or(part);
            }
            return lowBits <= seqBits;
        }

        private static BigInteger ones(int bits) {
            return BigInteger.ONE.shiftLeft(bits).subtract(BigInteger.ONE);
        }

        long id(long i) {
            if (!isTicks) return first + i * stride;
            long tick = first + i;
            return base | tick >>> seqBits << timeShift | (tick & (1L << seqBits) - 1) >>> lowBits << seqShift
                    | (tick & (1L << lowBits) - 1) << lowShift;
        }

        boolean overlaps(Block other) {
            return other.count > 0 && isTicks == other.isTicks && base == other.base
                    && Long.compareUnsigned(first, other.last) <= 0 && Long.compareUnsigned(other.first, last) <= 0;
        }
    }

    /** A server rejected the request, and retrying does not help. */
    private static final class Refused extends IOException {
        private static final long serialVersionUID = 1;

        Refused(String message) {
            super(message);
        }
    }

    /** A server: its connection, which only the fetching thread uses, and the end of its pause after a failure. */
    private static final class Server {
        // redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS. A name and a secret may contain %XX escapes.
        private static final Pattern FORM = Pattern.compile("(?:(rediss?)://(?:([!\"$-.0-9;->A-Z\\\\^-~]*)(?::([!\"$-.0->A-Z\\\\^-~]+))?@)?)?"
                + "(\\[[0-9A-Fa-f:.]+\\]|[^\\[\\]\\s:/@]+):([0-9]{1,5})(/0?)?");

        private static final int TEXT_MAX = 2000;

        final String address;
        final String host;
        final int port;
        final boolean isTls;
        final String user;
        final String secret;
        long errors;
        String said = "not asked yet";
        boolean refuses;
        long restNs;
        long failedAt;
        volatile boolean ended;
        volatile Socket socket;
        byte[] data;
        int length;
        int at;

        Server(String text, int number) {
            Matcher part = FORM.matcher(text);
            boolean is = text.length() <= TEXT_MAX && part.matches();
            port = is ? Integer.parseInt(part.group(5)) : 0;
            isTls = is && "rediss".equals(part.group(1));
            user = is ? decoded(part.group(2)) : null;
            secret = is ? decoded(part.group(3)) : null;
            boolean isWhole = is && (part.group(1) != null || part.group(6) == null) && (part.group(2) == null || user != null || secret != null);
            String shown = text.contains("@") || text.contains("://") ? number + ", which is not shown because it may have a secret,"
                    : "'" + text + "'";
            check(isWhole && port >= 1 && port <= 65535 && !"\0".equals(user) && !"\0".equals(secret),
                    "server " + shown + " is neither HOST:PORT of the Redis protocol, with a port from 1 to 65535, nor "
                    + "redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS, where special characters in a name or a secret are written as %XX");
            address = part.group(4) + ":" + part.group(5);
            host = part.group(4).replaceAll("[\\[\\]]", "");
        }

        /** Decodes the %XX escapes of a part of an address. Returns null if it is absent, and "\0" if it is not one line of text. */
        private static String decoded(String part) {
            if (part == null || part.isEmpty()) return null;
            if (part.replaceAll("%[0-9A-Fa-f]{2}", "").contains("%")) return "\0";
            byte[] bytes = URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.ISO_8859_1).getBytes(StandardCharsets.ISO_8859_1);
            try {
                String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
                return text.chars().anyMatch(c -> c < ' ' || c == 127) ? "\0" : text;
            } catch (CharacterCodingException broken) {
                return "\0";
            }
        }

        /** Returns the remaining time of this server's pause. */
        long restNs() {
            return restNs == 0 ? 0 : failedAt + restNs - System.nanoTime();
        }

        void failed(Exception why) {
            refuses = why instanceof Refused;
            errors++;
            said = (why.getMessage() == null ? why.toString() : why.getMessage()).replaceAll("\\s+", " ");
            restNs = refuses ? REST_MAX_NS : Math.min(Math.max(2 * restNs, REST_MIN_NS), REST_MAX_NS);
            failedAt = System.nanoTime();
        }

        /** Closes the connection permanently. Any thread may call it. */
        void hangUp() {
            ended = true;
            close();
        }

        void close() {
            Socket old = socket;
            socket = null;
            try {
                if (old != null) old.close();
            } catch (IOException gone) { // it is not used again, so the error does not matter
                return;
            }
        }

        /** Sends a request and returns the reply, names and values. After any error, the caller must close the connection. */
        Map<String, String> ask(Options options, long deadline, String... words) throws IOException {
            if (socket != null && hasMore()) close();
            if (socket != null)
                try {
                    return say(deadline, words);
                } catch (Refused why) {
                    if (!why.getMessage().matches("(NOAUTH|NOPERM)\\b.*")) throw why;
                    close(); // retries on a new connection, because the secret may have been replaced
                }
            connect(options, deadline);
            return say(deadline, words);
        }

        private void connect(Options options, long deadline) throws IOException {
            String[] greeting = options.greeting(this);
            Socket made = new Socket();
            made.setTcpNoDelay(true);
            made.connect(new InetSocketAddress(host, port), left(deadline));
            socket = made;
            if (isTls) socket = secured(made, options, deadline);
            if (greeting.length > 0) greet(greeting, deadline);
        }

        /** Authenticates. Hides an error that repeats the secret, because Redis repeats the arguments of an unknown command. */
        private void greet(String[] greeting, long deadline) throws IOException {
            String secret = greeting[greeting.length - 1], beginning = secret.substring(0, Math.min(8, secret.length()));
            try {
                say(deadline, greeting);
            } catch (IOException why) {
                if (why.getMessage() == null || !why.getMessage().contains(beginning)) throw why;
                throw new Refused("its reply to AUTH is not shown, because it repeats the secret");
            }
        }

        /** Returns the connection with TLS, after verifying the server. */
        private SSLSocket secured(Socket plain, Options options, long deadline) throws IOException {
            try {
                SSLSocket secure = (SSLSocket) options.tls().getSocketFactory().createSocket(plain, host, port, true);
                SSLParameters parameters = secure.getSSLParameters();
                if (!options.tlsUnverified) parameters.setEndpointIdentificationAlgorithm("HTTPS");
                parameters.setProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
                secure.setSSLParameters(parameters);
                secure.setSoTimeout(left(deadline));
                secure.startHandshake();
                return secure;
            } catch (SSLException error) {
                if (error.getCause() instanceof GeneralSecurityException) throw new Refused("its certificate is not accepted: " + error.getMessage());
                throw error;
            } catch (GeneralSecurityException error) {
                throw new IOException(error.getMessage(), error);
            }
        }

        /** Returns whether the connection is unusable, because unexpected bytes arrived or the server closed it. */
        private boolean hasMore() {
            try {
                socket.setSoTimeout(1);
                socket.getInputStream().read();
                return true;
            } catch (SocketTimeoutException quiet) {
                return false;
            } catch (IOException gone) {
                return true;
            }
        }

        private Map<String, String> say(long deadline, String... words) throws IOException {
            StringBuilder request = new StringBuilder("*" + words.length + "\r\n");
            for (String word : words)
                request.append('$').append(word.getBytes(StandardCharsets.UTF_8).length).append("\r\n").append(word).append("\r\n");
            Socket to = socket;
            if (ended || to == null) throw new IOException("this client is closed");
            to.getOutputStream().write(request.toString().getBytes(StandardCharsets.UTF_8));
            data = new byte[REPLY_BYTES_MAX];
            length = at = 0;
            String head = line(to, deadline);
            if (head.startsWith("-")) {
                if (head.matches("-(TRYAGAIN|LOADING|OOM)( .*)?")) throw new IOException(head.substring(1));
                throw new Refused(head.substring(1));
            }
            Map<String, String> values = new LinkedHashMap<>();
            if (!head.equals("+OK")) {
                int count = number(head, '*', 64);
                check(count % 2 == 0, "its reply is no list of names and values");
                for (int i = 0; i < count; i += 2)
                    values.put(value(to, deadline), value(to, deadline));
            }
            if (at != length) throw new IOException("its reply has bytes that were not asked for");
            return values;
        }

        private static int number(String line, char kind, int most) throws IOException {
            if (!line.matches("\\" + kind + "[0-9]{1,5}") || Integer.parseInt(line.substring(1)) > most)
                throw new IOException("its reply has '" + line.substring(0, Math.min(40, line.length())) + "' where it has " + kind);
            return Integer.parseInt(line.substring(1));
        }

        private String value(Socket from, long deadline) throws IOException {
            String line = line(from, deadline);
            if (line.startsWith(":")) return line.substring(1);
            int bytes = number(line, '$', REPLY_BYTES_MAX), begin = at;
            while (length < begin + bytes + 2)
                more(from, deadline);
            at = begin + bytes + 2;
            return new String(data, begin, bytes, StandardCharsets.UTF_8);
        }

        private String line(Socket from, long deadline) throws IOException {
            for (int end = at;; end++) {
                if (end + 1 >= length) more(from, deadline);
                if (end + 1 < length && data[end] == '\r' && data[end + 1] == '\n') {
                    String line = new String(data, at, end - at, StandardCharsets.UTF_8);
                    at = end + 2;
                    return line;
                }
                if (data[at] == 'H' && length - at >= 5) throw new IOException("it answers HTTP: name its port of the Redis protocol");
                if (end == at && "+-:$*".indexOf(data[at]) < 0) throw new IOException("its reply is no reply of the Redis protocol");
            }
        }

        private void more(Socket from, long deadline) throws IOException {
            if (length == data.length) throw new IOException("its reply is longer than " + length + " bytes");
            from.setSoTimeout(left(deadline));
            int got = from.getInputStream().read(data, length, data.length - length);
            if (got < 0) throw new IOException("closed the connection" + (length > 0 ? " in the middle of a reply" : ""));
            length += got;
        }

        private static int left(long deadline) throws IOException {
            long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (left <= 0) throw new SocketTimeoutException("timed out");
            return (int) left;
        }
    }
}
