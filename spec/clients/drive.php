<?php
// drive.php -- runs examples/clients/vesta.php by the commands in README.
declare(strict_types=1);
require __DIR__ . '/../../examples/clients/vesta.php';

set_error_handler(fn(int $level, string $text, string $file, int $line) =>
    error_reporting() & $level ? throw new ErrorException($text, 0, $level, $file, $line) : false);

const SECONDS = ['ttl', 'timeout', 'wait'];
$client = null;

function open(string ...$pairs): string
{
    global $client;
    $client?->close();
    $given = ['servers' => '', 'name' => ''];
    foreach ($pairs as $pair) {
        [$key, $value] = explode('=', $pair, 2);
        $key = lcfirst(str_replace('_', '', ucwords($key, '_'))); // secret_file: secretFile
        $given[$key] = in_array($key, SECONDS) ? $value / 1000 : ($key === 'size' ? (int) $value : rawurldecode($value));
    }
    if (isset($given['tlsUnverified'])) {
        $given['tlsUnverified'] = $given['tlsUnverified'] === 'yes';
    }
    $given['servers'] = array_filter(explode(',', $given['servers']), 'strlen');
    try {
        $client = new Vesta\Client(...$given);
    } catch (InvalidArgumentException $error) {
        return 'error ' . $error->getMessage();
    }
    return 'ok';
}

function next_ids(string $count): string
{
    global $client;
    $said = 'ids';
    try {
        for ($i = 0; $i < $count; $i++) {
            $said .= ' ' . $client->next();
        }
    } catch (Vesta\NoIdException $error) {
        $said .= ' error ' . $error->getMessage();
    }
    return $said;
}

function forked(string $count): string
{
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $child = pcntl_fork();
    if ($child === 0) {
        fwrite($theirs, next_ids($count));
        fclose($theirs);
        posix_kill(getmypid(), SIGKILL); // because PHP's shutdown would close the parent's connections too
    }
    fclose($theirs);
    $said = stream_get_contents($ours);
    pcntl_waitpid($child, $status);
    return $said;
}

function uuids(int $count): string
{
    global $client;
    try {
        return 'uuids ' . implode(' ', array_map(fn() => $client->nextUuid7(), range(1, $count)));
    } catch (Vesta\NoIdException | RangeException $error) {
        return "error {$error->getMessage()}";
    }
}

function info(): string
{
    global $client;
    ['errors' => $errors] = $told = $client->info();
    unset($told['errors']);
    $pairs = fn(array $values, string $between) => array_map(fn($key) => "$key$between$values[$key]", array_keys($values));
    return 'info ' . implode(' ', $pairs($told, '=')) . ' errors=' . implode(',', $pairs($errors, ':'));
}

function defaults(): string
{
    $said = 'defaults';
    foreach ((new ReflectionMethod(Vesta\Client::class, '__construct'))->getParameters() as $one) {
        if (is_numeric($one->isOptional() ? $one->getDefaultValue() : null)) {
            $said .= " $one->name=" . $one->getDefaultValue() * (in_array($one->name, SECONDS) ? 1000 : 1);
        }
    }
    return $said;
}

function close(): string
{
    global $client;
    $client->close();
    return 'ok';
}

while (($line = fgets(STDIN)) !== false) {
    $words = explode(' ', rtrim($line, "\n"));
    $said = match ($word = array_shift($words)) {
        'open' => open(...$words),
        'next' => next_ids(...$words),
        'at_once' => next_ids((string) ($words[0] * $words[1])), // in turn, because PHP has no threads
        'fork' => forked(...$words),
        'uuids' => uuids((int) $words[0]),
        'info' => info(),
        'close' => close(),
        'defaults' => defaults(),
        default => "error no command $word",
    };
    fwrite(STDOUT, strtr($said, "\n", ' ') . "\n");
}
