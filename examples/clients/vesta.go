// Package vesta is a client of vesta servers.  It needs Go 1.19 or newer and the standard library, and only this file.
//
//	ids, err := vesta.Open([]string{"10.0.0.1:8089", "10.0.0.2:8089"}, "orders", nil)
//	id, err := ids.Next() // 2319542600899494910
//	uuid, err := ids.NextUUID7()
//	ids.Close()
//
// With credentials and TLS:
//
//	options := vesta.Defaults()
//	options.SecretFile, options.TLSCA = "/etc/shop/ids.secret", "/etc/shop/ca.pem"
//	ids, err := vesta.Open([]string{"rediss://shop@ids1.example:8089"}, "orders", &options)
//
// The client fetches blocks from the servers and computes the ids of a block by itself, so most calls of Next need no
// network, only an atomic addition.  When a tenth of a block is used, a goroutine fetches the next one.
package vesta

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Options of a client.  Defaults returns their defaults.
type Options struct {
	Size    int           // ids per block, 1 to 100000
	TTL     time.Duration // maximum age of a block, after which its unused ids are discarded
	Timeout time.Duration // maximum time of a request to a server, including the connection
	Wait    time.Duration // maximum time that Next waits for a block, or 0 to never wait

	// The client's name, its secret, or a file with the secret, if an address has none.
	User, Password, SecretFile string

	TLSCA                  string // PEM file of the certificate authorities for rediss:// servers, or "" for the system's
	TLSCertificate, TLSKey string // PEM files of the client's certificate and key, which may be the same file
	TLSUnverified          bool   // do not verify servers, for tests only, because an attacker could read the secret
}

// Defaults returns the options of a client that is opened with nil.  Change the options that you need.
func Defaults() Options {
	return Options{Size: 1000, TTL: 10 * time.Second, Timeout: 2 * time.Second, Wait: 5 * time.Second}
}

// ErrClosed is the error of Next after Close.
var ErrClosed = errors.New("vesta: this client is closed")

const (
	sizeMax = 100000
	longest = 24 * time.Hour
	restMin = 100 * time.Millisecond
	restMax = 6400 * time.Millisecond
	spent   = int64(1) << 62

	secretBytesMax = 511
	serverTextMax  = 2000
)

// An address is redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS.  A name and a secret may contain %XX escapes.
const part = `(?:[!"$&-.0-9;->A-Z\\^-~]|%[0-9A-Fa-f]{2})`

var (
	nameForm   = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)
	serverForm = regexp.MustCompile(`^(?:(rediss?)://(?:(` + part + `*)(?::((?:` + part + `|:)+))?@)?)?` +
		`(\[[0-9A-Fa-f:.]+\]|[^\[\]\s:/@]+):([0-9]{1,5})(/0?)?$`)
)

// ---------------------------------------------------------------- blocks

// A block has ids that a server issued to this client only.  used counts the ids taken, and may exceed count.
type block struct {
	used, mark atomic.Int64 // when used reaches mark, which is at most count, the next block is fetched
	count      int64
	isTicks    bool

	base, first, last, stride                       uint64
	seqBits, timeShift, seqShift, lowBits, lowShift uint64
	layout                                          string

	asked time.Time
	timer *time.Timer
}

func (b *block) id(i int64) uint64 {
	if !b.isTicks {
		return b.first + uint64(i)*b.stride
	}
	t := b.first + uint64(i) // & 63 lets the compiler use one instruction for each shift
	return b.base | t>>(b.seqBits&63)<<(b.timeShift&63) |
		t&(1<<(b.seqBits&63)-1)>>(b.lowBits&63)<<(b.seqShift&63) | t&(1<<(b.lowBits&63)-1)<<(b.lowShift&63)
}

var layoutUnits = regexp.MustCompile(` unit=(\d+)(us|ms|s) epoch=([^ ]+)`)

