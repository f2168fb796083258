# count.rb OPTIONS SAMPLES EMPTY -- ns per id of examples/inprocess/vesta_ids.rb, of an empty call through Fiddle (the library
# EMPTY), and of a generator in pure Ruby.
require 'json'
require_relative '../../examples/inprocess/vesta_ids'

PIECES = 5
PIECE = ENV['BENCH_TINY'] ? 1000 : 40_000
options, samples, library = ARGV
IDS = VestaIds.open(options)
EMPTY = Fiddle::Function.new(Fiddle.dlopen(library)['empty'], [Fiddle::TYPE_VOIDP], -Fiddle::TYPE_LONG_LONG, need_gvl: true)
OBJECT = Fiddle::Pointer.new(1 << 40)

# Twitter's algorithm.
class Snowflake
  def initialize(worker)
    @lock = Mutex.new
    @worker = worker << 12
    @last = @sequence = 0
  end

  def next
    @lock.synchronize do
      now = clock
      raise 'the clock went back' if now < @last

      @sequence = now == @last ? (@sequence + 1) & 4095 : 0
      now = clock while now <= @last && @sequence.zero?
      @last = now
      (now - 1_288_834_974_657) << 22 | @worker | @sequence
    end
  end

  private

  def clock = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)
end

OWN = Snowflake.new(7)

def ours
  i = 0
  while i < PIECE
    IDS.next
    i += 1
  end
end

def bare
  i = 0
  while i < PIECE
    EMPTY.call(OBJECT)
    i += 1
  end
end

def pure
  i = 0
  while i < PIECE
    OWN.next
    i += 1
  end
end

def cost(run)
  begun = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  send(run)
  (Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - begun).fdiv(PIECE)
end

RUNS = { ours: :ours, empty: :bare, own: :pure }.freeze
RUNS.each_value { |run| cost(run) }
samples.to_i.times do
  turns = Array.new(PIECES) { RUNS.transform_values { |run| cost(run) } }
  puts RUNS.keys.to_h { |key| [key, turns.map { |turn| turn[key] }.min] }.to_json
end
counted = Array.new(PIECE) { IDS.next }
puts({ ids: PIECE, duplicates: PIECE - counted.uniq.size }.to_json)
