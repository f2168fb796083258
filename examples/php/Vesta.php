<?php
/**
 * Vesta.php -- a class for ids in PHP through libvesta.  Copy it into your program.  ids.php is an example of its use.
 *
 * It needs PHP's FFI and vesta_ffi.h, which is installed next to vesta.h (Debian: libvesta-dev).  Web servers permit FFI
 * only in preloaded files: docs/languages.md has the lines for php.ini.  If libvesta is built but not installed, set
 * LD_LIBRARY_PATH to its folder.  Processes that open the same namespace, for example the workers of php-fpm, share its
 * ids.  Children of pcntl_fork can use their parent's object.
 */
declare(strict_types=1);

final class Vesta
{
    private const WAIT_US_MAX = 2_000_000;
    private FFI $ffi;
    private ?FFI\CData $gen;

    /**
     * @param string $options as in vesta_open_text: "layout=vesta-milli any_worker=true"
     * @param ?string $header the path of vesta_ffi.h, or null if it was preloaded
     */
    public function __construct(string $options, ?string $header = null)
    {
        try {
            $this->ffi = $header === null ? FFI::scope('vesta') : FFI::load($header);
        } catch (FFI\Exception $error) {
            $remedy = $header === null ? 'preload vesta_ffi.h (ffi.preload), or pass its path as the second argument'
                : 'install libvesta0 and libvesta-dev, or set LD_LIBRARY_PATH to the folder of libvesta.so.0';
            throw new RuntimeException("libvesta is not loaded: {$error->getMessage()}: $remedy", 0, $error);
        }
        $this->gen = $this->ffi->new('struct vesta_gen *');
        $error = $this->ffi->new('struct vesta_error');
        if ($this->ffi->vesta_open_text($options, FFI::addr($this->gen), FFI::addr($error)) !== 0) {
            throw new InvalidArgumentException(FFI::string($error->text));
        }
    }

    /** Returns an id, in decimal. */
    public function next(): string
    {
        return $this->batch(1)[0];
    }

    /** @return list<string> $count ids */
    public function batch(int $count): array
    {
        if ($count < 1) {
            throw new InvalidArgumentException("a batch has at least 1 id, not $count");
        }
        $ids = $this->ffi->new("uint64_t[$count]");
        $pause = $this->ffi->new('struct vesta_pause');
        $wait = self::WAIT_US_MAX;
        if ($this->ffi->vesta_batch_wait($this->gen, $ids, $count, $wait, FFI::addr($pause)) !== 0) {
            $text = $this->ffi->new('char[512]');
            $this->ffi->vesta_pause_text($this->gen, FFI::addr($pause), $text, 512);
            throw new RuntimeException(FFI::string($text));
        }
        $texts = [];
        foreach ($ids as $id) {
            $texts[] = sprintf('%u', $id); // PHP's integers are signed
        }
        return $texts;
    }

    public function __destruct()
    {
        if (isset($this->gen)) {
            $this->ffi->vesta_close($this->gen);
        }
    }
}