// uuid7 makes a UUID of version 7 from id number i: its milliseconds, its other tick bits as a counter (RFC 9562, 6.2,
// method 1), and random bits.
func (b *block) uuid7(i int64) (uuid [16]byte, err error) {
	found := layoutUnits.FindStringSubmatch(b.layout)
	if !b.isTicks || found == nil {
		return uuid, errors.New("the ids of this name have no time: name a namespace, not a tag")
	}
	unit, _ := strconv.ParseUint(found[1], 10, 32)
	unit *= map[string]uint64{"us": 1, "ms": 1000, "s": 1000000}[found[2]]
	epoch, err := time.Parse(time.RFC3339, found[3])
	perMs := (unit + 999) / unit // units of less than a millisecond are counted too
	width := b.seqBits + uint64(bits.Len64(perMs-1))
	if err != nil || epoch.UnixMilli() < 0 || width > 42 {
		return uuid, fmt.Errorf("this layout has no room for a UUID's counter, or begins before 1970: %s", b.layout)
	}
	if _, err = rand.Read(uuid[6:]); err != nil {
		return uuid, err
	}
	tick := b.first + uint64(i)
	us := tick >> b.seqBits * unit
	counter := us%1000/unit<<b.seqBits | tick&(1<<b.seqBits-1)
	// 12 bits follow the version, and 62 bits the variant: the counter, then random bits
	high, low := counter<<(64-width)>>52, binary.BigEndian.Uint64(uuid[8:])
	if width > 12 {
		low = counter<<(76-width) | low>>(width-12)
	} else {
		high |= uint64(binary.BigEndian.Uint16(uuid[6:])) & (1<<(12-width) - 1)
	}
	binary.BigEndian.PutUint64(uuid[:], (uint64(epoch.UnixMilli())+us/1000)<<16|7<<12|high)
	binary.BigEndian.PutUint64(uuid[8:], 2<<62|low>>2)
	return uuid, nil
}

func (b *block) overlaps(other *block) bool {
	return b.isTicks == other.isTicks && b.base == other.base && other.count > 0 &&
		b.first <= other.last && other.first <= b.last
}

// newBlock parses the reply to a request for size ids of name.  The reply is a list of names and values.
func newBlock(reply []string, name string, size int, asked time.Time) (*block, error) {
	values := map[string]string{}
	for i := 0; i+1 < len(reply); i += 2 {
		values[reply[i]] = reply[i+1]
	}
	if len(reply)%2 != 0 || values["ns"] != name {
		return nil, fmt.Errorf("its reply is for %q, not for %q", values["ns"], name)
	}
	b := &block{asked: asked, isTicks: values["kind"] == "ticks", stride: 1, layout: values["layout"]}
	if !b.isTicks && values["kind"] != "numbers" {
		return nil, fmt.Errorf("its block is of kind %q: this client knows ticks and numbers", values["kind"])
	}
	var err error
	number := func(key string, least, most uint64) uint64 {
		value, wrong := strconv.ParseUint(values[key], 10, 64)
		if err == nil && (wrong != nil || value < least || value > most) {
			err = fmt.Errorf("its %s %q is not a number from %d to %d", key, values[key], least, most)
		}
		return value
	}
	b.first, b.count = number("first", 0, math.MaxUint64), int64(number("count", 1, uint64(size)))
	if b.isTicks {
		b.base, b.seqBits, b.timeShift = number("base", 0, math.MaxUint64), number("seq_bits", 0, 63), number("time_shift", 0, 63)
		b.seqShift, b.lowBits, b.lowShift = number("seq_shift", 0, 63), number("low_bits", 0, 63), number("low_shift", 0, 63)
	} else {
		b.stride = number("stride", 1, math.MaxInt64)
	}
	if err != nil {
		return nil, err
	}
	over, added := bits.Mul64(uint64(b.count-1), b.stride)
	last, carry := bits.Add64(b.first, added, 0)
	b.last = last
	if over != 0 || carry != 0 {
		return nil, errors.New("its block goes past 2^64 - 1")
	}
	if b.isTicks && !b.fits() {
		return nil, errors.New("its block has bits that overlap, or go past 2^64 - 1")
	}
	b.mark.Store((b.count + 9) / 10)
	return b, nil
}

// fits returns whether no fields of an id overlap.  If they overlapped, two ids could be equal.
func (b *block) fits() bool {
	seen := b.base
	for _, part := range []struct{ mask, shift uint64 }{
		{1<<bits.Len64(b.last>>b.seqBits) - 1, b.timeShift},
		{(1<<b.seqBits - 1) >> b.lowBits, b.seqShift},
		{1<<b.lowBits - 1, b.lowShift},
	} {
		at := part.mask << part.shift
		if at>>part.shift != part.mask || at&seen != 0 {
			return false
		}
		seen |= at
	}
	return b.lowBits <= b.seqBits
}

// ---------------------------------------------------------------- servers

// A refusal is a permanent error that a server returned, so that a retry cannot help.
type refusal string

func (r refusal) Error() string { return string(r) }

