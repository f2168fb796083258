<?php
/**
 * vesta.php -- ids from vesta servers, for PHP 8.1 and newer on 64 bits, without extensions; this file is all it takes.
 *
 *     require 'vesta.php';
 *     $ids = new Vesta\Client(['10.0.0.1:8089', '10.0.0.2:8089'], 'orders');
 *     $id = $ids->next();     // "2319542600899494910"
 *
 * A client takes ids a block at a time and makes them by itself, so that most calls meet no network.  It has two blocks.
 * PHP has no threads: when a tenth of the current block is used, the request for the next one is written, and later calls
 * look for its reply without waiting.  A child of pcntl_fork begins without blocks and connections, and fetches its own.
 *
 * Under php-fpm and mod_php an object ends with the request: there `size` is the number of ids that one request wants.
 * Whatever runs longer (a queue worker, RoadRunner, Swoole, FrankenPHP's worker mode) keeps one client for its lifetime.
 */
declare(strict_types=1);

namespace Vesta;

/** There is no id; the message names every server and what became of it. */
class NoIdException extends \RuntimeException {}

/** No server gives ids before a person acts: an unknown name, no password or a wrong one. */
final class RefusedException extends NoIdException {}

/** The client was closed. */
final class ClosedException extends NoIdException {}

/** A server's own word, an error of the Redis protocol. @internal */
final class Said extends \RuntimeException
{
    public function passes(): bool
    {
        return (bool) preg_match('/^(TRYAGAIN|LOADING|OOM)\b/', $this->getMessage());
    }
}

/** Unsigned 64 bits in PHP's integers, which are signed and become floats where they overflow. @internal */
final class Wide
{
    public static function add(int $a, int $b): int
    {
        $low = ($a & 0xFFFFFFFF) + ($b & 0xFFFFFFFF);
        return (self::right($a, 32) + self::right($b, 32) + ($low >> 32)) << 32 | $low & 0xFFFFFFFF;
    }

    public static function right(int $a, int $bits): int
    {
        return $bits === 0 ? $a : $a >> $bits & PHP_INT_MAX >> $bits - 1;
    }

    public static function less(int $a, int $b): bool
    {
        return ($a ^ PHP_INT_MIN) < ($b ^ PHP_INT_MIN);
    }

    /** @return ?int null: it is no number, or one of more than 64 bits */
    public static function read(string $text): ?int
    {
        if (!preg_match('/^(0|[1-9]\d{0,19})$/D', $text)) {
            return null;
        }
        $tens = (int) substr($text, 0, -1);
        $number = self::add(self::add($tens << 3, $tens << 1), (int) substr($text, -1));
        return sprintf('%u', $number) === $text ? $number : null;
    }
}

/** Ids that a server gave to this client alone. @internal */
final class Block
{
    public int $used = 0;
    public int $count;
    private string $kind;
    private int $first, $last, $stride = 1, $base = 0;
    private int $seqBits, $timeShift, $seqShift, $lowBits, $lowShift;

    public function __construct(mixed $reply, string $name, int $size, public int $askedAt)
    {
        if (!is_array($reply)) {
            throw new \RuntimeException('its reply is no block');
        }
        $values = [];
        for ($i = 0; $i + 1 < count($reply); $i += 2) {
            $values[$reply[$i]] = (string) $reply[$i + 1];
        }
        if (($values['ns'] ?? null) !== $name) {
            throw new \RuntimeException("its reply is not for '$name'");
        }
        $this->kind = $values['kind'] ?? '';
        $this->count = $this->number($values, 'count', $size);
        $this->first = $this->number($values, 'first');
        if ($this->kind === 'ticks') {
            $this->base = $this->number($values, 'base');
            foreach (['seqBits' => 'seq_bits', 'timeShift' => 'time_shift', 'seqShift' => 'seq_shift', 'lowBits' => 'low_bits',
                      'lowShift' => 'low_shift'] as $property => $key) {
                $this->$property = $this->number($values, $key, 63);
            }
        } elseif ($this->kind === 'numbers') {
            $this->stride = $this->number($values, 'stride', PHP_INT_MAX);
        } else {
            throw new \RuntimeException("its block is of kind '$this->kind': this client knows ticks and numbers");
        }
        if ($this->count < 1 || $this->stride < 1) {
            throw new \RuntimeException('its block has no ids');
        }
        $length = $this->stride * ($this->count - 1); // a float where it is too much
        $this->last = is_int($length) ? Wide::add($this->first, $length) : 0;
        if (!is_int($length) || Wide::less($this->last, $this->first) || !$this->fits()) {
            throw new \RuntimeException('its block goes past 2^64 - 1, or has bits that overlap');
        }
    }

