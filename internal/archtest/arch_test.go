package archtest

import (
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const module = "github.com/causeway-ahp/causeway/"

// floors says on which floor each package stands. A package may import packages
// of lower floors. What is not listed here does not exist.
var floors = map[string]int{
	"ahp":                 1,
	"flow":                1,
	"jsonrpc":             1,
	"transport":           1,
	"transport/memory":    1,
	"transport/stdio":     1,
	"transport/websocket": 1,
	"agent":               2,
	"agent/acp":           2,
	"agent/process":       2,
	"agent/script":        2,
	"agent/shell":         2,
	"host/compat":         2,
	"journal":             2,
	"journal/sqlite":      2,
	"notify":              2,
	"notify/secretdir":    2,
	"notify/sqlite":       2,
	"notify/webhook":      2,
	"reconcile":           2,
	"reducer":             2,
	"host":                3,
	"host/endpoint":       3,
	"host/transfer":       3,
	"feature/service":     4,
	"feature/session":     4,
	"feature/toolnotify":  4,
	"feature/telemetry":   4,
	"feature/tcp":         4,
	"service/git":         5,
	"service/program":     5,
	"client":              5,
	"mcp":                 5,
	"policy":              5,
	"cmd/causeway":        6,
	"examples":            6, // its tests only
	"examples/approve":    6,
	"examples/mirror":     6,
	"examples/watch":      6,
}

// neighbours are the edges within a floor, each with its reason.
var neighbours = map[string]string{
	"ahp -> jsonrpc":                   "the wire error and the scan of an envelope",
	"transport/websocket -> transport": "a carrier implements transport.Conn",
	"transport/stdio -> transport":     "a carrier implements transport.Conn",
	"transport/memory -> transport":    "a carrier implements transport.Conn",
	"reconcile -> reducer":             "confirmed and optimistic states come from the same rules",
	"notify/secretdir -> notify":       "a directory implements notify.Secrets",
	"notify/sqlite -> notify":          "a store implements notify.Store",
	"notify/webhook -> notify":         "a route type implements notify.RouteType",
	"journal/sqlite -> journal":        "a store implements journal.Archive",
	"agent/shell -> agent":             "an agent implements agent.Provider",
	"agent/acp -> agent":               "an agent implements agent.Provider",
	"agent/script -> agent/acp":        "scripts pass through the adapter that real agents pass through",
	"agent/acp -> agent/process":       "agents and their commands end as process groups",
	"service/git -> client":            "a Git service is registered and used through a client",
	"service/program -> client":        "a program is registered as a service of a client",
	"agent/shell -> agent/process":     "commands end as process groups",
	"host/transfer -> host":            "a state is read as the host reads it",
	"host/endpoint -> host":            "the door hands connections to the host",
}

// forbidden are imports of other modules or the standard library that a package
// must not have, each with its reason.
var forbidden = map[string]map[string]string{
	"flow":      {"net": "flow is arithmetic", "os": "flow is arithmetic", "sync": "flow is arithmetic", "time": "flow is arithmetic"},
	"reducer":   {"net": "reducers are pure", "os": "reducers are pure", "sync": "reducers are pure"},
	"reconcile": {"net": "reconciliation is pure", "os": "reconciliation is pure", "sync": "reconciliation is pure"},
	"jsonrpc":   {"net": "jsonrpc knows no carrier"},
}

// internals are the packages under internal/ that production code uses; the rest
// are for tests only.
var internals = map[string]bool{
	"internal/datadir": true, "internal/limit": true, "internal/measure": true, "internal/metric": true, "internal/relaybench": true, "internal/slab": true, "internal/socks": true, "internal/tcpbench": true,
}

type pkg struct {
	ImportPath string
	Imports    []string
	Extra      jsontext.Value `json:",embed"`
}

func TestImportsFollowTheTable(t *testing.T) {
	for _, p := range load(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(name, "internal/") {
			continue
		}
		floor, ok := floors[name]
		if !ok {
			t.Errorf("package %s stands on no floor: add it to the table", name)
			continue
		}
		for _, imp := range p.Imports {
			checkImport(t, name, floor, imp)
		}
	}
}

func checkImport(t *testing.T, name string, floor int, imp string) {
	if imp == "testing" || imp == "encoding/json" {
		t.Errorf("%s imports %s: production code does not", name, imp)
	}
	if why, no := forbidden[name][imp]; no {
		t.Errorf("%s imports %s: %s", name, imp, why)
	}
	to, ours := strings.CutPrefix(imp, module)
	switch {
	case !ours:
		return
	case strings.HasPrefix(to, "internal/"):
		if !internals[to] {
			t.Errorf("%s imports %s, which is for tests only", name, to)
		}
	case floors[to] > floor || floors[to] == floor && neighbours[name+" -> "+to] == "":
		t.Errorf("%s (floor %d) imports %s (floor %d)", name, floor, to, floors[to])
	}
}

func TestTheTableHasNoDeadRows(t *testing.T) {
	exists := make(map[string]bool)
	edges := make(map[string]bool)
	for _, p := range load(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		exists[name] = true
		for _, imp := range p.Imports {
			edges[name+" -> "+strings.TrimPrefix(imp, module)] = true
		}
	}
	for name := range floors {
		if !exists[name] {
			t.Errorf("the table names %s, which does not exist", name)
		}
	}
	for edge := range neighbours {
		if !edges[edge] {
			t.Errorf("the table allows %s, which nothing uses", edge)
		}
	}
}

func TestClocksStayOutOfPureCode(t *testing.T) {
	for _, dir := range []string{"flow", "reducer", "reconcile"} {
		out, err := exec.Command("grep", "-rnE", `time\.(Now|Since|Until|After|Sleep)`, "--include=*.go", "--exclude=*_test.go", path.Join("..", "..", dir)).Output()
		if err == nil {
			t.Errorf("%s reads a clock:\n%s", dir, out)
		}
	}
}

func load(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = path.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := jsontext.NewDecoder(strings.NewReader(string(out)))
	var list []pkg
	for dec.PeekKind() == '{' {
		var p pkg
		if err := json.UnmarshalDecode(dec, &p); err != nil {
			t.Fatalf("read go list: %v", err)
		}
		list = append(list, p)
	}
	if len(list) < 5 {
		t.Fatalf("go list named %d packages: the test sees nothing", len(list))
	}
	return list
}
