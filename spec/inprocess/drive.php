<?php
// drive.php -- runs examples/inprocess/VestaIds.php by the commands in README.
declare(strict_types=1);
require __DIR__ . '/../../examples/inprocess/VestaIds.php';

set_error_handler(fn(int $level, string $text, string $file, int $line) => throw new ErrorException($text, 0, $level, $file, $line));

const CHUNK = 190; // lines of 21 bytes fit into a write that a pipe keeps whole
const FORK_EVERY = 200;
$ids = null;

function failed(VestaError $error): string
{
    $code = $error instanceof VestaPause ? "pause $error->reason $error->waitMs" : $error->name;
    return "error $code {$error->getMessage()}";
}

function told(array $numbers): string
{
    return 'ids ' . implode(' ', $numbers);
}

function fields(array $told): string
{
    return 'fields ' . implode(' ', array_map(fn($name) => $name . '=' . rawurlencode((string)$told[$name]), array_keys($told)));
}

/** Returns ids until the first error, and that error. */
function take(int $count): string
{
    global $ids;
    $numbers = [];
    try {
        for ($i = 0; $i < $count; $i++) {
            $numbers[] = $ids->next();
        }
    } catch (VestaError $error) {
        return told($numbers) . ' ' . failed($error);
    }
    return told($numbers);
}

function forked(int $count): string
{
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $child = pcntl_fork();
    if ($child === 0) {
        fwrite($theirs, take($count));
        exit; // destroys the child's object
    }
    fclose($theirs);
    $said = stream_get_contents($ours);
    pcntl_waitpid($child, $status);
    return $said;
}

/** Returns a decimal as an int if it fits. */
function number(string $text): int|string
{
    return (string)(int)$text === $text ? (int)$text : $text;
}

function answer(string $word, array $given): string
{
    global $ids;
    switch ($word) {
        case 'open':
            $opened = new VestaIds(rawurldecode($given[1] ?? ''), (int)$given[0]);
            $ids?->close();
            $ids = $opened;
            return 'ok';
        case 'next':
            return take((int)$given[0]);
        case 'batch':
            return told($ids->batch((int)$given[0]));
        case 'at_once':
            return take($given[0] * $given[1]);
        case 'fork':
            return forked((int)$given[0]);
        case 'uuid':
            return 'text ' . implode(' ', array_map(fn() => $ids->nextUuid($given[0]), range(1, (int)$given[1])));
        case 'explain':
            return fields($ids->explain(number($given[0])));
        case 'make':
            return told([$ids->make(array_column(array_map(fn($pair) => explode('=', $pair), $given), 1, 0))]);
        case 'format':
            return 'text ' . VestaIds::format(number($given[0]), $given[1]);
        case 'parse':
            return told([VestaIds::parse(rawurldecode($given[1] ?? ''), $given[0])]);
        case 'info':
            return fields($ids->info());
        case 'close':
            $ids->close();
            return 'ok';
    }
    return 'error no command';
}

function serve(): void
{
    while (($line = fgets(STDIN)) !== false) {
        $given = preg_split('/ +/', trim($line));
        try {
            $said = answer(array_shift($given), $given);
        } catch (VestaError $error) {
            $said = failed($error);
        }
        echo strtr($said, "\n", ' '), "\n";
    }
}

function write(array $numbers): void
{
    fwrite(STDOUT, implode("\n", $numbers) . "\n");
}

function some(VestaIds $ids): array
{
    for ($i = 0; $i < CHUNK; $i++) {
        $numbers[] = $ids->next();
    }
    return $numbers;
}

function record(string $options): never
{
    $ids = new VestaIds($options, 60_000);
    for ($chunk = 1;; $chunk++) {
        write($chunk % 10 === 0 ? $ids->batch(CHUNK) : some($ids));
        if ($chunk % FORK_EVERY === 0) {
            $child = pcntl_fork();
            if ($child === 0) {
                write(some($ids));
                exit;
            }
            pcntl_waitpid($child, $status);
        }
    }
}

($argv[1] ?? '') === 'record' ? record($argv[2]) : serve();