    private function number(array $values, string $key, int $most = -1): int
    {
        $number = Wide::read($values[$key] ?? '');
        if ($number === null || Wide::less($most, $number)) {
            throw new \RuntimeException(sprintf("its %s '%s' is no number up to %u", $key, $values[$key] ?? '', $most));
        }
        return $number;
    }

    /** Whether each part of an id has its place, which is no other's: else two ids could be one. */
    private function fits(): bool
    {
        if ($this->kind === 'numbers') {
            return true;
        }
        for ($time = 0; Wide::less($time, Wide::right($this->last, $this->seqBits));) {
            $time = $time << 1 | 1;
        }
        $seen = $this->base;
        foreach ([[$time, $this->timeShift], [Wide::right((1 << $this->seqBits) - 1, $this->lowBits), $this->seqShift],
                  [(1 << $this->lowBits) - 1, $this->lowShift]] as [$mask, $shift]) {
            if (Wide::right($mask << $shift, $shift) !== $mask || ($mask << $shift & $seen) !== 0) {
                return false;
            }
            $seen |= $mask << $shift;
        }
        return $this->lowBits <= $this->seqBits;
    }

    /** The next id; it is taken before it is returned. */
    public function take(): string
    {
        $tick = Wide::add($this->first, $this->used++ * $this->stride);
        if ($this->kind === 'numbers') {
            return sprintf('%u', $tick);
        }
        $seq = $tick & (1 << $this->seqBits) - 1;
        return sprintf('%u', $this->base | Wide::right($tick, $this->seqBits) << $this->timeShift
            | $seq >> $this->lowBits << $this->seqShift | ($seq & (1 << $this->lowBits) - 1) << $this->lowShift);
    }

    public function overlaps(?Block $other): bool
    {
        return $other !== null && [$other->kind, $other->base, $other->stride] === [$this->kind, $this->base, $this->stride]
            && !Wide::less($this->last, $other->first) && !Wide::less($other->last, $this->first);
    }
}

/** One server: its connection, what is under way on it, and whether it is worth asking. @internal */
final class Server
{
    public const REST_NS_MIN = 100_000_000, REST_NS_MAX = 6_400_000_000;
    private const REPLY_BYTES_MAX = 65_536;

    public int $errors = 0, $restsUntil = 0, $restNs = 0;
    public string $said = 'not asked yet';
    public bool $refuses = false;
    /** @var ?resource */
    private $socket = null;
    private bool $isConnected = false;
    private string $unsent = '', $got = '';
    /** @var string[] requests that follow, each after the reply to the one before */
    private array $queue = [];

    public function __construct(public readonly string $address)
    {
        if (!preg_match('/^(\[[0-9A-Fa-f:.]+\]|[^:\[\]\s\/]+):(\d{1,5})$/D', $address, $parts) || $parts[2] < 1 || $parts[2] > 65535) {
            throw new \InvalidArgumentException("servers: '$address' is not HOST:PORT with a port from 1 to 65535");
        }
    }

    public function close(): void
    {
        if ($this->socket) {
            fclose($this->socket);
        }
        [$this->socket, $this->unsent, $this->got, $this->queue] = [null, '', '', []];
    }

