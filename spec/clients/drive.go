// drive.go -- runs examples/clients/vesta.go by the commands in README.
package main

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"drive/vesta"
)

var client *vesta.Client

func open(pairs []string) string {
	if client != nil {
		client.Close()
	}
	options, name, servers := vesta.Defaults(), "", []string{}
	for _, pair := range pairs {
		key, text, _ := strings.Cut(pair, "=")
		value, err := url.PathUnescape(text)
		if err != nil {
			return "error " + err.Error()
		}
		number, _ := strconv.ParseInt(value, 10, 64)
		if number > 1e12 {
			number = 1e12 // so that it is also too large in nanoseconds
		}
		switch key {
		case "servers":
			if value != "" {
				servers = strings.Split(value, ",")
			}
		case "name":
			name = value
		case "user":
			options.User = value
		case "password":
			options.Password = value
		case "secret_file":
			options.SecretFile = value
		case "tls_ca":
			options.TLSCA = value
		case "tls_certificate":
			options.TLSCertificate = value
		case "tls_key":
			options.TLSKey = value
		case "tls_unverified":
			options.TLSUnverified = value == "yes"
		case "size":
			options.Size = int(number)
		case "ttl":
			options.TTL = time.Duration(number) * time.Millisecond
		case "timeout":
			options.Timeout = time.Duration(number) * time.Millisecond
		case "wait":
			options.Wait = time.Duration(number) * time.Millisecond
		default:
			return "error no option " + key
		}
	}
	made, err := vesta.Open(servers, name, &options)
	if err != nil {
		return "error " + err.Error()
	}
	client = made
	return "ok"
}

// take returns ids until the first error, and that error.
func take(count int) (string, string) {
	var ids strings.Builder
	for i := 0; i < count; i++ {
		id, err := client.Next()
		if err != nil {
			return ids.String(), " error " + err.Error()
		}
		fmt.Fprintf(&ids, " %d", id)
	}
	return ids.String(), ""
}

func uuids(count int) string {
	said := "uuids"
	for i := 0; i < count; i++ {
		u, err := client.NextUUID7()
		if err != nil {
			return "error " + err.Error()
		}
		said += fmt.Sprintf(" %x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	}
	return said
}

func atOnce(routines, count int) string {
	type said struct{ ids, err string }
	answers := make(chan said)
	for i := 0; i < routines; i++ {
		go func() {
			ids, err := take(count)
			answers <- said{ids, err}
		}()
	}
	ids, err := "ids", ""
	for i := 0; i < routines; i++ {
		one := <-answers
		ids += one.ids
		if one.err != "" {
			err = one.err
		}
	}
	return ids + err
}

func info() string {
	told := client.Info()
	errors := []string{}
	for address, count := range told.Errors {
		errors = append(errors, fmt.Sprintf("%s:%d", address, count))
	}
	sort.Strings(errors)
	return fmt.Sprintf("info blocks=%d requests=%d drops=%d errors=%s", told.Blocks, told.Requests, told.Drops,
		strings.Join(errors, ","))
}

func answer(words []string) string {
	number := func(at int) int {
		if at >= len(words) {
			return 0
		}
		value, _ := strconv.Atoi(words[at])
		return value
	}
	switch words[0] {
	case "open":
		return open(words[1:])
	case "next":
		ids, err := take(number(1))
		return "ids" + ids + err
	case "uuids":
		return uuids(number(1))
	case "at_once":
		return atOnce(number(1), number(2))
	case "info":
		return info()
	case "fork":
		return "none"
	case "defaults":
		held := vesta.Defaults()
		return fmt.Sprintf("defaults size=%d ttl=%d timeout=%d wait=%d", held.Size, held.TTL.Milliseconds(),
			held.Timeout.Milliseconds(), held.Wait.Milliseconds())
	case "close":
		client.Close()
		return "ok"
	}
	return "error no command " + words[0]
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			words = []string{""}
		}
		fmt.Println(strings.ReplaceAll(answer(words), "\n", " "))
	}
}
