package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Apply makes an edit and reports on it; a report never comes without its Done or its Failed. Nothing that it changes
// reaches a session that runs. ctx ends the waiting for other edits; what is being written is finished.
func (e *Editor) Apply(ctx context.Context, in Edit) EditReport {
	for {
		p, err := e.plan(in)
		if err != nil || in.DryRun || p.out == nil {
			return p.report(err, false)
		}
		file := p.real
		unlock, err := p.lock(ctx)
		if err != nil {
			return p.report(err, false)
		}
		// What was planned before the lock was held may be out of date.
		p, err = e.plan(in)
		if err == nil && p.out != nil && p.real != file {
			if err = unlock(); err == nil {
				continue
			}
			return p.report(err, false)
		}
		back := false
		if err == nil && p.out != nil {
			back, err = p.commit()
		}
		if bad := unlock(); bad != nil {
			p.warn = append(p.warn, "the lock: "+bad.Error())
		}
		return p.report(err, back)
	}
}

func (p *plan) lock(ctx context.Context) (func() error, error) {
	if err := p.shelf.make(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(p.real), 0o755); err != nil {
		return nil, err
	}
	return lockAll(ctx, p.e.Wait, p.dirs()...)
}

// commit writes, checks and notes. back says that what was written was taken back.
func (p *plan) commit() (back bool, err error) {
	sweep(p.real)
	if p.there {
		name, err := p.shelf.backup(p.layer.File, p.raw)
		if name == "" {
			return false, fmt.Errorf("no backup, so nothing is written: %w", err)
		}
		if err != nil {
			p.warn = append(p.warn, "older backups stay: "+err.Error())
		}
		p.done.Backup = &name
	}
	if p.e.probe != nil {
		p.e.probe()
	}
	mode := fs.FileMode(0o644)
	if p.layer.Name == Global {
		mode = 0o600
	}
	before := p.books
	before.Edits = slices.Clone(before.Edits)
	// A line is noted before it comes and forgotten after it went: an edit that is killed in between leaves a note too
	// many, and never a line whose block nobody would take away again.
	var noted error
	if len(p.records) > 0 {
		noted = p.noteNew()
	}
	if err := p.put(mode); err != nil {
		return false, errors.Join(err, p.forget(before))
	}
	if err := p.verify(); err != nil {
		if bad := p.restore(); bad != nil {
			return false, errors.Join(err, bad)
		}
		return true, errors.Join(err, p.forget(before))
	}
	if len(p.gone) > 0 {
		for _, r := range p.gone {
			p.books.drop(r)
		}
		noted = p.shelf.write(p.books)
	}
	if noted != nil {
		p.warn = append(p.warn, "the edit stands, but it could not be noted: "+noted.Error())
		return false, nil
	}
	name := p.shelf.sidecar()
	p.done.Sidecar = &name
	return false, nil
}

// put writes the file, or takes it away.
func (p *plan) put(mode fs.FileMode) error {
	if !p.away {
		return replace(p.real, p.out, mode, p.unchanged)
	}
	info, err := os.Stat(p.real)
	if err == nil {
		p.mode = info.Mode().Perm()
		err = p.unchanged()
	}
	if err == nil {
		err = os.Remove(p.real)
	}
	if err == nil {
		syncFolder(filepath.Dir(p.real))
	}
	return err
}

func (p *plan) noteNew() error {
	for _, r := range p.records {
		p.books.take(r)
		p.books.Edits = append(p.books.Edits, r)
	}
	return p.shelf.write(p.books)
}

// forget takes the notes of an edit back that was not made.
func (p *plan) forget(before sidecar) error {
	if len(p.records) == 0 {
		return nil
	}
	return p.shelf.write(before)
}

// unchanged says that the file is still what the plan was made from.
func (p *plan) unchanged() error {
	real, err := realFile(p.layer.File)
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(real)
	if errors.Is(err, fs.ErrNotExist) && !p.there && real == p.real {
		return nil
	}
	if err == nil && p.there && real == p.real && bytes.Equal(raw, p.raw) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return &EditError{Code: EditConflict, Message: p.layer.File + " was changed by somebody else meanwhile, and is left as it is; try again"}
}

