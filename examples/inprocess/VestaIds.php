<?php
/**
 * VestaIds.php -- ids in your own process, through libvesta and PHP's FFI.  Copy this file and require it.
 *
 *     $ids = new VestaIds('namespace=orders any_worker=true');
 *     $ids->next();                          // an int
 *     $ids->batch(500);                      // a list of them
 *     $ids->nextUuid();                      // a string
 *     $ids->explain($ids->next())['time'];
 *
 * PHP has no unsigned integers.  An id up to 2^63 - 1 is an int, and a larger one is a decimal string.
 * Web servers permit FFI only in preloaded files: docs/languages.md has the lines for php.ini.
 * If libvesta is built but not installed, set LD_LIBRARY_PATH to its folder.
 */
declare(strict_types=1);

class VestaError extends RuntimeException
{
    /** @param string $name the name of an error of vesta.h, such as "bad_option" */
    public function __construct(public readonly string $name, string $text)
    {
        parent::__construct($text);
    }
}

/** No id is available now. */
final class VestaPause extends VestaError
{
    /** @param int $waitMs when to try again, -1 if waiting will not help */
    public function __construct(string $text, public readonly string $reason, public readonly int $waitMs)
    {
        parent::__construct('pause', $text);
    }
}

final class VestaIds
{
    private const LIBRARY = 'libvesta.so.0';
    private const ANSWER_MAX = 4096;
    private const TEXT_MAX = 91; // as in vesta_uuid.h
    private const BATCH_MAX = 10_000;
    private const DECLARATIONS = <<<'C'
        uint64_t vesta_plain_open(const char *options, char *answer);
        void vesta_plain_close(uint64_t handle);
        uint64_t vesta_plain_next(uint64_t handle);
        uint64_t vesta_plain_next_wait(uint64_t handle, int64_t wait_ms_max, char *answer);
        int vesta_plain_batch(uint64_t handle, uint64_t *ids, int64_t n, int64_t wait_ms_max, char *answer);
        int vesta_plain_next_uuid(uint64_t handle, const char *shape, char *text, int64_t wait_ms_max, char *answer);
        int vesta_plain_explain(uint64_t handle, uint64_t id, char *answer);
        int vesta_plain_make(uint64_t handle, const char *fields, char *answer);
        int vesta_plain_info(uint64_t handle, char *answer);
        int vesta_plain_format(const char *base, uint64_t id, char *answer);
        int vesta_plain_parse(const char *base, const char *text, uint64_t length, char *answer);
        uint64_t strtoull(const char *text, char **end, int base);
        C;
    private static ?FFI $ffi = null;
    private $take; // vesta_plain_next. Calling a function pointer is faster than calling $ffi->vesta_plain_next
    private $handle = 0;

    /** @param int $waitMs how long next and batch may wait for an id */
    public function __construct(string $options, private readonly int $waitMs = 2000)
    {
        $answer = self::library()->new('char[' . self::ANSWER_MAX . ']');
        $this->handle = self::$ffi->vesta_plain_open($options, $answer);
        if ($this->handle === 0) {
            throw self::failure($answer);
        }
        $this->take = self::$ffi->vesta_plain_next;
    }

    /** @return int|string an id */
    public function next()
    {
        $id = ($this->take)($this->handle);
        return $id > 0 ? $id : $this->other($id);
    }

    /** @return list<int|string> $n ids */
    public function batch(int $n): array
    {
        $ids = self::$ffi->new('uint64_t[' . max(1, min($n, self::BATCH_MAX)) . ']');
        self::answer('batch', $this->handle, $ids, $n, $this->waitMs);
        $all = [];
        foreach ($ids as $id) {
            $all[] = $id >= 0 ? $id : sprintf('%u', $id);
        }
        return $all;
    }

    /** Returns a UUID as text.  $shape: uuid7, uuid8, ulid or hex32. */
    public function nextUuid(string $shape = 'uuid7'): string
    {
        $text = self::$ffi->new('char[' . self::TEXT_MAX . ']');
        self::answer('next_uuid', $this->handle, $shape, $text, $this->waitMs);
        return FFI::string($text);
    }

