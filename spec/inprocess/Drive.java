import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** Runs examples/inprocess/VestaIds.java by the commands in README. */
public final class Drive {
    private static final int CHUNK = 190; // lines of 21 bytes fit into a write that a pipe keeps whole
    private static VestaIds ids;

    private static String failed(VestaIds.Failure error) {
        String code = error instanceof VestaIds.Pause pause ? "pause " + pause.reason() + " " + pause.waitMs() : error.code();
        return "error " + code + " " + error.getMessage();
    }

    private static String told(long... numbers) {
        return "ids " + LongStream.of(numbers).mapToObj(Long::toUnsignedString).collect(Collectors.joining(" "));
    }

    private static String fields(Map<String, ?> values) {
        return "fields " + values.entrySet().stream()
                .map(one -> one.getKey() + "=" + URLEncoder.encode(one.getValue().toString(), StandardCharsets.UTF_8).replace("+", "%20"))
                .collect(Collectors.joining(" "));
    }

    private static String decoded(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    /** Returns ids until the first error, and that error. */
    private static String take(int count) {
        long[] numbers = new long[count];
        for (int i = 0; i < count; i++) {
            try {
                numbers[i] = ids.next();
            } catch (VestaIds.Failure error) {
                return told(Arrays.copyOf(numbers, i)) + " " + failed(error);
            }
        }
        return told(numbers);
    }

    private static String atOnce(int threads, int count) {
        List<CompletableFuture<String>> all = IntStream.range(0, threads).mapToObj(i -> {
            CompletableFuture<String> taken = new CompletableFuture<>();
            new Thread(() -> taken.complete(take(count))).start();
            return taken;
        }).toList();
        return "ids" + all.stream().map(CompletableFuture::join).sorted((a, b) -> Boolean.compare(a.contains("error"), b.contains("error")))
                .map(line -> line.substring(3)).collect(Collectors.joining());
    }

    private static String open(String waitMs, String options) {
        VestaIds opened = VestaIds.open(decoded(options), Long.parseLong(waitMs));
        if (ids != null) ids.close();
        ids = opened;
        return "ok";
    }

    private static String make(List<String> pairs) {
        Map<String, Long> given = new HashMap<>();
        for (String pair : pairs) given.put(pair.substring(0, pair.indexOf('=')), Long.valueOf(pair.substring(pair.indexOf('=') + 1)));
        return told(ids.make(given));
    }

    private static String answer(List<String> words) {
        switch (words.get(0)) {
            case "open":
                return open(words.get(1), words.get(2));
            case "next":
                return take(Integer.parseInt(words.get(1)));
            case "batch":
                return told(ids.batch(Integer.parseInt(words.get(1))));
            case "at_once":
                return atOnce(Integer.parseInt(words.get(1)), Integer.parseInt(words.get(2)));
            case "fork":
                return "none";
            case "uuid":
                StringBuilder texts = new StringBuilder("text");
                for (int i = 0; i < Integer.parseInt(words.get(2)); i++) texts.append(' ').append(ids.nextUuid(words.get(1)));
                return texts.toString();
            case "explain":
                return fields(ids.explain(Long.parseUnsignedLong(words.get(1))));
            case "make":
                return make(words.subList(1, words.size()));
            case "format":
                return "text " + VestaIds.format(Long.parseUnsignedLong(words.get(1)), words.get(2));
            case "parse":
                return told(VestaIds.parse(words.size() > 2 ? decoded(words.get(2)) : "", words.get(1)));
            case "info":
                return fields(ids.info());
            case "close":
                ids.close();
                return "ok";
            default:
                return "error no command";
        }
    }

    private static void record(String options) throws IOException {
        ids = VestaIds.open(options, 60_000);
        try (FileOutputStream out = new FileOutputStream(FileDescriptor.out)) {
            for (int chunk = 1;; chunk++) {
                StringBuilder lines = new StringBuilder();
                if (chunk % 10 == 0) for (long id : ids.batch(CHUNK)) lines.append(Long.toUnsignedString(id)).append('\n');
                else for (int i = 0; i < CHUNK; i++) lines.append(Long.toUnsignedString(ids.next())).append('\n');
                out.write(lines.toString().getBytes(StandardCharsets.US_ASCII));
            }
        }
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length == 2) record(arguments[1]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String said;
            try {
                said = answer(Arrays.asList(line.trim().split(" +")));
            } catch (VestaIds.Failure error) {
                said = failed(error);
            }
            out.print(said.replace('\n', ' ') + "\n");
            out.flush();
        }
    }
}
