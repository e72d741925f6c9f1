package tui_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/tui"
	"github.com/posttrainarena/arena/tui/screen"
	"github.com/posttrainarena/arena/tui/tuitest"
)

// inBubble runs a test of the dashboard over the sample at 100×30.
func inBubble(t *testing.T, f func(p *tuitest.Pump, a *tuitest.Arena)) {
	withOptions(t, nil, f)
}

func withOptions(t *testing.T, change func(*tui.Options), f func(p *tuitest.Pump, a *tuitest.Arena)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := tuitest.Sample(time.Now())
		f(tuitest.Start(t, a, 100, 30, change), a)
	})
}

// From the start to an accepted result it takes six keys or fewer, and nothing
// shows as done before the arena has said so.
func TestReviewInSixKeys(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		keys := []string{"enter", "a", "ctrl+s", "tab", "enter"}
		p.Type(keys...)
		if len(keys) > 6 {
			t.Fatalf("%d keys", len(keys))
		}
		p.Has("Accept b00000000001: sent in", "z takes it back")
		if diff := cmp.Diff([]string{"claim " + tuitest.RunPending}, a.Calls); diff != "" {
			t.Errorf("the arena was called before the grace period was over:\n%s", diff)
		}
		p.Pass(tui.Grace)
		p.Has("b00000000001 is accepted.")
		want := []string{"claim " + tuitest.RunPending, "review " + tuitest.RunPending + " accept: Change +6.25 pp over 32 tasks, recomputed from per-task outcomes. Checked and holding: coverage, recomputation, training, isolation, log and files, infrastructure, timeouts, base model, forecast. Looked at: gates: 30 of 30 tasks eligible, 0 for a person to look at; attached: 1 accepted, 1 rejected, 1 inconclusive."}
		if diff := cmp.Diff(want, a.Calls); diff != "" {
			t.Error(diff)
		}
		p.Pass(10 * time.Second)
		p.Type("3")
		p.Has("3 Results (1)", "✓ accepted  b00000000001")
	})
}

func TestRejectionNeedsANote(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		a.Change(func(a *tuitest.Arena) { a.Gates = nil })
		p.Type("3", "enter", "r", "a")         // the gates were asked for by the overview
		p.Has("Change +6.25 pp over 32 tasks") // the draft shows at once
		p.Type("esc", "x", "ctrl+s")           // nothing is wrong, so there is no draft
		p.Has("in at least 20 characters")
		p.Type("The verifier leaks.", "ctrl+s")
		p.Has("in at least 20 characters")
		p.Type("!", "ctrl+s")
		p.Has("Reject this result?", "The verifier leaks.!", "Reject")
		p.Type("tab", "enter")
		p.Pass(tui.Grace)
		if diff := cmp.Diff([]string{"review " + tuitest.RunPending + " reject: The verifier leaks.!"}, a.Calls[len(a.Calls)-1:]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDecisionCanBeTakenBack(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("enter", "a", "ctrl+s", "tab", "enter", "3")
		p.Has("◐ deciding")
		p.Type("enter", "a")
		p.Has("A decision on it is about to be sent", "Accept b00000000001: sent in") // nothing hides what waits
		p.Type("z")
		p.Has("Taken back: Accept b00000000001. Nothing was sent.")
		p.Pass(time.Minute)
		if slices.ContainsFunc(a.Calls, func(c string) bool { return strings.HasPrefix(c, "review") }) {
			t.Errorf("it was sent all the same: %q", a.Calls)
		}
		p.Type("z")
		p.Has("There is nothing to take back")
	})
}

// Who leaves a result undecided does not keep others from it.
func TestClaimEndsWhenTheResultIsLeft(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		claims := func() (all []string) {
			for _, c := range a.Calls {
				if strings.HasPrefix(c, "claim ") || strings.HasPrefix(c, "release ") {
					all = append(all, c)
				}
			}
			return all
		}
		p.Type("enter", "a", "ctrl+s", "esc") // no, after all
		p.Pass(time.Minute)
		p.Has("you are reviewing it")
		p.Type("esc", "enter", "esc")
		if diff := cmp.Diff([]string{"claim " + tuitest.RunPending, "release " + tuitest.RunPending}, claims()[:2]); diff != "" {
			t.Error(diff)
		}
		p.Pass(time.Minute)
		p.Type("enter")
		p.Lacks("you are reviewing it")
	})
}

