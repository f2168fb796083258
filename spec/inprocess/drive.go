// drive.go -- runs examples/inprocess/vesta_ids.go by the commands in README.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"drive/vestaids"
)

const chunk = 190 // lines of 21 bytes fit into a write that a pipe keeps whole

var ids *vestaids.Generator

func failed(err error) string {
	var pause *vestaids.Pause
	var rejected *vestaids.Error
	if errors.As(err, &pause) {
		return fmt.Sprintf("error pause %s %d %s", pause.Reason, pause.Wait.Milliseconds(), pause)
	}
	if errors.As(err, &rejected) {
		return fmt.Sprintf("error %s %s", rejected.Code, rejected)
	}
	panic(err)
}

func told(numbers []uint64, err error) string {
	said := "ids"
	for _, id := range numbers {
		said += " " + strconv.FormatUint(id, 10)
	}
	if err != nil {
		said += " " + failed(err)
	}
	return said
}

func one(id uint64, err error) string {
	if err != nil {
		return failed(err)
	}
	return told([]uint64{id}, nil)
}

func number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func take(from *vestaids.Generator, count uint64) (numbers []uint64, err error) {
	for i := uint64(0); i < count; i++ {
		id, err := from.Next()
		if err != nil {
			return numbers, err
		}
		numbers = append(numbers, id)
	}
	return numbers, nil
}

func atOnce(callers, count uint64) string {
	type result struct {
		numbers []uint64
		err     error
	}
	results, all, wrong := make(chan result), []uint64(nil), error(nil)
	for i := uint64(0); i < callers; i++ {
		go func() {
			numbers, err := take(ids, count)
			results <- result{numbers, err}
		}()
	}
	for i := uint64(0); i < callers; i++ {
		one := <-results
		all = append(all, one.numbers...)
		if one.err != nil {
			wrong = one.err
		}
	}
	return told(all, wrong)
}

func open(waitMs, options string) string {
	text, err := url.PathUnescape(options)
	if err != nil {
		panic(err)
	}
	opened, err := vestaids.Open(text, time.Duration(number(waitMs))*time.Millisecond)
	if err != nil {
		return failed(err)
	}
	if ids != nil {
		ids.Close()
	}
	ids = opened
	return "ok"
}

func explain(id uint64) string {
	fields, err := ids.Explain(id)
	if err != nil {
		return failed(err)
	}
	said := "fields"
	for name, value := range fields {
		said += fmt.Sprintf(" %s=%d", name, value)
	}
	return said
}

func info() string {
	fields, err := ids.Info()
	if err != nil {
		return failed(err)
	}
	said := "fields"
	for name, value := range fields {
		said += " " + name + "=" + url.PathEscape(value)
	}
	return said
}

func answer(word string, given []string) string {
	switch word {
	case "open":
		return open(given[0], given[1])
	case "next":
		return told(take(ids, number(given[0])))
	case "batch":
		n, _ := strconv.Atoi(given[0])
		numbers, err := ids.Batch(n)
		if err != nil {
			return failed(err)
		}
		return told(numbers, nil)
	case "at_once":
		return atOnce(number(given[0]), number(given[1]))
	case "fork":
		return "none"
	case "uuid":
		var texts []string
		for i := uint64(0); i < number(given[1]); i++ {
			text, err := ids.NextUUID(given[0])
			if err != nil {
				return failed(err)
			}
			texts = append(texts, text)
		}
		return "text " + strings.Join(texts, " ")
	case "explain":
		return explain(number(given[0]))
	case "make":
		fields := map[string]uint64{}
		for _, pair := range given {
			name, value, _ := strings.Cut(pair, "=")
			fields[name] = number(value)
		}
		return one(ids.Make(fields))
	case "format":
		text, err := vestaids.Format(number(given[0]), given[1])
		if err != nil {
			return failed(err)
		}
		return "text " + text
	case "parse":
		text, err := url.PathUnescape(given[1])
		if err != nil {
			panic(err)
		}
		return one(vestaids.Parse(text, given[0]))
	case "info":
		return info()
	case "close":
		ids.Close()
		return "ok"
	}
	return "error no command"
}

func record(options string) {
	from, err := vestaids.Open(options, time.Minute)
	for i := 1; err == nil; i++ {
		var numbers []uint64
		if i%10 == 0 {
			numbers, err = from.Batch(chunk)
		} else {
			numbers, err = take(from, chunk)
		}
		lines := make([]byte, 0, 4096)
		for _, id := range numbers {
			lines = append(strconv.AppendUint(lines, id, 10), '\n')
		}
		os.Stdout.Write(lines)
	}
	panic(err)
}

func main() {
	if len(os.Args) > 2 {
		record(os.Args[2])
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Split(lines.Text(), " ")
		fmt.Println(strings.ReplaceAll(answer(words[0], words[1:]), "\n", " "))
	}
}
