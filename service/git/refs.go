package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// refFormat is a ref on a line; names of refs hold no spaces.
const refFormat = "--format=%(refname) %(objectname) %(*objectname) %(symref)"

// refOverhead is what a ref takes in an answer beside its names.
const refOverhead = 160

// listRefs answers getRefs for a repository.
func (r *repository) listRefs(ctx context.Context, p *RefsParams, maxBytes int64) (*Refs, error) {
	if strings.HasPrefix(p.Prefix, "-") || strings.ContainsAny(p.Prefix, "*?[\\\n\x00") {
		return nil, ahp.Errorf(jsonrpc.CodeInvalidParams, "a prefix is the beginning of a ref's name, such as refs/heads/")
	}
	head, err := r.head(ctx)
	if err != nil {
		return nil, err
	}
	answer := &Refs{ObjectFormat: r.info.ObjectFormat, Head: head, Refs: []Ref{}}
	left := maxBytes
	err = r.eachRef(ctx, func(ref Ref) bool {
		if ref.Name <= p.After || !strings.HasPrefix(ref.Name, p.Prefix) {
			return true
		}
		left -= int64(refOverhead + len(ref.Name) + len(ref.OID) + len(ref.Peeled) + len(ref.Symref))
		if n := len(answer.Refs); left < 0 && n > 0 {
			answer.Next = answer.Refs[n-1].Name
			return false
		}
		answer.Refs = append(answer.Refs, ref)
		return true
	})
	return answer, err
}

// eachRef visits the refs in the order of their names until visit returns false.
func (r *repository) eachRef(ctx context.Context, visit func(Ref) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "--git-dir", r.dir, "for-each-ref", refFormat)
	cmd.Env = r.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	lines, enough := bufio.NewScanner(out), false
	for !enough && lines.Scan() {
		if ref, ok := parseRef(lines.Text()); ok {
			enough = !visit(ref)
		}
	}
	if enough {
		cancel()
		_ = cmd.Wait() // it was ended on purpose
		return nil
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return gitError(err, stderr.String())
	}
	return nil
}

// parseRef reads a line of refFormat.
func parseRef(line string) (Ref, bool) {
	fields := strings.Split(line, " ")
	if len(fields) != 4 || fields[0] == "" {
		return Ref{}, false
	}
	return Ref{Name: fields[0], OID: fields[1], Peeled: fields[2], Symref: fields[3]}, true
}

// head reads HEAD: detached, of a branch, or of one that has no commit yet.
func (r *repository) head(ctx context.Context) (Head, error) {
	var h Head
	out, err := r.run(ctx, "--git-dir", r.dir, "symbolic-ref", "-q", "HEAD")
	if err == nil {
		h.Symref = strings.TrimSpace(string(out))
	}
	out, err = r.run(ctx, "--git-dir", r.dir, "rev-parse", "-q", "--verify", "HEAD")
	if err == nil {
		h.OID = strings.TrimSpace(string(out))
	}
	return h, ctx.Err()
}

// values is what every ref stands for, HEAD among them.
func (r *repository) values(ctx context.Context) (map[string]string, error) {
	head, err := r.head(ctx)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string)
	if value := head.value(); value != "" {
		values["HEAD"] = value
	}
	err = r.eachRef(ctx, func(ref Ref) bool {
		values[ref.Name] = ref.OID
		return true
	})
	return values, err
}

func (h Head) value() string {
	if h.Symref != "" {
		return "ref: " + h.Symref
	}
	return h.OID
}