// A question that is answered twice acts once, and enter alone acts not at all.
func TestDoubleEnterActsOnce(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("2", "j", "x", "enter")
		p.Lacks("Cancel this run?")
		p.Type("x", "tab", "enter", "enter")
		if diff := cmp.Diff([]string{"cancel " + tuitest.RunActive}, a.Calls); diff != "" {
			t.Error(diff)
		}
		p.Type("esc")
		p.Has("▸ canceling")
	})
}

func TestReviewThatFailsSaysSo(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		a.Change(func(a *tuitest.Arena) { a.RefuseReview = protocol.ErrReviewed })
		p.Type("enter", "a", "ctrl+s", "tab", "enter")
		p.Pass(tui.Grace)
		p.Has("Accept b00000000001: This result has been reviewed. Reviews are immutable.")
		p.Lacks("is accepted")
	})
}

func TestQuitting(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, _ *tuitest.Arena) {
		p.Type("2", "enter", "q")
		p.Has("15 runs") // q goes back first
		p.Type("q")
		if !p.Quit {
			t.Error("q on a tab does not quit")
		}
	})
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("enter", "a", "ctrl+s", "tab", "enter", "q")
		p.Has("Quit without sending?", "Accept b00000000001")
		p.Type("enter")
		if p.Quit {
			t.Error("enter alone quits")
		}
		p.Type("q", "tab", "enter")
		if !p.Quit || len(a.Calls) != 1 { // the claim
			t.Errorf("quit %t, calls %q", p.Quit, a.Calls)
		}
	})
	withOptions(t, func(o *tui.Options) { o.QuitEffect = "The arena stops." }, func(p *tuitest.Pump, _ *tuitest.Arena) {
		p.Type("ctrl+c")
		p.Has("Quit?", "The arena stops.")
		p.Type("esc")
		if p.Quit {
			t.Error("esc quits")
		}
	})
}

func TestReadOnlyChangesNothing(t *testing.T) {
	withOptions(t, func(o *tui.Options) { o.ReadOnly = true }, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Has("read-only")
		for _, keys := range [][]string{{"2", "j", "x"}, {"2", "g", "j", "j", "j", "s"}, {"3", "g", "enter", "a"}, {"6", "w"}} {
			p.Type(keys...)
			p.Has("Not possible: started with --readonly.")
		}
		if len(a.Calls) != 0 {
			t.Errorf("calls %q", a.Calls)
		}
	})
}

func TestWhoIsNoEditorIsToldWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := tuitest.Sample(time.Now())
		a.Me = api.Whoami{Name: "aurora"}
		p := tuitest.Start(t, a, 100, 30, nil)
		p.Type("2", "l")
		p.Has("Not possible: aurora is not an editor.")
		p.Type("?")
		p.Has("The job's log; editors only (aurora is not an editor)")
		p.Type("esc", "3", "enter", "a")
		p.Has("Not possible: aurora is not an editor.")
		a.Change(func(a *tuitest.Arena) { a.Me = api.Whoami{} })
		p.Pass(6 * time.Minute)
		p.Type("2", "j", "x")
		p.Has("Not possible: nobody is signed in: set ARENA_TOKEN.")
	})
}

// An event has what it touches asked for again; nothing in it is shown by itself.
func TestEventsWake(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("2")
		p.Has("15 runs")
		p.Pass(5 * time.Second)
		a.Change(func(a *tuitest.Arena) {
			r := a.Runs[3]
			r.RunID, r.CreatedAt, r.Reason = "challenge-777777777777", time.Now(), nil
			a.Runs = append([]api.Run{r}, a.Runs...)
		})
		id, challenge := "challenge-777777777777", tuitest.Smoke
		go a.Happen(api.Event{ID: 9, Kind: protocol.EventRunState, ChallengeID: &challenge, RunID: &id})
		p.Pass(time.Second)
		p.Has("777777777777", "16 runs")
	})
}