// A server has a connection, which only the fetching goroutine uses, and the time until which it is in a pause.
type server struct {
	address, host string
	isTLS         bool
	user, secret  string
	errors        int
	said          string
	refuses       bool
	rest          time.Duration
	until         time.Time // the end of its pause

	mu     sync.Mutex // guards conn and ended, which Close uses from another goroutine
	conn   net.Conn
	ended  bool
	reader *bufio.Reader
}

func newServer(text string, number int) (*server, error) {
	found := serverForm.FindStringSubmatch(text)
	if found == nil || len(text) > serverTextMax {
		found = make([]string, 7)
	}
	scheme, host, digits := found[1], found[4], found[5]
	port, wrong := strconv.ParseUint(digits, 10, 16)
	user, _ := url.PathUnescape(found[2])
	secret, _ := url.PathUnescape(found[3])
	isNobody := user == "" && secret == "" && strings.Contains(text, "@")
	if wrong != nil || port == 0 || isNobody || scheme == "" && found[6] != "" || !isLine(user) || !isLine(secret) {
		shown := strconv.Quote(text)
		if strings.Contains(text, "@") || strings.Contains(text, "://") {
			shown = fmt.Sprintf("%d, which is not shown because it may have a secret,", number)
		}
		return nil, fmt.Errorf("vesta: server %s is neither HOST:PORT of the Redis protocol, with a port from 1 to 65535, nor "+
			"redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS, where special characters in a name or a secret are written as %%XX", shown)
	}
	return &server{address: host + ":" + digits, host: strings.Trim(host, "[]"), isTLS: scheme == "rediss", user: user,
		secret: secret, said: "not asked yet"}, nil
}

func isLine(text string) bool {
	isControl := func(r rune) bool { return r < ' ' || r == 127 }
	return utf8.ValidString(text) && strings.IndexFunc(text, isControl) < 0
}

// check returns an error if the options contradict each other or the servers.
func (o *Options) check(servers []*server) error {
	isTLS := false
	for _, s := range servers {
		isTLS = isTLS || s.isTLS
		if s.user+o.User != "" && s.secret+o.Password+o.SecretFile == "" {
			return fmt.Errorf("vesta: server %s: the client name has no secret. Set SecretFile", s.address)
		}
	}
	switch {
	case o.Password != "" && o.SecretFile != "":
		return errors.New("vesta: Password and SecretFile cannot be combined")
	case (o.TLSCA+o.TLSCertificate+o.TLSKey != "" || o.TLSUnverified) && !isTLS:
		return errors.New("vesta: a TLS option is set, but no server begins with rediss://")
	case o.TLSKey != "" && o.TLSCertificate == "":
		return errors.New("vesta: TLSKey is given, and no TLSCertificate")
	}
	return nil
}

