import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import vesta.Vesta;

/** Runs examples/clients/Vesta.java by the commands in README. */
public final class Drive {
    private static Vesta client;

    private static String open(List<String> pairs) {
        if (client != null) client.close();
        Vesta.Options options = new Vesta.Options();
        String name = "", certificate = "";
        List<String> servers = List.of();
        for (String pair : pairs) {
            String key = pair.substring(0, pair.indexOf('='));
            String value = URLDecoder.decode(pair.substring(key.length() + 1).replace("+", "%2B"), StandardCharsets.UTF_8);
            switch (key) {
                case "servers" -> servers = value.isEmpty() ? List.of() : List.of(value.split(","));
                case "name" -> name = value;
                case "user" -> options.user(value);
                case "password" -> options.password(value);
                case "secret_file" -> options.secretFile(value);
                case "tls_ca" -> options.tlsCa(value);
                case "tls_certificate" -> certificate = value;
                case "tls_key" -> options.tlsCertificate(certificate, value);
                case "tls_unverified" -> options.tlsUnverified("yes".equals(value));
                case "size" -> options.size((int) Math.min(Long.parseLong(value), Integer.MAX_VALUE));
                case "ttl" -> options.ttl(Duration.ofMillis(Long.parseLong(value)));
                case "timeout" -> options.timeout(Duration.ofMillis(Long.parseLong(value)));
                case "wait" -> options.wait(Duration.ofMillis(Long.parseLong(value)));
                default -> throw new IllegalArgumentException("no option " + key);
            }
        }
        client = new Vesta(servers, name, options);
        return "ok";
    }

    /** Prints ids until the first error, and that error. */
    private static String[] take(int count) {
        StringBuilder ids = new StringBuilder();
        try {
            for (int i = 0; i < count; i++)
                ids.append(' ').append(Long.toUnsignedString(client.next()));
        } catch (Vesta.NoId error) {
            return new String[] {ids.toString(), " error " + error.getMessage()};
        }
        return new String[] {ids.toString(), ""};
    }

    private static String atOnce(int threads, int count) {
        List<CompletableFuture<String[]>> all = IntStream.range(0, threads).mapToObj(i -> {
            CompletableFuture<String[]> taken = new CompletableFuture<>();
            new Thread(() -> taken.complete(take(count))).start();
            return taken;
        }).toList();
        List<String[]> said = all.stream().map(CompletableFuture::join).toList();
        return "ids" + said.stream().map(one -> one[0]).collect(Collectors.joining())
                + said.stream().map(one -> one[1]).max(String::compareTo).orElse("");
    }

    private static String info() {
        Vesta.Info info = client.info();
        return "info blocks=" + info.blocks() + " requests=" + info.requests() + " drops=" + info.drops() + " errors="
                + info.errors().entrySet().stream().map(one -> one.getKey() + ":" + one.getValue()).collect(Collectors.joining(","));
    }

    /** Options have no getters, because no other program needs them. */
    private static String defaults() {
        StringBuilder said = new StringBuilder("defaults");
        for (String name : List.of("size", "ttl", "timeout", "wait")) {
            try {
                Field field = Vesta.Options.class.getDeclaredField(name);
                field.setAccessible(true);
                Object held = field.get(new Vesta.Options());
                said.append(' ').append(name).append('=').append(held instanceof Duration time ? time.toMillis() : held);
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
        return said.toString();
    }

    private static String answer(List<String> words) {
        switch (words.get(0)) {
            case "open":
                return open(words.subList(1, words.size()));
            case "next":
                return "ids" + String.join("", take(Integer.parseInt(words.get(1))));
            case "at_once":
                return atOnce(Integer.parseInt(words.get(1)), Integer.parseInt(words.get(2)));
            case "uuids":
                return IntStream.range(0, Integer.parseInt(words.get(1))).mapToObj(i -> " " + client.nextUuid7()).collect(Collectors.joining("", "uuids", ""));
            case "info":
                return info();
            case "fork":
                return "none";
            case "defaults":
                return defaults();
            case "close":
                client.close();
                return "ok";
            default:
                return "error no command " + words.get(0);
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String said;
            try {
                said = answer(Arrays.asList(line.trim().split(" +")));
            } catch (RuntimeException error) {
                said = "error " + error.getMessage();
            }
            out.print(said.replace('\n', ' ') + "\n");
            out.flush();
        }
    }
}