    /** @return array<string, int> the fields of an id, and its time as unix_ms */
    public function explain(int|string $id): array
    {
        return array_map('intval', self::answer('explain', $this->handle, self::bits($id)));
    }

    /**
     * Makes an id by hand: make(['time' => 5, 'seq' => 1, 'worker' => 3]).  A generator may issue the same id.
     * @param array<string, int> $fields
     */
    public function make(array $fields): int|string
    {
        $text = implode(' ', array_map(fn($name) => "$name=$fields[$name]", array_keys($fields)));
        return self::number(self::answer('make', $this->handle, $text)['id']);
    }

    /** @return array<string, string> the generator's state */
    public function info(): array
    {
        return self::answer('info', $this->handle);
    }

    /** Closes the generator.  Later calls throw a VestaError with the name "closed". */
    public function close(): void
    {
        [$handle, $this->handle] = [$this->handle, 0];
        if ($handle !== 0) {
            self::$ffi->vesta_plain_close($handle);
        }
    }

    public function __destruct()
    {
        $this->close();
    }

    /** Returns an id as text.  $base: decimal, hex, base32 or base62. */
    public static function format(int|string $id, string $base = 'decimal'): string
    {
        return self::answer('format', $base, self::bits($id))['text'];
    }

    public static function parse(string $text, string $base = 'decimal'): int|string
    {
        return self::number(self::answer('parse', $base, $text, strlen($text))['id']);
    }

    /** Returns an id above 2^63 - 1 as a string, or waits for an id if there was none. */
    private function other(int $id): int|string
    {
        if ($id === 0) {
            $answer = self::$ffi->new('char[' . self::ANSWER_MAX . ']');
            $id = self::$ffi->vesta_plain_next_wait($this->handle, $this->waitMs, $answer);
        }
        return $id > 0 ? $id : ($id < 0 ? sprintf('%u', $id) : throw self::failure($answer));
    }

    private static function library(): FFI
    {
        try {
            return self::$ffi ??= FFI::cdef(self::DECLARATIONS, self::LIBRARY);
        } catch (FFI\Exception $error) {
            throw new VestaError('io', "libvesta is not loaded: {$error->getMessage()}. Install libvesta0, or set LD_LIBRARY_PATH "
                . 'to the folder of ' . self::LIBRARY . '. In a web server, preload this file (opcache.preload)');
        }
    }

    private static function answer(string $function, mixed ...$arguments): array
    {
        $answer = self::library()->new('char[' . self::ANSWER_MAX . ']');
        if (self::$ffi->{"vesta_plain_$function"}(...$arguments, ...[$answer]) !== 0) {
            throw self::failure($answer);
        }
        return self::lines($answer);
    }

    private static function lines(FFI\CData $answer): array
    {
        $told = [];
        foreach (explode("\n", FFI::string($answer), -1) as $line) {
            [$name, $told[$name]] = explode('=', $line, 2);
        }
        return $told;
    }

    private static function failure(FFI\CData $answer): VestaError
    {
        $told = self::lines($answer);
        return $told['code'] === 'pause' ? new VestaPause($told['text'], $told['reason'], (int)$told['wait_ms'])
            : new VestaError($told['code'], $told['text']);
    }

    /** Returns a decimal as an int if it fits, and otherwise unchanged. */
    private static function number(string $decimal): int|string
    {
        return (string)(int)$decimal === $decimal ? (int)$decimal : $decimal;
    }

    /** Returns an id as the 64 bits that FFI passes: an int, negative for an id above 2^63 - 1. */
    private static function bits(int|string $id): int
    {
        if (is_int($id) && $id >= 0) {
            return $id;
        }
        self::parse((string)$id); // rejects other text
        return self::$ffi->strtoull((string)$id, null, 10);
    }
}