// greeting returns the AUTH command for a new connection.  A secret's file is read each time, so that the secret can be
// replaced.
func (o *Options) greeting(s *server) ([]string, error) {
	user, secret := s.user, s.secret
	if user == "" {
		user = o.User
	}
	if secret == "" {
		secret = o.Password
	}
	if secret == "" && o.SecretFile != "" {
		data, err := os.ReadFile(o.SecretFile)
		if err != nil {
			return nil, err
		}
		line, _, _ := bytes.Cut(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
		secret = strings.TrimSuffix(string(line), "\r")
		if secret == "" || len(secret) > secretBytesMax {
			return nil, fmt.Errorf("SecretFile %s: its first line is not a secret of 1 to %d bytes", o.SecretFile, secretBytesMax)
		}
	}
	switch {
	case secret == "":
		return nil, nil
	case user == "":
		return []string{"AUTH", secret}, nil
	}
	return []string{"AUTH", user, secret}, nil
}

// tls returns the config for a new connection.  It reads the files each time, so that they can be replaced.
func (o *Options) tls(host string) (*tls.Config, error) {
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.TLSUnverified}
	if o.TLSCA != "" {
		data, err := os.ReadFile(o.TLSCA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("TLSCA %s has no certificate", o.TLSCA)
		}
	}
	if o.TLSCertificate != "" {
		key := o.TLSKey
		if key == "" {
			key = o.TLSCertificate
		}
		own, err := tls.LoadX509KeyPair(o.TLSCertificate, key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

func (s *server) failed(err error) {
	_, s.refuses = err.(refusal)
	s.errors++
	s.said = err.Error()
	s.rest *= 2
	if s.rest < restMin {
		s.rest = restMin
	}
	if s.refuses || s.rest > restMax {
		s.rest = restMax
	}
	s.until = time.Now().Add(s.rest)
}

func (s *server) close(forGood bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.Close()
	}
	s.conn, s.ended = nil, s.ended || forGood
}

// isQuiet returns whether there is a connection without unexpected bytes.
func (s *server) isQuiet() bool {
	if s.conn == nil {
		return false
	}
	raw := s.conn
	if secure, ok := raw.(*tls.Conn); ok {
		raw = secure.NetConn() // after a timeout in a TLS read, the connection would be unusable
	}
	raw.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := raw.Read(make([]byte, 1))
	timeout, ok := err.(net.Error)
	return s.reader.Buffered() == 0 && ok && timeout.Timeout()
}

// secured returns the connection with TLS.
func (s *server) secured(conn net.Conn, options *Options, deadline time.Time) (net.Conn, error) {
	config, err := options.tls(s.host)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(deadline)
	secure := tls.Client(conn, config)
	err = secure.Handshake()
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var invalid x509.CertificateInvalidError
	if errors.As(err, &unknown) || errors.As(err, &other) || errors.As(err, &invalid) {
		err = refusal("its certificate is not accepted: " + err.Error())
	}
	return secure, err
}

// connect opens a connection and authenticates.
func (s *server) connect(options *Options, deadline time.Time) (net.Conn, error) {
	conn, err := (&net.Dialer{Deadline: deadline}).Dial("tcp", s.address)
	if err != nil {
		return nil, err
	}
	if s.isTLS {
		secure, err := s.secured(conn, options, deadline)
		if err != nil {
			conn.Close()
			return nil, err
		}
		conn = secure
	}
	s.mu.Lock()
	s.conn, s.reader = conn, bufio.NewReader(conn)
	ended := s.ended
	s.mu.Unlock()
	conn.SetDeadline(deadline)
	if ended {
		return nil, ErrClosed
	}
	greeting, err := options.greeting(s)
	if err == nil && greeting != nil {
		_, err = s.say(conn, greeting...)
		if err != nil && strings.Contains(err.Error(), fmt.Sprintf("%.8s", greeting[len(greeting)-1])) {
			err = refusal("its reply to AUTH is not shown, because it repeats the secret") // a Redis without AUTH repeats the arguments
		}
	}
	return conn, err
}

// ask sends a request and returns the reply.  Any error closes the connection, so that a late reply is never read.
func (s *server) ask(options *Options, deadline time.Time, words ...string) (reply []string, err error) {
	if s.isQuiet() {
		s.conn.SetDeadline(deadline)
		reply, err = s.say(s.conn, words...)
		why, _ := err.(refusal)
		if !strings.HasPrefix(string(why), "NOAUTH") && !strings.HasPrefix(string(why), "NOPERM") {
			return s.closedOn(reply, err)
		} // retries on a new connection, because the secret may have been replaced
	}
	s.close(false)
	conn, err := s.connect(options, deadline)
	if err == nil {
		reply, err = s.say(conn, words...)
	}
	return s.closedOn(reply, err)
}

func (s *server) closedOn(reply []string, err error) ([]string, error) {
	if err != nil {
		s.close(false)
	}
	return reply, err
}

func (s *server) say(conn net.Conn, words ...string) ([]string, error) {
	request := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return nil, err
	}
	kind, line, err := s.line()
	if err != nil {
		return nil, err
	}
	if kind == '-' {
		switch word, _, _ := strings.Cut(line, " "); word {
		case "TRYAGAIN", "LOADING", "OOM":
			return nil, errors.New(line)
		}
		return nil, refusal(line)
	}
	if kind == '+' && line == "OK" && words[0] == "AUTH" {
		return nil, nil
	}
	count, err := strconv.ParseUint(line, 10, 8)
	if kind != '*' || err != nil {
		return nil, fmt.Errorf("its reply is no list: %q", string(kind)+line)
	}
	reply := make([]string, count)
	for i := range reply {
		if reply[i], err = s.value(); err != nil {
			return nil, err
		}
	}
	if s.reader.Buffered() != 0 {
		return nil, errors.New("its reply has bytes that were not asked for")
	}
	return reply, nil
}

// line reads a line that ends in CR LF, and returns its first byte and the rest.  The reader's buffer limits its length.
func (s *server) line() (byte, string, error) {
	line, err := s.reader.ReadSlice('\n')
	if err != nil {
		return 0, "", err
	}
	if strings.HasPrefix(string(line), "HTTP/") {
		return 0, "", errors.New("it answers HTTP: name its port of the Redis protocol")
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return 0, "", fmt.Errorf("its reply is no reply of the Redis protocol: %.40q", line)
	}
	return line[0], string(line[1 : len(line)-2]), nil
}

func (s *server) value() (string, error) {
	kind, line, err := s.line()
	if err != nil || kind == ':' {
		return line, err
	}
	length, err := strconv.ParseUint(line, 10, 12) // at most 4095 bytes
	if kind != '$' || err != nil {
		return "", fmt.Errorf("its reply has neither a number nor a string: %q", string(kind)+line)
	}
	data := make([]byte, length+2)
	_, err = io.ReadFull(s.reader, data)
	return string(data[:length]), err
}

// ---------------------------------------------------------------- the client

// Client issues ids of a namespace or a tag.  Any goroutine may call its methods.
type Client struct {
	current atomic.Pointer[block]

	name    string
	options Options

	mu                      sync.Mutex // guards all fields below, except the servers' connections
	servers                 []*server
	next                    *block
	fetching, closed        bool
	waiting                 int
	changed                 chan struct{} // closed and replaced at each change, to wake the waiting callers
	blocks, requests, drops int
}

// Open checks the options.  The first Next connects to a server.
func Open(servers []string, name string, options *Options) (*Client, error) {
	c := &Client{name: name, options: Defaults(), changed: make(chan struct{})}
	if options != nil {
		c.options = *options
	}
	o := c.options
	switch {
	case len(servers) == 0:
		return nil, errors.New("vesta: servers is empty: at least one HOST:PORT is needed")
	case !nameForm.MatchString(name):
		return nil, fmt.Errorf("vesta: name %q is not 1 to 64 of A-Z a-z 0-9 _ . : -", name)
	case o.Size < 1 || o.Size > sizeMax:
		return nil, fmt.Errorf("vesta: size %d is not from 1 to %d", o.Size, sizeMax)
	case o.TTL <= 0 || o.TTL > longest:
		return nil, fmt.Errorf("vesta: ttl %v is not above 0 and at most %v", o.TTL, longest)
	case o.Timeout <= 0 || o.Timeout > longest:
		return nil, fmt.Errorf("vesta: timeout %v is not above 0 and at most %v", o.Timeout, longest)
	case o.Wait < 0 || o.Wait > longest:
		return nil, fmt.Errorf("vesta: wait %v is not from 0 to %v", o.Wait, longest)
	}
	for i, text := range servers {
		s, err := newServer(text, i+1)
		if err != nil {
			return nil, err
		}
		c.servers = append(c.servers, s)
	}
	if err := o.check(c.servers); err != nil {
		return nil, err
	}
	c.current.Store(&block{})
	return c, nil
}

// Next returns an id.  If there is none within Options.Wait, the error lists every server and its last result.
func (c *Client) Next() (uint64, error) {
	b := c.current.Load()
	i := b.used.Add(1) - 1
	if i < b.mark.Load() {
		return b.id(i), nil
	}
	if i < b.count {
		c.mu.Lock()
		c.fetchAhead()
		c.mu.Unlock()
		return b.id(i), nil
	}
	b, i, err := c.nextSlowly()
	if err != nil {
		return 0, err
	}
	return b.id(i), nil
}

// NextUUID7 returns a UUID of version 7, made from one id of a block.  It fails as Next does, and for a tag.
func (c *Client) NextUUID7() ([16]byte, error) {
	b := c.current.Load()
	i := b.used.Add(1) - 1
	if i < b.count && i >= b.mark.Load() {
		c.mu.Lock()
		c.fetchAhead()
		c.mu.Unlock()
	} else if i >= b.count {
		var err error
		if b, i, err = c.nextSlowly(); err != nil {
			return [16]byte{}, err
		}
	}
	return b.uuid7(i)
}

// nextSlowly returns a block and the number of an id in it.
func (c *Client) nextSlowly() (*block, int64, error) {
	timer := time.NewTimer(c.options.Wait)
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting++
	defer func() { c.waiting-- }()
	for isLate := c.options.Wait == 0; !c.closed; {
		if b := c.current.Load(); b.used.Load() < b.count {
			if i := b.used.Add(1) - 1; i < b.count {
				return b, i, nil
			}
		}
		if c.turn() {
			continue
		}
		if isLate || !c.fetching && c.refused() {
			c.fetchAhead()
			return nil, 0, c.why()
		}
		c.fetchAhead()
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			isLate = true
		}
		c.mu.Lock()
	}
	return nil, 0, ErrClosed
}

