// count OPTIONS SAMPLES prints ns per id of examples/inprocess/vesta_ids.go, of an empty call through cgo, and of a generator
// in pure Go.
package main

// #include <stdint.h>
// static uint64_t empty(const void *object) { (void)object; return 7402110230120120321; }
import "C"

import (
	"count/vestaids"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
	"unsafe"
)

// Snowflake is Twitter's algorithm.
type Snowflake struct {
	lock                   sync.Mutex
	worker, last, sequence int64
}

// Next issues an id.
func (s *Snowflake) Next() int64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	now := time.Now().UnixMilli()
	if now < s.last {
		panic("the clock went back")
	}
	if now == s.last {
		s.sequence = (s.sequence + 1) & 4095
		for s.sequence == 0 && now <= s.last {
			now = time.Now().UnixMilli()
		}
	} else {
		s.sequence = 0
	}
	s.last = now
	return (now-1288834974657)<<22 | s.worker<<12 | s.sequence
}

const pieces = 5

var piece = 100_000

func cost(run func()) float64 {
	begun := time.Now()
	for i := 0; i < piece; i++ {
		run()
	}
	return float64(time.Since(begun).Nanoseconds()) / float64(piece)
}

func main() {
	if os.Getenv("BENCH_TINY") != "" {
		piece = 1000
	}
	ids, err := vestaids.Open(os.Args[1], 5*time.Second)
	if err != nil {
		panic(err)
	}
	next := func() uint64 {
		id, err := ids.Next()
		if err != nil {
			panic(err)
		}
		return id
	}
	samples, _ := strconv.Atoi(os.Args[2])
	own := &Snowflake{worker: 7}
	runs := []func(){func() { next() }, func() { C.empty(unsafe.Pointer(ids)) }, func() { own.Next() }}
	for sample := 0; sample <= samples; sample++ {
		least := [3]float64{1e9, 1e9, 1e9}
		for i := 0; i < pieces; i++ {
			for at, run := range runs {
				if ns := cost(run); ns < least[at] {
					least[at] = ns
				}
			}
		}
		if sample > 0 { // the first one warms up
			fmt.Printf("{\"ours\": %.2f, \"empty\": %.2f, \"own\": %.2f}\n", least[0], least[1], least[2])
		}
	}
	counted := map[uint64]bool{}
	for i := 0; i < piece; i++ {
		counted[next()] = true
	}
	fmt.Printf("{\"ids\": %d, \"duplicates\": %d}\n", piece, piece-len(counted))
}