// A refresh moves neither the cursor nor what the eye is on: the selection stays
// on its run when others come before it.
func TestRefreshKeepsTheSelection(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("2", "j", "j", "j", "j")
		p.Has("▌ ! failed     e00000000001")
		a.Change(func(a *tuitest.Arena) {
			for i := range 40 {
				r := a.Runs[3]
				r.RunID, r.CreatedAt = fmt.Sprintf("challenge-9999999999%02d", i), time.Now().Add(time.Duration(i)*time.Second)
				a.Runs = append([]api.Run{r}, a.Runs...)
			}
		})
		p.Pass(20 * time.Second)
		p.Has("▌ ! failed     e00000000001", "55 runs")
		p.Type("y")
		p.Has("Copied run " + tuitest.RunPlatform)
	})
}

// When the arena goes away, the last good data stays and says how old it is.
func TestOffline(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Has("● live", "Needs you 6")
		a.Change(func(a *tuitest.Arena) { a.Down = client.ErrNetwork })
		p.Pass(2 * time.Minute)
		p.Has("○ offline 1m", "Needs you 6", "$338.40 settled")
		a.Change(func(a *tuitest.Arena) { a.Down = nil })
		p.Pass(30 * time.Second)
		p.Has("● live")
	})
	synctest.Test(t, func(t *testing.T) {
		a := tuitest.Sample(time.Now())
		a.Down = client.ErrNetwork
		p := tuitest.Start(t, a, 100, 30, nil)
		p.Has("○ offline", "The arena cannot be reached.")
		p.Type("2")
		p.Has("The arena cannot be reached.")
	})
}

// Nothing is drawn when nothing changes: the frame of an arena at rest stays the
// same for ten seconds, so that the renderer has nothing to write.
func TestIdleFramesAreEqual(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, _ *tuitest.Arena) {
		for _, tab := range []string{"1", "2", "3", "4", "5", "6", "7"} {
			p.Type(tab)
			p.Pass(2 * time.Second)
			before := p.Model.View()
			for range 10 {
				p.Pass(time.Second)
				if after := p.Model.View(); after != before {
					t.Fatalf("tab %s is drawn anew although nothing changed:\n%s", tab, cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")))
				}
			}
		}
	})
}

func TestTooSmallTakesNoKeysAndRecovers(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("2", "j")
		p.Send(tea.WindowSizeMsg{Width: 59, Height: 16})
		p.Has("The terminal is too small.", "It is 59 x 16;", "60 x 16 are needed.")
		p.Type("x", "tab", "enter")
		p.Send(tea.WindowSizeMsg{Width: 60, Height: 16})
		p.Has("▌ ▸ running")
		if len(a.Calls) != 0 {
			t.Errorf("unseen keys acted: %q", a.Calls)
		}
		p.Send(tea.WindowSizeMsg{Width: 20, Height: 4})
		p.Type("q")
		if !p.Quit {
			t.Error("q does not quit where there is no room")
		}
	})
}

func TestMouse(t *testing.T) {
	press := func(x, y int) tea.MouseMsg {
		return tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress}
	}
	inBubble(t, func(p *tuitest.Pump, _ *tuitest.Arena) {
		p.Send(press(16, 0))
		p.Has("15 runs")
		p.Send(press(30, 6))
		p.Has("▌ ✓ scored     b00000000002")
		p.Send(tea.MouseMsg{Button: tea.MouseButtonWheelDown})
		p.Has("▌ ✓ scored     b00000000001")
		p.Send(press(30, 9))
		p.Has("Runs › b00000000001") // a second press opens
		p.Type("m")
		p.Has("mouse released, m takes it")
	})
}

func TestPalette(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("ctrl+k", "run c00000000002", "enter")
		p.Has("Overview › c00000000002")
		p.Type("2", ":", "filter state:failed", "enter")
		p.Has("/ state:failed", "4 of 15 runs")
		p.Type(":", "equivalent", "enter")
		p.Has("Copied arena runs --challenge tb2-9b --run-id challenge-e00000000001")
		p.Type("esc", "g", "j", "l", ":", "go to line 37", "enter")
		p.Has("▌✗ [ERR] sealed-task-06")
		p.Type(":", "no such thing", "enter", "esc")
		p.Has("a00000000001 log")
		if len(a.Calls) != 0 {
			t.Errorf("calls %q", a.Calls)
		}
	})
}

