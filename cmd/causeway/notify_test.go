package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptHook starts a receiver of webhooks that lives as long as the script.
func scriptHook(ts *testscript.TestScript, neg bool, args []string) {
	scriptArgs(ts, neg, args, 3)
	file, err := os.OpenFile(ts.MkAbs(args[1]), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	ts.Check(err)
	h := &scriptedHook{file: file}
	for _, status := range args[2:] {
		code, err := strconv.Atoi(status)
		ts.Check(err)
		h.statuses = append(h.statuses, code)
	}
	server := httptest.NewServer(h)
	ts.Defer(func() {
		server.Close()
		_ = file.Close()
	})
	ts.Setenv(args[0], server.URL)
}

// scriptedHook answers with its statuses in order, with the last one for ever.
type scriptedHook struct {
	mu       sync.Mutex
	statuses []int
	file     *os.File
}

func (h *scriptedHook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(h.file, "%s %s id=%s attempt=%s signature=%s body=%s\n", r.Method, r.URL, r.Header.Get("webhook-id"),
		r.Header.Get("x-causeway-attempt"), r.Header.Get("webhook-signature"), body)
	w.WriteHeader(h.statuses[0])
	if len(h.statuses) > 1 {
		h.statuses = h.statuses[1:]
	}
}

func scriptJSONEnv(ts *testscript.TestScript, neg bool, args []string) {
	scriptArgs(ts, neg, args, 3)
	line := 1
	if len(args) > 3 {
		n, err := strconv.Atoi(args[3])
		ts.Check(err)
		line = n
	}
	lines := strings.Split(ts.ReadFile(args[1]), "\n")
	if line > len(lines) {
		ts.Fatalf("%s has no line %d", args[1], line)
	}
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(lines[line-1]), &object))
	ts.Setenv(args[0], fmt.Sprint(object[args[2]]))
}
