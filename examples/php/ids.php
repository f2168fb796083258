<?php
/** ids.php -- prints ids: php examples/php/ids.php [vesta_ffi.h] */
declare(strict_types=1);
require __DIR__ . '/Vesta.php';

$header = $argv[1] ?? '/usr/include/vesta_ffi.h';
$vesta = new Vesta('namespace=example layout=vesta-milli worker=7', $header);
printf("an id       %s\n", $vesta->next());

// Three children and their parent use the same object.
$children = [];
for ($i = 0; $i < 3; $i++) {
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    if (pcntl_fork() === 0) {
        fwrite($theirs, implode("\n", $vesta->batch(1000)));
        exit;
    }
    fclose($theirs);
    $children[] = $ours;
}
$ids = $vesta->batch(1000);
foreach ($children as $child) {
    $ids = [...$ids, ...explode("\n", stream_get_contents($child))];
}
printf("processes   %d ids by 4 of them, %d different\n", count($ids), count(array_unique($ids)));

try {
    new Vesta('wroker=7', $header);
} catch (InvalidArgumentException $error) {
    printf("rejected    %s\n", $error->getMessage());
}