// What was written is there when the person comes back.
func TestDraftsSurvive(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("6", "w", "Hello, all", "esc", "1", "6", "w")
		p.Has("Hello, all")
		p.Type("!", "ctrl+s")
		p.Has("Post this message?", "as from mira", "Hello, all!")
		p.Type("tab", "enter")
		p.Has("4 messages", "Posted.")
		if diff := cmp.Diff([]string{"post Hello, all!"}, a.Calls); diff != "" {
			t.Error(diff)
		}
		p.Type("w")
		p.Lacks("Hello")
		p.Type("esc", "enter", "a", "Right", "ctrl+s", "tab", "enter")
		if got := a.Messages[0]; got.Body != "Right" || len(got.Refs) != 1 || got.Refs[0] != "20000101-0900-mira-c3" {
			t.Errorf("the answer is %+v", got)
		}
	})
}

func TestCollect(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("2", "j", "s")
		p.Has("The run is running: there is no result to collect.")
		p.Type("j", "s")
		p.Has("The result was collected already: v shows it.")
		p.Type("j", "s")
		p.Has("The result of d00000000001 waits for review.")
		if diff := cmp.Diff([]string{"collect " + tuitest.RunUncollect}, a.Calls); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLogFollowsAndPauses(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("2", "j", "l")
		p.Has("following", "of 400")
		go a.Print("a new line came")
		p.Pass(time.Second)
		p.Has("a new line came", "of 401")
		p.Type("k", "k", "pgup")
		go a.Print("another line")
		p.Pass(time.Second)
		p.Lacks("another line")
		p.Has("1 new")
		p.Type("G")
		p.Has("another line", "following")
	})
}

func TestUnexpectedPanicEndsInOrder(t *testing.T) {
	for name, explode := range map[string]func(p *tuitest.Pump, a *tuitest.Arena){
		"in a command": func(p *tuitest.Pump, a *tuitest.Arena) {
			a.Change(func(a *tuitest.Arena) { a.LogLine = func(int64) protocol.LogLine { panic("boom") } })
			p.Type("2", "j", "l")
		},
		"in the stream of a log": func(p *tuitest.Pump, a *tuitest.Arena) {
			a.Explode = "boom"
			p.Type("2", "j", "l")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
				explode(p, a)
				if !p.Quit {
					t.Fatal("the dashboard goes on")
				}
				var crash screen.Crash
				if err := p.Model.Err(); !errors.As(err, &crash) || crash.Value != "boom" || !strings.Contains(crash.Stack, "panic") {
					t.Errorf("the crash is %v", err)
				}
				if p.Model.View() != "" {
					t.Error("something is still drawn")
				}
			})
		})
	}
}

// Where the cursor cannot be moved, the overview is printed once.
func TestPrint(t *testing.T) {
	now := time.Date(2031, 5, 6, 8, 0, 0, 0, time.UTC)
	var out strings.Builder
	o := tuitest.Options(tuitest.Sample(now))
	o.Out, o.Now = &out, func() time.Time { return now }
	if err := tui.Print(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	tuitest.Golden(t, "print", out.String())
	a := tuitest.Sample(now)
	a.Down = client.ErrNetwork
	o.Client = a
	if err := tui.Print(t.Context(), o); !errors.Is(err, client.ErrNetwork) {
		t.Errorf("an arena that is away is %v", err)
	}
}

// Letters that arrive in one read are keys all the same.
func TestFastTyping(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, _ *tuitest.Arena) {
		p.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("2jjy")})
		p.Has("Copied run " + tuitest.RunPending2)
	})
}

