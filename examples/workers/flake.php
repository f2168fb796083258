<?php
/**
 * flake.php -- a snowflake generator in PHP, whose worker id comes from `vesta lease run`.  Neither Debian nor npm
 * packages a PHP library with such a generator.
 *
 *     vesta lease run --env SNOWFLAKE_NODE -- php flake.php 1000
 *
 * This is for a process that runs for a while.  Under php-fpm all processes of a pool have the same environment, so
 * they would share one worker id: use a server or the library there.
 */
declare(strict_types=1);

final class Flake
{
    private const EPOCH_MS = 1288834974657;
    private int $lastMs = -1;
    private int $sequence = 0;

    public function __construct(private int $worker)
    {
        if ($worker < 0 || $worker > 1023) throw new RangeException("worker id $worker: 0 to 1023");
    }

    public function next(): int
    {
        $now = (int) (microtime(true) * 1000);
        if ($now < $this->lastMs) throw new RuntimeException('the clock went back by ' . $this->lastMs - $now . ' ms');
        $this->sequence = $now === $this->lastMs ? ($this->sequence + 1) & 4095 : 0;
        while ($now <= $this->lastMs && $this->sequence === 0) $now = (int) (microtime(true) * 1000);
        $this->lastMs = $now;
        return ($now - self::EPOCH_MS) << 22 | $this->worker << 12 | $this->sequence;
    }
}

$worker = getenv('SNOWFLAKE_NODE');
if ($worker === false) {
    fwrite(STDERR, "flake.php: SNOWFLAKE_NODE is not set: start this program with vesta lease run --env SNOWFLAKE_NODE\n");
    exit(1);
}
$ids = new Flake((int) $worker); // one generator per process
for ($left = (int) ($argv[1] ?? 10); $left > 0; $left--) echo $ids->next(), "\n";