    /** Begins a request: its words, and the password, which a new connection says first.  Never waits for the server. */
    public function begin(array $words, ?string $password): void
    {
        if ($this->socket && ((string) @fread($this->socket, 1) !== '' || feof($this->socket))) {
            $this->close(); // bytes that nobody asked for, or an end
        }
        $this->queue = [self::written($words)];
        if (!$this->socket) {
            $flags = STREAM_CLIENT_CONNECT | STREAM_CLIENT_ASYNC_CONNECT;
            $context = stream_context_create(['socket' => ['tcp_nodelay' => true]]);
            $socket = @stream_socket_client("tcp://$this->address", $number, $text, 0, $flags, $context);
            if (!$socket) {
                throw new \RuntimeException($text ?: 'cannot be connected to');
            }
            stream_set_blocking($socket, false);
            [$this->socket, $this->isConnected] = [$socket, false];
            if ($password !== null) {
                array_unshift($this->queue, self::written(['AUTH', $password]));
            }
        }
        $this->unsent = array_shift($this->queue);
    }

    /** The reply; null: it has not come by then.  A look at what is there takes no time, even where that is over. */
    public function reply(int $until): mixed
    {
        while (true) {
            if (!$this->isConnected || $this->unsent !== '') {
                if (!$this->isReady($until, false)) {
                    return null;
                }
                if (stream_socket_get_name($this->socket, true) === false) {
                    throw new \RuntimeException('cannot be connected to: refused, or no way there');
                }
                $this->isConnected = true;
                if (!$sent = (int) @fwrite($this->socket, $this->unsent)) {
                    throw new \RuntimeException('closed the connection');
                }
                $this->unsent = substr($this->unsent, $sent);
            } elseif (($chunk = (string) @fread($this->socket, self::REPLY_BYTES_MAX)) !== '') {
                $this->got .= $chunk;
                $reply = self::parse($this->got, 0);
                if ($reply ? $reply[1] !== strlen($this->got) : strlen($this->got) > self::REPLY_BYTES_MAX) {
                    throw new \RuntimeException('its reply has bytes that were not asked for');
                }
                if ($reply) {
                    [$this->got, $this->unsent] = ['', array_shift($this->queue) ?? ''];
                    if ($reply[0] instanceof Said) {
                        throw $reply[0];
                    }
                    if ($this->unsent === '') {
                        return $reply[0];
                    }
                }
            } elseif (feof($this->socket)) {
                throw new \RuntimeException('closed the connection');
            } elseif (!$this->isReady($until, true)) {
                return null;
            }
        }
    }

    private function isReady(int $until, bool $toRead): bool
    {
        $left = max(0, $until - hrtime(true));
        [$read, $write, $except] = $toRead ? [[$this->socket], null, null] : [null, [$this->socket], null];
        $ready = @stream_select($read, $write, $except, intdiv($left, 1_000_000_000), intdiv($left, 1000) % 1_000_000);
        if ($ready === false && $left > 0) {
            usleep(1000); // a signal; or more descriptors than select can have
        }
        return $ready === 1;
    }

    /** Nothing is read on its connection again, unless it said itself that it has no ids just now. */
    public function failed(\RuntimeException $why): void
    {
        $passes = !$why instanceof Said || $why->passes();
        $this->restNs = $passes ? min(max(2 * $this->restNs, self::REST_NS_MIN), self::REST_NS_MAX) : self::REST_NS_MAX;
        [$this->refuses, $this->restsUntil, $this->said] = [!$passes, hrtime(true) + $this->restNs, $why->getMessage()];
        $this->errors++;
        if (!$why instanceof Said || !$passes) {
            $this->close();
        }
    }

    private static function written(array $words): string
    {
        $bulk = fn(string $word) => '$' . strlen($word) . "\r\n$word\r\n";
        return '*' . count($words) . "\r\n" . implode('', array_map($bulk, $words));
    }