// Who begins a review says so to the others, and who leaves it gives it up.
func TestClaims(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("enter", "a", "esc")
		if diff := cmp.Diff([]string{"claim " + tuitest.RunPending, "release " + tuitest.RunPending}, a.Calls); diff != "" {
			t.Error(diff)
		}
		claimed := func(until time.Time) {
			a.Change(func(a *tuitest.Arena) {
				for i, r := range a.Runs {
					if r.RunID == tuitest.RunPending {
						res := *r.Result
						res.Claim = &api.Claim{By: "bob", At: time.Now(), ExpiresAt: until}
						a.Runs[i].Result = &res
					}
				}
			})
			p.Type("esc", "r")
		}
		claimed(time.Now().Add(10 * time.Minute))
		p.Has("bob is reviewing it until")
		p.Type("3")
		p.Has("▸ claimed")
		p.Type("g", "enter", "a")
		p.Has("bob is reviewing it, until", "at the latest")
		p.Lacks("what does the evidence show")
		p.Pass(11 * time.Minute) // it ends by itself
		p.Type("a")
		p.Has("what does the evidence show")
	})
}

// An editor who was a moment faster is found out before anything is decided.
func TestClaimThatIsRefused(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		a.Change(func(a *tuitest.Arena) { a.RefuseClaim = protocol.ErrClaimed })
		p.Type("enter", "a")
		p.Has("Somebody else has just begun to review it.")
		p.Lacks("what does the evidence show")
	})
}

func TestDeedsAreListed(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("A")
		p.Has("Nothing was sent to the arena yet.")
		p.Type("1", "enter", "a", "ctrl+s", "tab", "enter", "A")
		p.Has("○ waiting", "Accept b00000000001")
		p.Type("z")
		p.Has("⊘ taken back")
		p.Type("1", "enter", "a", "ctrl+s", "tab", "enter", "A")
		p.Pass(tui.Grace)
		p.Has("✓ done", "b00000000001 is accepted.")
		a.Change(func(a *tuitest.Arena) { a.RefuseReview = protocol.ErrReviewed })
		p.Type("1", "enter", "a", "ctrl+s", "tab", "enter", "A")
		p.Pass(tui.Grace)
		p.Has("✗ refused", "This result has been reviewed.")
	})
}

// The border between two panes moves by keys and by mouse, and stays where it was
// put when the screen is left.
func TestPanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tuitest.Start(t, tuitest.Sample(time.Now()), 160, 40, nil)
		at := func() int { return strings.Index(strings.Split(p.View(), "\n")[3], "Challenges") }
		usual := at()
		p.Type(">", ">")
		if at() <= usual {
			t.Errorf("the border is at %d, was at %d", at(), usual)
		}
		moved := at()
		p.Type("2", "1")
		if at() != moved {
			t.Error("the border is forgotten")
		}
		p.Type("Z")
		if at() >= 0 {
			t.Error("both panes show")
		}
		p.Type("<")
		p.Has("Z brings the other back")
		p.Type("=")
		if at() != usual {
			t.Errorf("reset, the border is at %d", at())
		}
		x := len([]rune(strings.Split(p.View(), "\n")[3][:at()])) - 1 // cells: the row has characters of several bytes
		mouse := func(x int, action tea.MouseAction) {
			p.Send(tea.MouseMsg{X: x, Y: 5, Button: tea.MouseButtonLeft, Action: action})
		}
		mouse(x, tea.MouseActionPress)
		mouse(60, tea.MouseActionMotion)
		p.Send(tea.MouseMsg{X: 60, Y: 5, Button: tea.MouseButtonNone, Action: tea.MouseActionRelease})
		if got := len([]rune(strings.Split(p.View(), "\n")[3][:at()])) - 1; got < 59 || got > 62 {
			t.Errorf("dragged from %d to 60, the right pane begins at %d", x, got)
		}
		mouse(90, tea.MouseActionMotion)
		if got := len([]rune(strings.Split(p.View(), "\n")[3][:at()])) - 1; got > 62 {
			t.Error("the border moves after it was let go")
		}
		p.Type("2", "Z")
		p.Has("no panes side by side")
	})
}

