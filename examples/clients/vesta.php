<?php
/**
 * vesta.php -- ids from vesta servers, for PHP 8.1 and newer on 64 bits, without extensions; this file is all it takes.
 *
 *     require 'vesta.php';
 *     $ids = new Vesta\Client(['10.0.0.1:8089', '10.0.0.2:8089'], 'orders');
 *     $id = $ids->next();     // "2319542600899494910"
 *
 * With a client's name, its secret and TLS (which needs PHP's openssl):
 *
 *     new Vesta\Client(['rediss://shop@ids1.example:8089'], 'orders', secretFile: '/etc/shop/ids.secret', tlsCa: '/etc/shop/ca.pem');
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

    public function mayBeOfOldSecret(): bool
    {
        return (bool) preg_match('/^(NOAUTH|NOPERM)\b/', $this->getMessage());
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

/** A certificate that is not accepted: asking again does not help. @internal */
final class Distrust extends \RuntimeException {}

/** Who the client is, and whom it trusts. @internal */
final class Access
{
    private const SECRET_BYTES_MAX = 511;

    /** @param Server[] $servers */
    public function __construct(
        array $servers, private readonly ?string $user, #[\SensitiveParameter] private readonly ?string $password,
        private readonly ?string $secretFile, private readonly ?string $tlsCa, private readonly ?string $tlsCertificate,
        private readonly ?string $tlsKey, private readonly bool $tlsUnverified,
    ) {
        $wrong = fn(string $text) => throw new \InvalidArgumentException($text);
        if ($password !== null && $secretFile !== null) {
            $wrong('password and secretFile cannot be combined');
        }
        foreach ($servers as $server) {
            if (($server->user ?? $user) !== null && ($server->secret ?? $password ?? $secretFile) === null) {
                $wrong("servers: $server->address: a name without a secret: give secretFile");
            }
        }
        $isTls = array_filter($servers, fn(Server $server) => $server->isTls) !== [];
        if (!$isTls && ($tlsCa ?? $tlsCertificate ?? $tlsKey ?? ($tlsUnverified ?: null)) !== null) {
            $wrong('an option of TLS is given, and no server begins with rediss://');
        }
        if ($isTls && !extension_loaded('openssl')) {
            $wrong("servers: rediss:// needs PHP's openssl");
        }
        if ($tlsKey !== null && $tlsCertificate === null) {
            $wrong('tlsKey is given, and no tlsCertificate');
        }
    }

    /** What a new connection says first; a secret's file is read each time, so that the secret may be exchanged. */
    public function greeting(Server $server): ?array
    {
        $secret = $server->secret ?? $this->password;
        if ($secret === null && $this->secretFile !== null) {
            $text = @file_get_contents($this->secretFile, false, null, 0, self::SECRET_BYTES_MAX + 6);
            $secret = rtrim(explode("\n", preg_replace('/^\xEF\xBB\xBF/', '', (string) $text), 2)[0], "\r");
            if ($secret === '' || strlen($secret) > self::SECRET_BYTES_MAX) {
                throw new \RuntimeException("secretFile $this->secretFile: " . ($text === false ? 'it cannot be read'
                    : 'its first line is not a secret of 1 to ' . self::SECRET_BYTES_MAX . ' bytes'));
            }
        }
        $user = $server->user ?? $this->user;
        return $secret === null ? null : ($user === null ? ['AUTH', $secret] : ['AUTH', $user, $secret]);
    }

    /** PHP's options of TLS, made for each connection, so that the files may be exchanged. */
    public function tls(string $host): array
    {
        return array_filter([
            'peer_name' => $host, 'verify_peer' => !$this->tlsUnverified, 'verify_peer_name' => !$this->tlsUnverified,
            'cafile' => $this->tlsCa, 'local_cert' => $this->tlsCertificate, 'local_pk' => $this->tlsKey,
            'SNI_enabled' => !filter_var($host, FILTER_VALIDATE_IP),
        ], fn(mixed $value) => $value !== null);
    }
}

