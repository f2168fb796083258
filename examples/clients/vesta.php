<?php
/**
 * vesta.php -- a client of vesta servers, for 64-bit PHP 8.1 and newer, without extensions.  It needs only this file.
 *
 *     require 'vesta.php';
 *     $ids = new Vesta\Client(['10.0.0.1:8089', '10.0.0.2:8089'], 'orders');
 *     $id = $ids->next();     // "2319542600899494910"
 *     $ids->nextUuid7();      // "019b76da-a800-7000-8034-940635bd87f1"
 *
 * With credentials and TLS (which needs PHP's openssl):
 *
 *     new Vesta\Client(['rediss://shop@ids1.example:8089'], 'orders', secretFile: '/etc/shop/ids.secret', tlsCa: '/etc/shop/ca.pem');
 *
 * The client fetches blocks from the servers and computes the ids of a block by itself, so most calls need no network.
 * PHP has no threads: when a tenth of a block is used, the client sends the request for the next one, and later calls
 * read the reply without waiting.  A child process of pcntl_fork starts without blocks and connections, and fetches its own.
 *
 * Under php-fpm and mod_php an object lives as long as the request: set `size` to the number of ids that a request needs.
 * In a longer process (a queue worker, RoadRunner, Swoole, FrankenPHP's worker mode), keep one client for its lifetime.
 */
declare(strict_types=1);

namespace Vesta;

/** No id was available.  The message lists every server and its last result. */
class NoIdException extends \RuntimeException {}

/** All servers reject the request, and a retry cannot help: the name is unknown, or the password is missing or wrong. */
final class RefusedException extends NoIdException {}

/** The client was closed. */
final class ClosedException extends NoIdException {}

/** An error reply of the Redis protocol. @internal */
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

/** Unsigned 64-bit arithmetic.  PHP's integers are signed, and become floats if they overflow. @internal */
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

    /** @return ?int null if the text is not a number of at most 64 bits */
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

/** A block of ids that a server issued to this client only. @internal */
final class Block
{
    public int $used = 0;
    public int $count;
    private string $kind;
    private int $first, $last, $stride = 1, $base = 0;
    private int $seqBits, $timeShift, $seqShift, $lowBits, $lowShift;
    private string $layout;

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
        $this->layout = $values['layout'] ?? '';
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
        $length = $this->stride * ($this->count - 1); // a float if it overflows
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

    /** Returns whether no fields of an id overlap. If they overlapped, two ids could be equal. */
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

    /** Returns the next id. */
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

    /** Makes a UUID of version 7: milliseconds, the other tick bits as a counter (RFC 9562, 6.2, method 1), random bits. */
    public function takeUuid7(): string
    {
        if (!preg_match('/ unit=(\d+)(us|ms|s) epoch=([^ ]+)/', $this->layout, $found)) {
            throw new \RangeException('the ids of this name have no time: name a namespace, not a tag');
        }
        $unit = (int) $found[1] * ['us' => 1, 'ms' => 1000, 's' => 1000000][$found[2]];
        $epoch = (int) (new \DateTimeImmutable($found[3]))->format('Uv');
        $parts = intdiv($unit + 999, $unit); // units of less than a millisecond are counted too
        $width = $this->seqBits + ($parts > 1 ? strlen(decbin($parts - 1)) : 0);
        if ($epoch < 0 || $width > 42) {
            throw new \RangeException("this layout has no room for a UUID's counter, or begins before 1970: $this->layout");
        }
        $tick = Wide::add($this->first, $this->used++ * $this->stride);
        $us = Wide::right($tick, $this->seqBits) * $unit;
        $counter = intdiv($us % 1000, $unit) << $this->seqBits | $tick & (1 << $this->seqBits) - 1;
        // 12 bits follow the version, and 62 bits the variant: the counter, then random bits
        $rest = $width > 0 ? str_pad(decbin($counter), $width, '0', STR_PAD_LEFT) : '';
        foreach (str_split(random_bytes(10)) as $byte) {
            $rest .= str_pad(decbin(ord($byte)), 8, '0', STR_PAD_LEFT);
        }
        $hex = sprintf('%012x7%03x', $epoch + intdiv($us, 1000), bindec(substr($rest, 0, 12)));
        foreach (str_split('10' . substr($rest, 12, 62), 8) as $byte) {
            $hex .= sprintf('%02x', bindec($byte));
        }
        return preg_replace('/^(.{8})(.{4})(.{4})(.{4})/', '$1-$2-$3-$4-', $hex);
    }

