// count ADDRESS NAME SAMPLES: ids per second from examples/clients/vesta.go, and from a counter under a mutex.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"count/vesta"
)

const piece = 10000000

type counter struct {
	mu   sync.Mutex
	last uint64
}

func (c *counter) Next() (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return c.last, nil
}

type source interface{ Next() (uint64, error) }

func perSecond(from source) float64 {
	begun := time.Now()
	for i := 0; i < piece; i++ {
		if _, err := from.Next(); err != nil {
			panic(err)
		}
	}
	return piece / time.Since(begun).Seconds()
}

func main() {
	options := vesta.Defaults()
	options.Size, options.TTL, options.Wait = 100000, 10*time.Minute, 30*time.Second
	client, err := vesta.Open([]string{os.Args[1]}, os.Args[2], &options)
	if err != nil {
		panic(err)
	}
	yard := &counter{}
	samples, _ := strconv.Atoi(os.Args[3])
	perSecond(client)
	perSecond(yard)
	out := json.NewEncoder(os.Stdout)
	for i := 0; i < samples; i++ {
		out.Encode(map[string]float64{"ours": perSecond(client), "yard": perSecond(yard)})
	}
	given := map[uint64]bool{}
	for i := 0; i < 1000000; i++ {
		id, err := client.Next()
		if err != nil {
			panic(err)
		}
		given[id] = true
	}
	fmt.Printf("{\"ids\": 1000000, \"duplicates\": %d}\n", 1000000-len(given))
}