    /** The RESP2 value that begins at `at`, as [value, end]; null: not all of it has come. */
    private static function parse(string $data, int $at, bool $isInside = false): ?array
    {
        if ($at < strlen($data) && !str_contains('+-:$*', $data[$at])) {
            throw new \RuntimeException('its reply is none of the Redis protocol');
        }
        $stop = $at < strlen($data) ? strpos($data, "\r\n", $at) : false;
        if ($stop === false) {
            return null;
        }
        [$kind, $line, $end] = [$data[$at], substr($data, $at + 1, $stop - $at - 1), $stop + 2];
        if ($kind === '+') {
            return [$line, $end];
        }
        if ($kind === '-') {
            return [new Said(preg_replace('/[\x00-\x1f\x7f]/', '?', $line)), $end];
        }
        if (!preg_match('/^-?\d{1,20}$/D', $line)) {
            throw new \RuntimeException('its reply is none of the Redis protocol');
        }
        if ($kind === ':') {
            return [$line, $end];
        }
        if ($line < 0 || $line > self::REPLY_BYTES_MAX || ($isInside && $kind === '*')) {
            throw new \RuntimeException("its reply has a length of $line");
        }
        if ($kind === '$') {
            return strlen($data) < $end + $line + 2 ? null : [substr($data, $end, (int) $line), $end + $line + 2];
        }
        $values = [];
        for ($i = 0; $i < $line; $i++) {
            if (!$value = self::parse($data, $end, true)) {
                return null;
            }
            [$values[], $end] = $value;
        }
        return [$values, $end];
    }
}

/** Ids of one namespace or tag. */
final class Client
{
    private const SIZE_MAX = 100_000, SECONDS_MAX = 86_400;

    /** @var Server[] */
    private array $servers;
    private ?Block $block = null, $spare = null, $before = null;
    private ?Server $asked = null; // the one whose reply is due
    private int $askedAt = 0, $lookAt = 0, $pid;
    private int $ttlNs, $timeoutNs, $waitNs;
    private int $blocks = 0, $requests = 0, $drops = 0;
    private bool $isClosed = false;

    /**
     * Checks its options; no server is asked before the first id is wanted.
     *
     * @param string[] $servers "host:port" or "[v6]:port"; a host that is a name is looked up by PHP, without a deadline
     * @param string $name the namespace or tag
     * @param int $size ids of a block, 1 to 100000
     * @param float $ttl seconds for which a block may be used, so that no id is older
     * @param float $timeout seconds that one server has for one request, connecting included
     * @param float $wait seconds that next() may wait where there is no block; 0: it never waits
     * @throws \InvalidArgumentException
     */
    public function __construct(
        array $servers, private readonly string $name, private readonly int $size = 1000, float $ttl = 10, float $timeout = 2,
        float $wait = 5, #[\SensitiveParameter] private readonly ?string $password = null,
    ) {
        if (!$servers) {
            throw new \InvalidArgumentException('servers: at least one HOST:PORT is needed');
        }
        if (!preg_match('/^[A-Za-z0-9_.:-]{1,64}$/D', $name)) {
            throw new \InvalidArgumentException("name '$name' is not 1 to 64 of A-Z a-z 0-9 _ . : -");
        }
        if ($size < 1 || $size > self::SIZE_MAX) {
            throw new \InvalidArgumentException(sprintf('size %d is not from 1 to %d', $size, self::SIZE_MAX));
        }
        foreach (['ttl' => [$ttl, 0.001], 'timeout' => [$timeout, 0.001], 'wait' => [$wait, 0]] as $key => [$value, $least]) {
            if (!($value >= $least && $value <= self::SECONDS_MAX)) {
                throw new \InvalidArgumentException("$key $value is not from $least to " . self::SECONDS_MAX . ' seconds');
            }
            $this->{$key . 'Ns'} = (int) ($value * 1e9);
        }
        $this->servers = array_map(fn(string $address) => new Server($address), array_values($servers));
        $this->pid = getmypid();
    }

    /**
     * The next id, in decimal.
     *
     * @throws NoIdException
     */
    public function next(): string
    {
        if ($this->pid !== getmypid()) {
            $this->forget();
        }
        return $this->take() ?? $this->takeSlowly();
    }