    public function overlaps(?Block $other): bool
    {
        return $other !== null && [$other->kind, $other->base, $other->stride] === [$this->kind, $this->base, $this->stride]
            && !Wide::less($this->last, $other->first) && !Wide::less($other->last, $this->first);
    }
}

/** The server's certificate is rejected, so a retry cannot help. @internal */
final class Distrust extends \RuntimeException {}

/** The client's credentials, and how it verifies servers. @internal */
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
                $wrong("servers: $server->address: the client name has no secret. Set secretFile");
            }
        }
        $isTls = array_filter($servers, fn(Server $server) => $server->isTls) !== [];
        if (!$isTls && ($tlsCa ?? $tlsCertificate ?? $tlsKey ?? ($tlsUnverified ?: null)) !== null) {
            $wrong('a TLS option is set, but no server begins with rediss://');
        }
        if ($isTls && !extension_loaded('openssl')) {
            $wrong("servers: rediss:// needs PHP's openssl");
        }
        if ($tlsKey !== null && $tlsCertificate === null) {
            $wrong('tlsKey is given, and no tlsCertificate');
        }
    }

    /** Returns the AUTH command for a new connection.  A secret's file is read each time, so that the secret can be replaced. */
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

    /** Returns PHP's TLS options.  It reads the files for each connection, so that they can be replaced. */
    public function tls(string $host): array
    {
        return array_filter([
            'peer_name' => $host, 'verify_peer' => !$this->tlsUnverified, 'verify_peer_name' => !$this->tlsUnverified,
            'cafile' => $this->tlsCa, 'local_cert' => $this->tlsCertificate, 'local_pk' => $this->tlsKey,
            'SNI_enabled' => !filter_var($host, FILTER_VALIDATE_IP),
        ], fn(mixed $value) => $value !== null);
    }
}

