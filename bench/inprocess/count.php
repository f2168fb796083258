<?php
/**
 * count.php OPTIONS SAMPLES EMPTY -- ns per id of examples/inprocess/VestaIds.php, of an empty call through FFI (the library
 * EMPTY), and of a generator in pure PHP.
 */
declare(strict_types=1);
require __DIR__ . '/../../examples/inprocess/VestaIds.php';

define('PIECE', getenv('BENCH_TINY') ? 1000 : 40_000);
const PIECES = 5;

/** Twitter's algorithm. */
final class Snowflake
{
    private int $last = 0;
    private int $sequence = 0;

    public function __construct(private readonly int $worker)
    {
    }

    public function next(): int
    {
        $now = (int)(microtime(true) * 1000);
        if ($now < $this->last) {
            throw new RuntimeException('the clock went back');
        }
        $this->sequence = $now === $this->last ? ($this->sequence + 1) & 4095 : 0;
        while ($now <= $this->last && $this->sequence === 0) {
            $now = (int)(microtime(true) * 1000);
        }
        $this->last = $now;
        return ($now - 1288834974657) << 22 | $this->worker << 12 | $this->sequence;
    }
}

function cost(callable $run): float
{
    $begun = hrtime(true);
    $run();
    return (hrtime(true) - $begun) / PIECE;
}

[, $options, $samples, $library] = $argv;
$ids = new VestaIds($options);
$ffi = FFI::cdef('uint64_t empty(const void *object);', $library);
$own = new Snowflake(7);
$object = FFI::addr($ffi->new('int'));
$runs = [
    'ours' => static function () use ($ids) {
        for ($i = 0; $i < PIECE; $i++) {
            $ids->next();
        }
    },
    'empty' => static function () use ($ffi, $object) {
        for ($i = 0; $i < PIECE; $i++) {
            $ffi->empty($object);
        }
    },
    'own' => static function () use ($own) {
        for ($i = 0; $i < PIECE; $i++) {
            $own->next();
        }
    },
];
array_map('cost', $runs);
for ($sample = 0; $sample < (int)$samples; $sample++) {
    $turns = [];
    for ($i = 0; $i < PIECES; $i++) {
        foreach ($runs as $key => $run) {
            $turns[$key][] = cost($run);
        }
    }
    echo json_encode(array_map('min', $turns)), "\n";
}
$counted = [];
for ($i = 0; $i < PIECE; $i++) {
    $counted[$ids->next()] = true;
}
echo json_encode(['ids' => PIECE, 'duplicates' => PIECE - count($counted)]), "\n";
