package arena

import (
	"context"
	"reflect"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
	"github.com/posttrainarena/arena/protocol/joblog"
)

// What participants see of a run goes through here: nothing of it names a sealed
// task (PROTOCOL §1). What the run itself says in public (its reason, its
// training curve) was cleaned when it was stored.

const (
	// lastLines is how many lines of a stopped run's log its author sees
	// (reference/rivals.md R13).
	lastLines = 200
	// lookBack is how far before them the stage marker is looked for that says
	// which stage they belong to. A stage with more lines since its marker is taken
	// for a sealed one.
	lookBack = 20_000
	// lookStep is how many lines are read for that at a time.
	lookStep = 2_000
)

// LastLines returns the end of a failed or canceled run's log as its collection's author and
// editors may see it; nil for everybody else and every other run.
func (s *Service) LastLines(ctx context.Context, who protocol.Identity, run protocol.Run) ([]string, error) {
	if run.State != protocol.RunFailed && run.State != protocol.RunCanceled || run.LogLines == 0 || !who.MayAct(run.Author) {
		return nil, nil
	}
	from := max(0, run.LogLines-lastLines)
	lines, err := s.logTexts(ctx, run.ID, from, lastLines)
	if err != nil {
		return nil, err
	}
	e := joblog.Excerpt{Lines: lines, Sealed: run.Stage == protocol.StageHeldout || run.Stage == protocol.StageCollect}
	if run.Stage.Index() < protocol.StageBaseline.Index() { // no sealed stage has begun, however long its log
		e.Stage = protocol.StageSetup
	} else if e.Stage, err = s.stageBefore(ctx, run.ID, from); err != nil {
		return nil, err
	}
	return e.Visible(s.redactor), nil
}

// stageBefore finds the stage in which the line after the first n was printed;
// empty when no marker says so.
func (s *Service) stageBefore(ctx context.Context, run string, n int64) (protocol.Stage, error) {
	for end := n; end > max(0, n-lookBack); end -= lookStep {
		start := max(0, end-lookStep)
		lines, err := s.logTexts(ctx, run, start, int(end-start))
		if err != nil {
			return "", err
		}
		if stage, ok := joblog.StageAt(lines); ok {
			return stage, nil
		}
	}
	if n <= lookBack { // nothing before it is a marker, so no stage has begun
		return protocol.StageSetup, nil
	}
	return "", nil
}

// logTexts reads the texts of a log's lines after the first from.
func (s *Service) logTexts(ctx context.Context, run string, from int64, limit int) ([]string, error) {
	lines, err := s.Log(ctx, run, from, limit)
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Text
	}
	return texts, err
}

// evidence is what somebody may see of a run's uploads.
type evidence struct {
	redactor *joblog.Redactor // nil for editors, who see everything
	own      map[string]bool  // the collection's own tasks, whose names are no secret to its author
}

// evidenceFor says what somebody may see of a run's uploads.
func (s *Service) evidenceFor(ctx context.Context, who protocol.Identity, run protocol.Run) (evidence, error) {
	if who.Editor {
		return evidence{}, nil
	}
	col, err := s.Collection(ctx, run.Collection)
	e := evidence{redactor: s.redactor, own: map[string]bool{}}
	for name := range col.Static.TaskIdentity {
		e.own[name] = true
	}
	return e, err
}

// hidden reports whether an attempt is not to be seen at all, because it is at a
// sealed task that a job put where training tasks belong.
func (e evidence) hidden(a artifacts.Attempt) bool {
	return e.redactor != nil && !e.own[a.Task] && e.redactor.Contains(a.Task+" "+a.Path)
}

// attempt returns an attempt as it may be seen. A collection's own task keeps its
// name even where that contains a sealed one.
func (e evidence) attempt(a artifacts.Attempt) artifacts.Attempt {
	if e.redactor == nil {
		return a
	}
	task, path := a.Task, a.Path
	redactStrings(reflect.ValueOf(&a).Elem(), e.redactor.Redact)
	if e.own[task] {
		a.Task, a.Path = task, path
	}
	return a
}

// detail returns one attempt's details as they may be seen.
func (e evidence) detail(d artifacts.Detail) artifacts.Detail {
	if e.redactor == nil {
		return d
	}
	attempt := e.attempt(d.Attempt)
	redactStrings(reflect.ValueOf(&d).Elem(), e.redactor.Redact)
	d.Attempt = attempt
	return d
}

// problems returns problems as they may be seen.
func (e evidence) problems(list []artifacts.Problem) []artifacts.Problem {
	if e.redactor == nil {
		return list
	}
	shown := make([]artifacts.Problem, 0, len(list))
	for _, p := range list {
		shown = append(shown, artifacts.Problem{Path: e.redactor.Redact(p.Path), Detail: e.redactor.Redact(p.Detail)})
	}
	return shown
}

// redactStrings replaces every exported string in a value that can be changed.
// Walking over whatever there is keeps a field that somebody adds from being
// forgotten here.
func redactStrings(v reflect.Value, redact func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(redact(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fresh := reflect.New(v.Type().Elem()) // what it points to may be shared
			fresh.Elem().Set(v.Elem())
			redactStrings(fresh.Elem(), redact)
			if v.CanSet() {
				v.Set(fresh)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				redactStrings(v.Field(i), redact)
			}
		}
	case reflect.Slice:
		if v.IsNil() || !v.CanSet() {
			return
		}
		fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(fresh, v)
		for i := range fresh.Len() {
			redactStrings(fresh.Index(i), redact)
		}
		v.Set(fresh)
	}
}

// refusal returns an error as somebody may see it: the sentences of the protocol
// quote what a job wrote into its report.
func (s *Service) refusal(who protocol.Identity, err error) error {
	if err == nil || who.Editor {
		return err
	}
	e := protocol.AsError(err)
	if e.Kind == protocol.KindInternal {
		return err
	}
	shown := *e
	shown.Detail = s.redactor.Redact(e.Detail)
	shown.Fields = nil
	for _, f := range e.Fields {
		shown.Fields = append(shown.Fields, protocol.FieldError{Field: s.redactor.Redact(f.Field), Message: s.redactor.Redact(f.Message)})
	}
	return &shown
}
