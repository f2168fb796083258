# drive.rb -- runs examples/inprocess/vesta_ids.rb by the commands in README.
require 'cgi'
require_relative '../../examples/inprocess/vesta_ids'

CHUNK = 190 # lines of 21 bytes fit into a write that a pipe keeps whole
FORK_EVERY = 200
$ids = nil

def failed(error)
  return "error pause #{error.reason} #{error.wait_ms} #{error.message}" if error.is_a?(VestaIds::Pause)

  "error #{error.code} #{error.message}"
end

def fields(told) = "fields #{told.map { |name, value| "#{name}=#{CGI.escape(value.to_s).gsub('+', '%20')}" }.join(' ')}"

def told(numbers) = "ids #{numbers.join(' ')}"

def unquote(text) = CGI.unescape(text.gsub('+', '%2B'))

def open_generator(wait_ms, options)
  opened = VestaIds.open(unquote(options), wait_ms: wait_ms.to_i)
  $ids&.close
  $ids = opened
  'ok'
end

# Returns ids until the first error, and that error.
def take(count)
  numbers = []
  count.to_i.times { numbers << $ids.next }
  told(numbers)
rescue VestaIds::Error => e
  "#{told(numbers)} #{failed(e)}"
end

def at_once(threads, count)
  said = Array.new(threads.to_i) { Thread.new { take(count) } }.map(&:value)
  "ids#{said.sort_by { |line| line.include?('error') ? 1 : 0 }.map { |line| line[3..] }.join}"
end

def forked(count)
  out, into = IO.pipe
  child = fork do
    into.write(take(count))
    into.close
    exit!(0)
  end
  into.close
  said = out.read
  Process.wait(child)
  said
end

def close
  $ids.close
  'ok'
end

def answer(word, given)
  case word
  when 'open' then open_generator(*given)
  when 'next' then take(*given)
  when 'batch' then told($ids.batch(given[0].to_i))
  when 'at_once' then at_once(*given)
  when 'fork' then forked(*given)
  when 'uuid' then "text #{Array.new(given[1].to_i) { $ids.next_uuid(given[0]) }.join(' ')}"
  when 'explain' then fields($ids.explain(given[0].to_i))
  when 'make' then told([$ids.make(**given.to_h { |pair| pair.split('=') }.transform_keys(&:to_sym))])
  when 'format' then "text #{VestaIds.format(given[0].to_i, given[1])}"
  when 'parse' then told([VestaIds.parse(unquote(given[1].to_s), given[0])])
  when 'info' then fields($ids.info)
  when 'close' then close
  end
rescue VestaIds::Error => e
  failed(e)
end

def serve
  $stdin.each_line do |line|
    word, *given = line.split
    $stdout.puts(answer(word, given).tr("\n", ' '))
    $stdout.flush
  end
end

def write(numbers) = $stdout.syswrite("#{numbers.join("\n")}\n")

def record(options)
  ids = VestaIds.open(options, wait_ms: 60_000)
  (1..).each do |chunk|
    write((chunk % 10).zero? ? ids.batch(CHUNK) : Array.new(CHUNK) { ids.next })
    next unless (chunk % FORK_EVERY).zero?

    Process.wait(fork do
      write(Array.new(CHUNK) { ids.next })
      exit!(0)
    end)
  end
end

ARGV[0] == 'record' ? record(ARGV[1]) : serve