    private function take(): ?string
    {
        while ($this->block || $this->spare) {
            $block = $this->block;
            if ($block && $block->used < $block->count && hrtime(true) < $block->askedAt + $this->ttlNs) {
                $id = $block->take();
                if ($block->used >= $this->lookAt) {
                    $this->lookAt = $block->used + intdiv($block->count + 99, 100); // not with every id: it costs a system call
                    if (!$this->spare) {
                        $this->fetch(0);
                    }
                }
                return $id;
            }
            $this->drops += (int) ($block && $block->used < $block->count);
            [$this->before, $this->block, $this->spare] = [$block ?? $this->before, $this->spare, null];
            $this->lookAt = $this->block ? intdiv($this->block->count + 9, 10) : 0;
        }
        return null;
    }

    private function takeSlowly(): string
    {
        $until = hrtime(true) + $this->waitNs;
        do {
            if ($this->isClosed) {
                throw new ClosedException('this client is closed');
            }
            $this->fetch($until);
            if (($id = $this->take()) !== null) {
                return $id;
            }
            $refused = !$this->asked && $this->isRefused();
        } while (!$refused && hrtime(true) < $until);
        $said = array_map(fn(Server $server) => "$server->address: $server->said", $this->servers);
        $text = "no id of '$this->name': " . implode('; ', $said);
        throw $refused ? new RefusedException($text) : new NoIdException($text);
    }

    private function isRefused(): bool
    {
        return array_filter($this->servers, fn(Server $server) => !$server->refuses) === [];
    }

    /** Goes on with the request that is under way, or begins one, and waits for its reply until then at most. */
    private function fetch(int $until): void
    {
        try {
            if (!$this->asked && !$this->begin($until)) {
                return;
            }
            $reply = $this->asked->reply(min($until, $this->askedAt + $this->timeoutNs));
            if ($reply === null && hrtime(true) < $this->askedAt + $this->timeoutNs) {
                return; // a later call looks again
            }
            if ($reply === null) {
                throw new \RuntimeException('timed out');
            }
            $block = new Block($reply, $this->name, $this->size, $this->askedAt);
            if ($block->overlaps($this->block) || $block->overlaps($this->before)) {
                throw new \RuntimeException('its block was given before');
            }
            [$this->asked->restNs, $this->asked->refuses, $this->spare] = [0, false, $block];
            $this->blocks++;
        } catch (\RuntimeException $why) {
            $this->asked->failed($why);
        }
        $this->asked = null;
    }

    /** Asks the first server of the list that does not rest; who waits has one asked before its time.  False: all rest. */
    private function begin(int $until): bool
    {
        $now = hrtime(true);
        $server = $this->servers[0];
        foreach ($this->servers as $other) {
            $server = max($other->restsUntil, $now) < max($server->restsUntil, $now) ? $other : $server;
        }
        if ($server->restsUntil > $now) {
            if ($until <= $now || $this->isRefused()) {
                return false;
            }
            usleep(intdiv(min($server->restsUntil, $until, $now + Server::REST_NS_MIN) - $now, 1000));
            $now = hrtime(true);
        }
        [$this->asked, $this->askedAt] = [$server, $now];
        $this->requests++;
        $server->begin(['VESTA.BLOCK', $this->name, (string) $this->size], $this->password);
        return true;
    }

    /** What a child of a fork wants: its copies of the connections are closed, and nothing is said on them. */
    private function forget(): void
    {
        $this->pid = getmypid();
        [$this->block, $this->spare, $this->before, $this->asked] = [null, null, null, null];
        foreach ($this->servers as $server) {
            $server->close();
            [$server->restNs, $server->restsUntil] = [0, 0];
        }
    }

    /** Ends it; its ids that are left are lost. */
    public function close(): void
    {
        $this->forget();
        $this->isClosed = true;
    }

    /**
     * Blocks that came, requests for one, blocks that were dropped for their age, and failures by server; looks for a
     * reply that is due, as next() does.
     *
     * @return array{blocks: int, requests: int, drops: int, errors: array<string, int>}
     */
    public function info(): array
    {
        if ($this->asked && $this->pid === getmypid()) {
            $this->fetch(0);
        }
        return ['blocks' => $this->blocks, 'requests' => $this->requests, 'drops' => $this->drops,
                'errors' => array_combine(array_column($this->servers, 'address'), array_column($this->servers, 'errors'))];
    }
}
