# vesta_ids.rb -- ids in your own process, through libvesta and Fiddle, without a gem.  Copy this file and require it.
#
#     ids = VestaIds.open('namespace=orders any_worker=true')
#     ids.next                            # an Integer
#     ids.batch(500)                      # an Array of them
#     ids.next_uuid                       # a String
#     ids.explain(ids.next)['time']
#
# If libvesta is built but not installed, set LD_LIBRARY_PATH to its folder.  docs/languages.md has the rest.
require 'fiddle'

# An open generator.  All threads may use it at the same time, and children of a fork may, too.
class VestaIds
  # code: the name of an error of vesta.h, such as "bad_option".
  class Error < StandardError
    attr_reader :code

    def initialize(code, text)
      super(text)
      @code = code
    end
  end

  # No id is available now.  reason: for example "clock_back".  wait_ms: when to try again, -1 if waiting will not help.
  class Pause < Error
    attr_reader :reason, :wait_ms

    def initialize(text, reason, wait_ms)
      super('pause', text)
      @reason = reason
      @wait_ms = wait_ms
    end
  end

  BATCH_MAX = 10_000
  ANSWER_MAX = 4096
  TEXT_MAX = 91 # as in vesta_uuid.h
  LIBRARY = begin
    Fiddle.dlopen('libvesta.so.0')
  rescue Fiddle::DLError => e
    raise LoadError, "#{e.message}: install libvesta0, or set LD_LIBRARY_PATH to the folder of libvesta.so.0"
  end

  ID = -Fiddle::TYPE_LONG_LONG # unsigned
  INT = Fiddle::TYPE_LONG_LONG
  BYTES = Fiddle::TYPE_VOIDP

  # need_gvl: the call keeps Ruby's lock, which is faster.  Only a call that never blocks may keep it.
  def self.function(name, result, *arguments, need_gvl: false)
    Fiddle::Function.new(LIBRARY["vesta_plain_#{name}"], arguments, result, need_gvl: need_gvl)
  end

  OPEN = function('open', ID, BYTES, BYTES)
  CLOSE = function('close', Fiddle::TYPE_VOID, ID)
  NEXT = function('next', ID, ID, need_gvl: true)
  NEXT_WAIT = function('next_wait', ID, ID, INT, BYTES)
  BATCH = function('batch', Fiddle::TYPE_INT, ID, BYTES, INT, INT, BYTES)
  NEXT_UUID = function('next_uuid', Fiddle::TYPE_INT, ID, BYTES, BYTES, INT, BYTES)
  EXPLAIN = function('explain', Fiddle::TYPE_INT, ID, ID, BYTES)
  MAKE = function('make', Fiddle::TYPE_INT, ID, BYTES, BYTES)
  INFO = function('info', Fiddle::TYPE_INT, ID, BYTES)
  FORMAT = function('format', Fiddle::TYPE_INT, BYTES, ID, BYTES)
  PARSE = function('parse', Fiddle::TYPE_INT, BYTES, BYTES, ID, BYTES)

  class << self
    alias open new

    # Returns an id as text.  base: decimal, hex, base32 or base62.
    def format(id, base = 'decimal') = answer(FORMAT, base, checked(id))['text']

    def parse(text, base = 'decimal') = answer(PARSE, base, text, text.bytesize)['id'].to_i

    # Calls a function, and returns the lines of its answer as a Hash.
    def answer(function, *arguments)
      told = "\0" * ANSWER_MAX
      raise failure(told) unless function.call(*arguments, told).zero?

      lines(told)
    end

    def failure(told)
      told = lines(told)
      return Pause.new(told['text'], told['reason'], told['wait_ms'].to_i) if told['code'] == 'pause'

      Error.new(told['code'], told['text'])
    end

    def checked(id)
      return id if id.between?(0, 2**64 - 1)

      raise Error.new('bad_id', "#{id} is not an id, which has 64 bits")
    end

    private

    def lines(told)
      told.unpack1('Z*').force_encoding('UTF-8').each_line(chomp: true).to_h { |line| line.split('=', 2) }
    end
  end

  # wait_ms: how long next and batch may wait for an id.
  def initialize(options, wait_ms: 2000)
    told = "\0" * ANSWER_MAX
    @wait_ms = wait_ms
    @handle = OPEN.call(options, told)
    raise VestaIds.failure(told) if @handle.zero?
  end

  def next
    id = NEXT.call(@handle)
    id.zero? ? waited : id
  end

  # Returns an Array of n ids.
  def batch(count)
    ids = "\0" * (8 * count.clamp(0, BATCH_MAX))
    VestaIds.answer(BATCH, @handle, ids, count, @wait_ms)
    ids.unpack('Q*')
  end

  # Returns a UUID as text.  shape: uuid7, uuid8, ulid or hex32.
  def next_uuid(shape = 'uuid7')
    text = "\0" * TEXT_MAX
    VestaIds.answer(NEXT_UUID, @handle, shape, text, @wait_ms)
    text.unpack1('Z*').force_encoding('UTF-8')
  end

  # Returns the fields of an id and its time as unix_ms, a Hash of Integers.
  def explain(id) = VestaIds.answer(EXPLAIN, @handle, VestaIds.checked(id)).transform_values(&:to_i)

  # Makes an id by hand: make(time: 5, seq: 1, worker: 3).  A generator may issue the same id.
  def make(**fields)
    VestaIds.answer(MAKE, @handle, fields.map { |name, value| "#{name}=#{value}" }.join(' '))['id'].to_i
  end

  # Returns the generator's state, a Hash of Strings.
  def info = VestaIds.answer(INFO, @handle)

  # Closes the generator.  Close it only if no other thread uses it.  Later calls raise an Error with the code "closed".
  def close
    handle = @handle
    @handle = 0
    CLOSE.call(handle)
  end

  private

  def waited
    told = "\0" * ANSWER_MAX
    id = NEXT_WAIT.call(@handle, @wait_ms, told)
    id.zero? ? raise(VestaIds.failure(told)) : id
  end
end