/** One server: its connection, what is under way on it, and whether it is worth asking. @internal */
final class Server
{
    public const REST_NS_MIN = 100_000_000, REST_NS_MAX = 6_400_000_000;
    private const REPLY_BYTES_MAX = 65_536, TEXT_MAX = 2000;
    // redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS; of a name and a secret all but %XX stands for itself
    private const PART = '(?:[!"$&-.0-9;->A-Z\\\\^-~]|%[0-9A-Fa-f]{2})';
    private const FORM = '#^(?:(?<scheme>rediss?)://(?:(?<user>' . self::PART . '*)(?::(?<secret>(?:' . self::PART . '|:)+))?@)?)?'
        . '(?<host>\[[0-9A-Fa-f:.]+\]|[^][\s:/@]+):(?<port>\d{1,5})(?<path>/0?)?$#D';

    public readonly string $address, $host;
    public readonly ?string $user, $secret;
    public readonly bool $isTls;
    public int $errors = 0, $restsUntil = 0, $restNs = 0;
    public string $said = 'not asked yet';
    public bool $refuses = false;
    /** @var ?resource */
    private $socket = null;
    private bool $isConnected = false, $isSecured = false, $isOld = false;
    private string $beginning = ''; // of the secret
    /** @var string[] of the request that is under way */
    private array $words = [];
    private string $unsent = '', $got = '';
    /** @var string[] requests that follow, each after the reply to the one before */
    private array $queue = [];

