// google_uuid.go -- google/uuid as Debian packages it, which has no version 7: nanoseconds per random UUID for each line on
// stdin, without and with its pool of random bytes.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"time"

	"github.com/google/uuid"
)

const piece = 50_000

var kept uuid.UUID

func nanoseconds() float64 {
	begun := time.Now()
	for i := 0; i < piece; i++ {
		kept = uuid.Must(uuid.NewRandom())
	}
	return float64(time.Since(begun).Nanoseconds()) / piece
}

func main() {
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		line := map[string]float64{"random": nanoseconds()}
		uuid.EnableRandPool()
		line["random_pool"] = nanoseconds()
		uuid.DisableRandPool()
		out.Encode(line)
	}
}