// turn makes the next block the current block, and discards it if it is too old.
func (c *Client) turn() bool {
	b := c.next
	if b == nil {
		return false
	}
	c.next = nil
	left := c.options.TTL - time.Since(b.asked)
	if left <= 0 {
		c.drops++
		return false
	}
	if timer := c.current.Load().timer; timer != nil {
		timer.Stop()
	}
	b.timer = time.AfterFunc(left, func() { c.drop(b) })
	c.current.Store(b)
	return true
}

// drop discards the unused ids of a block.  A timer calls it, so that Next need not read a clock for each id.
func (c *Client) drop(b *block) {
	if b.used.Swap(spent) < b.count {
		c.mu.Lock()
		c.drops++
		c.mu.Unlock()
	}
}

func (c *Client) refused() bool {
	for _, s := range c.servers {
		if !s.refuses {
			return false
		}
	}
	return true
}

func (c *Client) why() error {
	said := make([]string, len(c.servers))
	for i, s := range c.servers {
		said[i] = s.address + ": " + s.said
	}
	return fmt.Errorf("vesta: no id of %q: %s", c.name, strings.Join(said, "; "))
}

func (c *Client) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// fetchAhead starts to fetch the next block, if necessary.  Until the fetch ends, Next does not call it again.
func (c *Client) fetchAhead() {
	b := c.current.Load()
	b.mark.Store(b.count)
	if c.next == nil && !c.fetching && !c.closed {
		c.fetching = true
		go c.fetch()
	}
}