    public function __construct(#[\SensitiveParameter] string $text, int $number)
    {
        preg_match(self::FORM, strlen($text) > self::TEXT_MAX ? '' : $text, $part, PREG_UNMATCHED_AS_NULL);
        $part += ['scheme' => null, 'user' => null, 'secret' => null, 'host' => '', 'port' => 0, 'path' => null];
        [$user, $secret] = array_map(rawurldecode(...), [$part['user'] ?? '', $part['secret'] ?? '']);
        $isNobody = $part['user'] === '' && $secret === '';
        $isLine = preg_match('/^[^\x00-\x1f\x7f]*$/Du', $user . $secret);
        if ($part['port'] < 1 || $part['port'] > 65535 || $isNobody || !$isLine || ($part['path'] !== null && $part['scheme'] === null)) {
            $shown = preg_match('~@|://~', $text) ? "$number, which is not shown because it may have a secret," : "'$text'";
            throw new \InvalidArgumentException("servers: $shown is neither HOST:PORT of the Redis protocol, with a port from 1 to 65535, nor "
                . 'redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS, where what is special in a name or a secret is written as %XX');
        }
        [$this->user, $this->secret] = [$user === '' ? null : $user, $secret === '' ? null : $secret];
        [$this->address, $this->host] = ["$part[host]:$part[port]", trim($part['host'], '[]')];
        $this->isTls = $part['scheme'] === 'rediss';
    }

    public function close(): void
    {
        if ($this->socket) {
            fclose($this->socket);
        }
        [$this->socket, $this->unsent, $this->got, $this->queue] = [null, '', '', []];
    }

    /** Begins a request: its words, after what a new connection says first.  Never waits for the server. */
    public function begin(array $words, Access $access): void
    {
        if ($this->socket && ((string) @fread($this->socket, 1) !== '' || feof($this->socket))) {
            $this->close(); // bytes that nobody asked for, or an end
        }
        $this->words = $words;
        $this->isOld = $this->socket !== null;
        $this->queue = [self::written($words)];
        if (!$this->socket) {
            $this->connect($access);
        }
        $this->unsent = array_shift($this->queue);
    }

    private function connect(Access $access): void
    {
        $greeting = $access->greeting($this);
        $flags = STREAM_CLIENT_CONNECT | STREAM_CLIENT_ASYNC_CONNECT;
        $context = stream_context_create(['socket' => ['tcp_nodelay' => true], 'ssl' => $this->isTls ? $access->tls($this->host) : []]);
        $socket = @stream_socket_client("tcp://$this->address", $number, $text, 0, $flags, $context);
        if (!$socket) {
            throw new \RuntimeException($text ?: 'cannot be connected to');
        }
        stream_set_blocking($socket, false);
        [$this->socket, $this->isConnected, $this->isSecured] = [$socket, false, !$this->isTls];
        if ($greeting !== null) {
            array_unshift($this->queue, self::written($greeting));
            $this->beginning = substr(end($greeting), 0, 8);
        }
    }

    /** A step of the handshake.  False: it goes on when the server has said more. */
    private function secure(): bool
    {
        $said = ''; // PHP has what is wrong in a warning
        set_error_handler(function (int $level, string $text) use (&$said): bool {
            $said = preg_replace('/^stream_socket_enable_crypto\(\): |\s+/', ' ', $text);
            return true;
        });
        try {
            $methods = STREAM_CRYPTO_METHOD_TLSv1_2_CLIENT | STREAM_CRYPTO_METHOD_TLSv1_3_CLIENT;
            $went = stream_socket_enable_crypto($this->socket, true, $methods);
        } finally {
            restore_error_handler();
        }
        if (preg_match('/certificate verify failed|Peer certificate|peer certificate/', $said)) {
            throw new Distrust('its certificate is not accepted:' . $said);
        }
        if ($went === false) {
            throw new \RuntimeException('no TLS:' . ($said ?: ' closed the connection'));
        }
        $this->isSecured = $went === true;
        return $this->isSecured;
    }

    /** The reply; null: it has not come by then.  A look at what is there takes no time, even where that is over. */
    public function reply(int $until, Access $access): mixed
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
                if (!$this->isSecured) {
                    if (!$this->secure() && !$this->isReady($until, true)) {
                        return null;
                    }
                    continue;
                }
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
                    if ($reply[0] instanceof Said && $this->isOld && $reply[0]->mayBeOfOldSecret()) {
                        $this->close(); // its secret is valid no longer: there may be another by now
                        $this->begin($this->words, $access);
                        continue;
                    }
                    if ($reply[0] instanceof Said) { // Redis repeats the first arguments of a command that it does not know
                        throw $this->unsent !== '' && str_contains($reply[0]->getMessage(), $this->beginning)
                            ? new Said('its reply to AUTH is not shown, because it repeats the secret') : $reply[0];
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
        $passes = $why instanceof Said ? $why->passes() : !$why instanceof Distrust;
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
        if (substr($data, $at, 5) === 'HTTP/') {
            throw new \RuntimeException('it answers HTTP: name its port of the Redis protocol');
        }
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
    private readonly Access $access;
    private ?Block $block = null, $spare = null, $before = null;
    private ?Server $asked = null; // the one whose reply is due
    private int $askedAt = 0, $lookAt = 0, $pid;
    private int $ttlNs, $timeoutNs, $waitNs;
    private int $blocks = 0, $requests = 0, $drops = 0;
    private bool $isClosed = false;

    /**
     * Checks its options; no server is asked before the first id is wanted.
     *
     * @param string[] $servers "host:port", "[v6]:port" or "redis://name:secret@host:port", with TLS "rediss://..."; a host that
     *     is a name is looked up by PHP, without a deadline
     * @param string $name the namespace or tag
     * @param int $size ids of a block, 1 to 100000
     * @param float $ttl seconds for which a block may be used, so that no id is older
     * @param float $timeout seconds that one server has for one request, connecting included
     * @param float $wait seconds that next() may wait where there is no block; 0: it never waits
     * @param ?string $user the client's name, where a server's address has none, as what follows
     * @param ?string $password its secret
     * @param ?string $secretFile or a file with that in its first line
     * @param ?string $tlsCa PEM file of the authorities by which servers of rediss:// are known
     * @param ?string $tlsCertificate PEM file of the client's own certificate, where servers want one
     * @param ?string $tlsKey its key, if that is in another file
     * @param bool $tlsUnverified whoever answers is taken for the server, and may read the secret: for trying out
     * @throws \InvalidArgumentException
     */
    public function __construct(
        array $servers, private readonly string $name, private readonly int $size = 1000, float $ttl = 10, float $timeout = 2,
        float $wait = 5, #[\SensitiveParameter] ?string $password = null, ?string $user = null, ?string $secretFile = null,
        ?string $tlsCa = null, ?string $tlsCertificate = null, ?string $tlsKey = null, bool $tlsUnverified = false,
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
        $servers = array_values($servers);
        $this->servers = array_map(fn(int $i) => new Server($servers[$i], $i + 1), array_keys($servers));
        $this->access = new Access($this->servers, $user, $password, $secretFile, $tlsCa, $tlsCertificate, $tlsKey, $tlsUnverified);
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
            $reply = $this->asked->reply(min($until, $this->askedAt + $this->timeoutNs), $this->access);
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
            $this->asked->said = 'answered, but its next block has not come yet';
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
        $server->begin(['VESTA.BLOCK', $this->name, (string) $this->size], $this->access);
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
