// Package vestaids issues ids in your own process, through libvesta and cgo.  Copy this file into a package of your module.
//
//	ids, err := vestaids.Open("namespace=orders any_worker=true", 2*time.Second)
//	id, err := ids.Next()          // a uint64
//	many, err := ids.Batch(500)    // a []uint64
//	uuid, err := ids.NextUUID("uuid7") // a string
//	fields, err := ids.Explain(id) // fields["time"]
//
// It needs a C compiler and vesta.h (Debian: gcc, libvesta-dev).  If libvesta is built but not installed, set CGO_CFLAGS to
// -I and the folder of vesta.h, CGO_LDFLAGS to -L and the folder of libvesta.so, and LD_LIBRARY_PATH to that folder.
package vestaids

/*
#cgo LDFLAGS: -lvesta
#include <stdlib.h>
#include <vesta.h>
*/
import "C"

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"
)

// Error is a rejected call.  Code is the name of an error of vesta.h, such as "bad_option".
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Text }

// Pause is the error if no id is available now.
type Pause struct {
	Reason string        // for example "clock_back"
	Wait   time.Duration // when to try again, negative if waiting will not help
	Text   string
}

func (p *Pause) Error() string { return p.Text }

type answer [C.VESTA_ANSWER_MAX]C.char

func (a *answer) at() *C.char { return &a[0] }

func (a *answer) lines() map[string]string {
	told := map[string]string{}
	for _, line := range strings.Split(C.GoString(a.at()), "\n") {
		if name, value, found := strings.Cut(line, "="); found {
			told[name] = value
		}
	}
	return told
}

// result returns the lines of the answer to a call, or its error.
func (a *answer) result(code C.int) (map[string]string, error) {
	told := a.lines()
	if code == C.VESTA_OK {
		return told, nil
	}
	if told["code"] != "pause" {
		return nil, &Error{told["code"], told["text"]}
	}
	ms, _ := strconv.ParseInt(told["wait_ms"], 10, 64)
	return nil, &Pause{told["reason"], time.Duration(ms) * time.Millisecond, told["text"]}
}

func (a *answer) id(code C.int) (uint64, error) {
	told, err := a.result(code)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(told["id"], 10, 64)
}

// A Generator may be used by any number of goroutines at once.
type Generator struct {
	handle atomic.Uint64
	waitMs C.int64_t
}

// Open opens a generator.  Next and Batch wait for up to wait for an id.
func Open(options string, wait time.Duration) (*Generator, error) {
	var a answer
	text := C.CString(options)
	defer C.free(unsafe.Pointer(text))
	handle := C.vesta_plain_open(text, a.at())
	if handle == 0 {
		_, err := a.result(C.VESTA_EOPTION)
		return nil, err
	}
	g := &Generator{waitMs: C.int64_t(wait.Milliseconds())}
	g.handle.Store(uint64(handle))
	return g, nil
}

func (g *Generator) at() C.uint64_t { return C.uint64_t(g.handle.Load()) }

// Next issues an id.
func (g *Generator) Next() (uint64, error) {
	if id := C.vesta_plain_next(g.at()); id != 0 {
		return uint64(id), nil
	}
	return g.nextWait()
}

func (g *Generator) nextWait() (uint64, error) {
	var a answer
	if id := C.vesta_plain_next_wait(g.at(), g.waitMs, a.at()); id != 0 {
		return uint64(id), nil
	}
	_, err := a.result(C.VESTA_EPAUSE)
	return 0, err
}

// Batch issues n ids.
func (g *Generator) Batch(n int) ([]uint64, error) {
	var a answer
	if n < 1 || n > C.VESTA_BATCH_MAX {
		return nil, &Error{"bad_option", fmt.Sprintf("a batch of %d ids was requested. Request 1 to %d", n, C.VESTA_BATCH_MAX)}
	}
	ids := make([]uint64, n)
	_, err := a.result(C.vesta_plain_batch(g.at(), (*C.uint64_t)(&ids[0]), C.int64_t(n), g.waitMs, a.at()))
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// NextUUID issues a UUID as text.  shape is uuid7, uuid8, ulid or hex32.
func (g *Generator) NextUUID(shape string) (string, error) {
	var a answer
	var text [C.VESTA_UUID_TEXT_MAX]C.char
	name := C.CString(shape)
	defer C.free(unsafe.Pointer(name))
	if _, err := a.result(C.vesta_plain_next_uuid(g.at(), name, &text[0], g.waitMs, a.at())); err != nil {
		return "", err
	}
	return C.GoString(&text[0]), nil
}

// Explain returns the fields of an id, and its time as unix_ms.
func (g *Generator) Explain(id uint64) (map[string]int64, error) {
	var a answer
	told, err := a.result(C.vesta_plain_explain(g.at(), C.uint64_t(id), a.at()))
	if err != nil {
		return nil, err
	}
	fields := map[string]int64{}
	for name, value := range told {
		fields[name], _ = strconv.ParseInt(value, 10, 64)
	}
	return fields, nil
}

// Make makes an id by hand from its fields.  A generator may issue the same id.
func (g *Generator) Make(fields map[string]uint64) (uint64, error) {
	var a answer
	var words []string
	for name, value := range fields {
		words = append(words, fmt.Sprintf("%s=%d", name, value))
	}
	text := C.CString(strings.Join(words, " "))
	defer C.free(unsafe.Pointer(text))
	return a.id(C.vesta_plain_make(g.at(), text, a.at()))
}

// Info returns the generator's state.
func (g *Generator) Info() (map[string]string, error) {
	var a answer
	return a.result(C.vesta_plain_info(g.at(), a.at()))
}

// Close closes the generator.  No other call may run at the same time.  Later calls return an Error with the code "closed".
func (g *Generator) Close() {
	C.vesta_plain_close(C.uint64_t(g.handle.Swap(0)))
}

// Format returns an id as text.  base is decimal, hex, base32 or base62.
func Format(id uint64, base string) (string, error) {
	var a answer
	name := C.CString(base)
	defer C.free(unsafe.Pointer(name))
	told, err := a.result(C.vesta_plain_format(name, C.uint64_t(id), a.at()))
	return told["text"], err
}

// Parse reads an id that Format wrote.
func Parse(text, base string) (uint64, error) {
	var a answer
	name, from := C.CString(base), C.CString(text)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(from))
	return a.id(C.vesta_plain_parse(name, from, C.uint64_t(len(text)), a.at()))
}
