// peers.go -- Go generators packaged by Debian: nanoseconds per id for each line on stdin, then the counts.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
)

const piece = 50_000

var counted = 1_000_000

var kept string

var entropy = ulid.Monotonic(bufio.NewReader(rand.Reader), 0)

var peers = map[string]func() string{
	"uuid":  func() string { return uuid.NewString() },
	"xid":   func() string { return xid.New().String() },
	"ksuid": func() string { return ksuid.New().String() },
	"ulid":  func() string { return ulid.MustNew(ulid.Now(), entropy).String() },
}

func nanoseconds(next func() string) float64 {
	begun := time.Now()
	for i := 0; i < piece; i++ {
		kept = next()
	}
	return float64(time.Since(begun).Nanoseconds()) / piece
}

func duplicates(next func() string) int {
	seen := make(map[string]struct{}, counted)
	for i := 0; i < counted; i++ {
		seen[next()] = struct{}{}
	}
	return counted - len(seen)
}

func main() {
	if os.Getenv("BENCH_TINY") != "" {
		counted /= 100
	}
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		line := map[string]float64{}
		for name, next := range peers {
			line[name] = nanoseconds(next)
		}
		out.Encode(line)
	}
	line := map[string]int{"ids": counted}
	for name, next := range peers {
		line[name] = duplicates(next)
	}
	out.Encode(line)
}