// fetch requests a block from the servers that are not in a pause, in list order, until a block arrives or no caller
// waits.
func (c *Client) fetch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed {
		now, s := time.Now(), c.servers[0]
		for _, one := range c.servers[1:] {
			if s.until.After(now) && one.until.Before(s.until) {
				s = one
			}
		}
		if left := s.until.Sub(now); left > 0 {
			if c.waiting == 0 || c.refused() {
				break
			}
			if left > restMin {
				left = restMin // if a caller waits, a server's pause is shorter
			}
			c.mu.Unlock()
			time.Sleep(left)
			c.mu.Lock()
		}
		if c.closed || c.ask(s) {
			break
		}
	}
	if b := c.current.Load(); c.next == nil && b.used.Load() < b.count*9/10 {
		b.mark.Store(b.used.Load() + (b.count+9)/10) // tries again after another tenth of the block
	}
	c.fetching = false
	if c.closed {
		c.hangUp()
	}
	c.tell()
}

// ask requests a block from a server.  It holds the lock, except while it waits for the server.
func (c *Client) ask(s *server) bool {
	c.requests++
	c.mu.Unlock()
	asked := time.Now()
	reply, err := s.ask(&c.options, asked.Add(c.options.Timeout), "VESTA.BLOCK", c.name, strconv.Itoa(c.options.Size))
	var b *block
	if err == nil {
		if b, err = newBlock(reply, c.name, c.options.Size, asked); err == nil && b.overlaps(c.current.Load()) {
			err = fmt.Errorf("its block begins at %d, which was given before", b.first)
		}
		if err != nil {
			s.close(false)
		}
	}
	c.mu.Lock()
	if err != nil {
		s.failed(err)
	} else {
		c.next, s.rest, s.refuses = b, 0, false
		s.said = "replied, but its next block has not arrived yet"
		c.blocks++
	}
	c.tell()
	return err == nil
}

func (c *Client) hangUp() {
	for _, s := range c.servers {
		s.close(true)
	}
}

// Close closes the client.  The unused ids of its blocks are lost, and waiting calls of Next return ErrClosed.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed, c.next = true, nil
		if b := c.current.Swap(&block{}); b.timer != nil {
			b.timer.Stop()
		}
		c.hangUp()
		c.tell()
	}
}

// Info counts received blocks, requests, blocks that were dropped because of their age, and errors by server.
type Info struct {
	Blocks, Requests, Drops int
	Errors                  map[string]int
}

func (c *Client) Info() Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := Info{c.blocks, c.requests, c.drops, map[string]int{}}
	for _, s := range c.servers {
		info.Errors[s.address] = s.errors
	}
	return info
}