func TestHealthSaysWhatIsWrong(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("8")
		p.Has("✓ well", "events arrive as they happen", "the disk takes writes", "Failures", "Spend")
		a.Change(func(a *tuitest.Arena) {
			a.Ready = protocol.ErrUnavailable.Detailf("Its database does not take writes.")
			at := time.Now()
			a.Runs[0].UnreachableSince, a.Budget.RemainingUSD = &at, -1_000_000
		})
		p.Pass(time.Minute)
		p.Has("✗ broken  database", "Its database does not take writes.", "more is committed than the cap")
		a.Change(func(a *tuitest.Arena) { a.Down = client.ErrNetwork })
		p.Pass(time.Minute)
		p.Has("✗ broken  connection", "no answer since")
	})
}

// What the arena's doctor finds wrong waits for a person, says what to do, and is
// for editors.
func TestDoctorsFindings(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("8")
		p.Has("✓ well    backup-age", "· open    backup-drill")
		a.Change(func(a *tuitest.Arena) {
			a.Diagnoses[0] = protocol.Diagnosis{Check: "ledger-arithmetic", Status: protocol.DiagnosisFail, Detail: "settled and reserved do not add up", Fix: "compare with the provider's bill"}
			a.Diagnoses[1] = protocol.Diagnosis{Check: "backup-age", Status: protocol.DiagnosisWarn, Detail: "there is no backup", Fix: "make one now", Safe: true}
		})
		p.Pass(2 * time.Minute)
		p.Has("✗ broken  ledger-arithmetic", "! look    backup-age", "4 things to look at of 11 checks")
		p.Type("g", "j", "j", "j")
		p.Has("make one now; arena doctor --fix does it")
		p.Type("1")
		p.Has("! doctor   ledger-arithmetic", "settled and reserved", "! doctor   backup-age")
		p.Type("g", "j", "j", "enter") // behind the reviews
		p.Has("Health 4 things")
		a.Change(func(a *tuitest.Arena) { a.Me.Editor = false })
		p.Pass(6 * time.Minute)
		p.Has("· open    doctor", "is for editors")
		p.Lacks("ledger-arithmetic")
	})
}

// What is attached is what was judged and shown, once, after asking.
func TestAttachGates(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		p.Type("4", "G", "enter", "a")
		p.Has("Attached: version 2 by mira")
		p.Type("ctrl+s")
		p.Has("Have the file judged first")
		p.Type("tab")
		p.Has("Results file: gates/")
		p.Type("tab")
		p.Has("Results file: gates/results", "results-2.json  results.json")
		p.Lacks("rest.sh")
		p.Type(".json", "enter")
		p.Has("Not attached. As version 3: 1 accepted, 1 rejected, 1 inconclusive", "✗ rejected", "rename-all", "noop rejected: 7 of 8 passed, 1 failed, 0 open")
		if diff := cmp.Diff([]string{"judge for " + tuitest.ColAurora}, a.Calls); diff != "" {
			t.Error(diff)
		}
		p.Type("x", "ctrl+s")
		p.Has("The path is another than the one that was judged")
		p.Type("backspace", "ctrl+s")
		p.Has("Attach these results?", "version 3 of the verdict")
		p.Type("enter") // Cancel has the focus
		if len(a.Calls) != 1 {
			t.Errorf("attached without being asked to: %q", a.Calls)
		}
		p.Type("ctrl+s", "tab", "enter")
		if diff := cmp.Diff([]string{"judge for " + tuitest.ColAurora, "attach to " + tuitest.ColAurora}, a.Calls); diff != "" {
			t.Error(diff)
		}
		p.Has("Version 3 of the verdict is attached")
		p.Type("tab")
		p.Has("Verdicts 3", "pack-files", "25.0%")
	})
}

func TestAttachThatIsRefused(t *testing.T) {
	inBubble(t, func(p *tuitest.Pump, a *tuitest.Arena) {
		a.Change(func(a *tuitest.Arena) {
			a.RefuseAttach = protocol.ErrPlanChanged.Detailf("The results were made for another plan.")
		})
		p.Type("4", "G", "enter", "a", "gates/results.json", "enter")
		p.Has("✗ The results were made for another plan.")
		p.Type("ctrl+s")
		p.Has("Have the file judged first")
	})
}