/** A server: its connection, the pending request, and the end of its pause after a failure. @internal */
final class Server
{
    public const REST_NS_MIN = 100_000_000, REST_NS_MAX = 6_400_000_000;
    private const REPLY_BYTES_MAX = 65_536, TEXT_MAX = 2000;
    // redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS.  A name and a secret may contain %XX escapes.
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
    private string $beginning = ''; // the beginning of the secret
    /** @var string[] the pending request */
    private array $words = [];
    private string $unsent = '', $got = '';
    /** @var string[] queued requests, each sent after the reply to the previous request */
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
                . 'redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS, where special characters in a name or a secret are written as %XX');
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

    /** Starts a request, on a new connection after authentication.  Never waits for the server. */
    public function begin(array $words, Access $access): void
    {
        if ($this->socket && ((string) @fread($this->socket, 1) !== '' || feof($this->socket))) {
            $this->close(); // unexpected bytes arrived, or the server closed the connection
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

    /** Performs a step of the TLS handshake.  Returns false if it needs more bytes from the server. */
    private function secure(): bool
    {
        $said = ''; // the text of the warning in which PHP reports an error
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

    /** Returns the reply, or null if it has not arrived by the deadline.  Bytes that have arrived are read even after it. */
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
                        $this->close(); // retries on a new connection, because the secret may have been replaced
                        $this->begin($this->words, $access);
                        continue;
                    }
                    if ($reply[0] instanceof Said) { // Redis repeats the first arguments of an unknown command
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
            usleep(1000); // select failed, because of a signal or too many descriptors
        }
        return $ready === 1;
    }

    /** Records an error.  The connection is closed, unless the server replied that it has no ids at the moment. */
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

    /** Returns the RESP2 value at `at`, as [value, end], or null if it is incomplete. */
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

/** Issues ids of a namespace or a tag. */
final class Client
{
    private const SIZE_MAX = 100_000, SECONDS_MAX = 86_400;

    /** @var Server[] */
    private array $servers;
    private readonly Access $access;
    private ?Block $block = null, $spare = null, $before = null;
    private ?Server $asked = null; // the server with a pending request
    private int $askedAt = 0, $lookAt = 0, $pid;
    private int $ttlNs, $timeoutNs, $waitNs;
    private int $blocks = 0, $requests = 0, $drops = 0;
    private bool $isClosed = false;

    /**
     * Checks the options.  The first id connects to a server.
     *
     * @param string[] $servers "host:port", "[v6]:port" or "redis://name:secret@host:port", with TLS "rediss://..."; PHP
     *     resolves host names without a deadline
     * @param string $name the namespace or tag
     * @param int $size ids per block, 1 to 100000
     * @param float $ttl maximum age of a block in seconds, after which its unused ids are discarded
     * @param float $timeout maximum seconds of a request to a server, including the connection
     * @param float $wait maximum seconds that next() waits for a block, or 0 to never wait
     * @param ?string $user the client's name, if an address has none
     * @param ?string $password the client's secret, if an address has none
     * @param ?string $secretFile a file with the secret in its first line, instead of $password
     * @param ?string $tlsCa PEM file of the certificate authorities for rediss:// servers
     * @param ?string $tlsCertificate PEM file of the client's certificate, if servers require one
     * @param ?string $tlsKey PEM file of the certificate's key, if it is a separate file
     * @param bool $tlsUnverified do not verify servers, for tests only, because an attacker could read the secret
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
     * Returns the next id, in decimal.
     *
     * @throws NoIdException
     */
    public function next(): string
    {
        return $this->issue(false);
    }

    /**
     * Returns a UUID of version 7, made from one id of a block.
     * @throws NoIdException as next()
     * @throws \RangeException if the ids of this name have no time
     */
    public function nextUuid7(): string
    {
        return $this->issue(true);
    }

    private function issue(bool $asUuid): string
    {
        if ($this->pid !== getmypid()) {
            $this->forget();
        }
        return $this->take($asUuid) ?? $this->takeSlowly($asUuid);
    }

    private function take(bool $asUuid): ?string
    {
        while ($this->block || $this->spare) {
            $block = $this->block;
            if ($block && $block->used < $block->count && hrtime(true) < $block->askedAt + $this->ttlNs) {
                $id = $asUuid ? $block->takeUuid7() : $block->take();
                if ($block->used >= $this->lookAt) {
                    $this->lookAt = $block->used + intdiv($block->count + 99, 100); // checks every hundredth of a block, because each check costs a system call
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

    private function takeSlowly(bool $asUuid): string
    {
        $until = hrtime(true) + $this->waitNs;
        do {
            if ($this->isClosed) {
                throw new ClosedException('this client is closed');
            }
            $this->fetch($until);
            if (($id = $this->take($asUuid)) !== null) {
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

    /** Continues the pending request or starts one, and waits for the reply until the deadline. */
    private function fetch(int $until): void
    {
        try {
            if (!$this->asked && !$this->begin($until)) {
                return;
            }
            $reply = $this->asked->reply(min($until, $this->askedAt + $this->timeoutNs), $this->access);
            if ($reply === null && hrtime(true) < $this->askedAt + $this->timeoutNs) {
                return; // a later call checks again
            }
            if ($reply === null) {
                throw new \RuntimeException('timed out');
            }
            $block = new Block($reply, $this->name, $this->size, $this->askedAt);
            if ($block->overlaps($this->block) || $block->overlaps($this->before)) {
                throw new \RuntimeException('its block was given before');
            }
            [$this->asked->restNs, $this->asked->refuses, $this->spare] = [0, false, $block];
            $this->asked->said = 'replied, but its next block has not arrived yet';
            $this->blocks++;
        } catch (\RuntimeException $why) {
            $this->asked->failed($why);
        }
        $this->asked = null;
    }

    /**
     * Sends a request to the first server that is not in a pause.  If a caller waits, a server's pause is shorter.
     * Returns false if all servers are in a pause.
     */
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

    /** Resets a child process after a fork: closes its copies of the connections without sending anything. */
    private function forget(): void
    {
        $this->pid = getmypid();
        [$this->block, $this->spare, $this->before, $this->asked] = [null, null, null, null];
        foreach ($this->servers as $server) {
            $server->close();
            [$server->restNs, $server->restsUntil] = [0, 0];
        }
    }

    /** Closes the client.  The unused ids of its blocks are lost. */
    public function close(): void
    {
        $this->forget();
        $this->isClosed = true;
    }

    /**
     * Returns counts: received blocks, requests, blocks that were dropped because of their age, and errors by server.  Like
     * next(), it first reads a pending reply.
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
