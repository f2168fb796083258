# A class for ids in Ruby through libvesta, without a gem, and an example of its use.  Copy it into your program.
#
#     ruby examples/ruby/vesta.rb
#
# If libvesta is built but not installed, set LD_LIBRARY_PATH to its folder.
# All threads can use an object at the same time, because a call that waits for an id releases Ruby's lock.  Children of
# fork can use their parent's object.  Processes that open the same generator file share its worker id.
require 'fiddle'

class Vesta
  WAIT_US_MAX = 2_000_000
  ERROR_BYTES = 516 # struct vesta_error: int code, char text[512]
  PAUSE_BYTES = 32  # struct vesta_pause
  TEXT_BYTES = 512

  # Options as in vesta_open_text: "layout=vesta-milli any_worker=true".
  def initialize(options)
    @library = Fiddle.dlopen('libvesta.so.0')
    error = room(ERROR_BYTES)
    gen = room(Fiddle::SIZEOF_VOIDP)
    open = function('vesta_open_text', [Fiddle::TYPE_VOIDP] * 3)
    raise ArgumentError, error[4, TEXT_BYTES].unpack1('Z*') unless open.call(options, gen, error).zero?

    @gen = gen.ptr
    @batch_wait = function('vesta_batch_wait', [Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T,
                                                Fiddle::TYPE_LONG_LONG, Fiddle::TYPE_VOIDP])
    @pause_text = function('vesta_pause_text', [Fiddle::TYPE_VOIDP] * 3 + [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOID)
    @close = function('vesta_close', [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID)
  end

  def next = batch(1).first

  # Returns an array of count ids.
  def batch(count)
    raise ArgumentError, 'this generator is closed' unless @gen
    raise ArgumentError, "a batch has at least 1 id, not #{count}" if count < 1

    ids = room(8 * count)
    pause = room(PAUSE_BYTES)
    return ids[0, 8 * count].unpack('Q*') if @batch_wait.call(@gen, ids, count, WAIT_US_MAX, pause).zero?

    text = room(TEXT_BYTES)
    @pause_text.call(@gen, pause, text, TEXT_BYTES)
    raise text.to_s
  end

  # Closes the generator.  No other thread may be in a call.  Later calls raise an error.
  def close
    @close.call(@gen) if @gen
    @gen = nil
  end

  private

  def room(bytes) = Fiddle::Pointer.malloc(bytes, Fiddle::RUBY_FREE)

  def function(name, arguments, result = Fiddle::TYPE_INT) = Fiddle::Function.new(@library[name], arguments, result)
end

if __FILE__ == $PROGRAM_NAME
  vesta = Vesta.new('namespace=example layout=vesta-milli worker=7')
  puts "an id       #{vesta.next}"
  ids = Array.new(4) { Thread.new { Array.new(250) { vesta.next } } }.flat_map(&:value)
  puts "threads     #{ids.size} ids by 4 of them, #{ids.uniq.size} different"
  children = Array.new(3) do
    IO.popen('-') || (puts(vesta.batch(1000)) || exit)
  end
  ids = vesta.batch(1000) + children.flat_map { |pipe| pipe.read.split.map(&:to_i) }
  puts "processes   #{ids.size} ids by 4 of them, #{ids.uniq.size} different"
  begin
    Vesta.new('wroker=7')
  rescue ArgumentError => error
    puts "rejected    #{error.message}"
  end
  vesta.close
end