// restore puts the original back, unless somebody has written meanwhile.
func (p *plan) restore() error {
	raw, err := os.ReadFile(p.real)
	if err != nil && (!p.away || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	if (err == nil) == p.away || !bytes.Equal(raw, p.out) {
		return &EditError{Code: EditConflict, Message: p.layer.File + " was changed by somebody else meanwhile, and is left as it is"}
	}
	if !p.there {
		return os.Remove(p.real)
	}
	return WriteFile(p.real, p.raw, p.mode)
}

// verify loads everything again, as a new session would.
func (p *plan) verify() error {
	failed := func(format string, args ...any) error {
		return &EditError{Code: VerificationFailed, Message: fmt.Sprintf(format, args...)}
	}
	after, err := p.e.load()
	if err != nil {
		return failed("settings do not load any more: %v", err)
	}
	v := &EditVerification{
		Caller: p.in.Agent, Expected: p.effect, BeforeCount: p.countThere, Count: p.countAfter, Diverged: []EditDiffer{},
		Via: fmt.Sprintf("all layers loaded again, %d→%d", p.countThere, p.countAfter),
	}
	p.done.Verification = v
	if p.in.Key != "" {
		if !p.verifyKey(v, after) {
			return failed("%s is not what settings load for %s", p.real, p.id)
		}
	} else if !p.verifySkill(v, after) {
		return failed("%s is not what settings load for %s", p.real, p.id)
	}
	p.trustWarnings(after)
	return nil
}

// verifyKey says whether the layer has what was written.
func (p *plan) verifyKey(v *EditVerification, after *Fresh) bool {
	to := p.in.Action == Enable
	entry, there := entryOf(after.Loaded, p.e.Options.Keys, p.layer.Name, p.id)
	if there != (p.countAfter == 1) || there && entry.Value != to {
		return false
	}
	now, by := p.e.effective(after.Loaded, p.key, "")
	v.Actual, v.OK = fmt.Sprint(now), now == to
	if !v.OK {
		d := EditDiffer{Agent: p.in.Agent, Actual: v.Actual}
		if by != nil {
			d.Rule = ruleOf(fmt.Sprintf("%s: %t", by.Key, by.Value), by.Origin)
		}
		v.Diverged = append(v.Diverged, d)
		p.warn = append(p.warn, fmt.Sprintf("%s stays %s: %s decides", p.id, opened(now), decider(by)))
	}
	return true
}

func (p *plan) verifySkill(v *EditVerification, after *Fresh) bool {
	in := 0
	for _, at := range exactIn(after.Loaded, p.id) {
		if at.Layer == p.layer.Name {
			in++
		}
	}
	if (in > 0) != (p.countAfter > 0) {
		return false
	}
	for _, s := range after.Skills {
		if s.ID != p.id {
			continue
		}
		for _, a := range s.Agents {
			is := a.Effect == p.effect
			if a.Agent == p.in.Agent {
				v.Actual, v.OK = a.Effect, is
			}
			if is {
				continue
			}
			d := EditDiffer{Agent: a.Agent, Hidden: a.Hidden, Actual: a.Effect}
			if a.Rule != "" {
				d.Rule = ruleOf(a.Rule, a.Origin)
			}
			v.Diverged = append(v.Diverged, d)
			if a.Agent == p.in.Agent {
				p.warn = append(p.warn, fmt.Sprintf("%s is still %s: %s at %s decides", p.id, a.Effect, a.Rule, a.Origin))
			}
		}
	}
	return v.Actual != ""
}

// trustWarnings tells that the edit changed what the project's trust was given for.
func (p *plan) trustWarnings(after *Fresh) {
	gates := p.e.Gates
	if gates == nil {
		gates = func(string) bool { return false }
	}
	if !p.fresh.Loaded.Trust.Trusted || after.Loaded.Trust.Trusted {
		return
	}
	if len(after.Loaded.Trust.Withheld) > 0 || len(after.Loaded.UntrustedClosings(gates)) > 0 {
		p.warn = append(p.warn, "the project is not trusted as it is now, so that part of its settings does not apply: read them, then run peri trust")
	}
}

// report puts together what is told.
func (p *plan) report(err error, back bool) EditReport {
	r := EditReport{
		SchemaVersion: EditVersion, Action: p.in.Action, OK: err == nil, Warnings: p.warn, ID: p.id, Effect: p.effect, Done: p.done,
	}
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	if err != nil {
		r.Done, r.Failed = nil, &EditFailed{RolledBack: back, Error: EditError{Code: WriteFailed, Message: err.Error()}}
		var known *EditError
		if errors.As(err, &known) {
			r.Failed.Error = *known
			r.Failed.Error.Message = err.Error()
		}
		return r
	}
	switch {
	case p.done.Changed && p.in.DryRun:
		p.done.Planned = p.done.Message
		p.done.Message = "nothing is written: this is a dry run"
	case p.done.Changed:
		p.done.Message += ". It holds from the next session on: sessions that run are frozen."
	}
	return r
}
