package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/storetest"
)

// TestDeliveries queues events once, keeps what came of them, sends one again and
// forgets what has long been done.
func TestDeliveries(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	post := func(i int) {
		t.Helper()
		if _, _, err := s.PostMessage(ctx, ada(), protocol.Message{RequestID: fmt.Sprintf("message-%03d", i), Author: "ada", Body: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	list := func() []protocol.Delivery {
		t.Helper()
		rows, _, err := s.Deliveries(ctx, "ci", protocol.Page{})
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	post(1)
	must(s.QueueDeliveries(ctx, "ci", nil))(t) // the hook is new: what was before is not its
	post(2)
	for range 3 { // once, however often it is asked
		must(s.QueueDeliveries(ctx, "ci", nil))(t)
	}
	must(s.QueueDeliveries(ctx, "ci", []protocol.EventKind{protocol.EventResult}))(t)
	if rows := list(); len(rows) != 1 || rows[0].Event.Seq != 2 || rows[0].ID != protocol.DeliveryID("ci", rows[0].Event) || rows[0].Event.Kind != protocol.EventMessage || rows[0].State != protocol.DeliveryPending {
		t.Fatalf("%+v", rows)
	}
	d, ok, err := s.NextDelivery(ctx, "ci")
	id := d.ID
	if err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	nothing(t, s, func() { // tries are the arena's own; so is asking for what is tried anyway
		must(s.Redeliver(ctx, eve(), id))(t)
		tried := d.Tried(protocol.DeliveryTry{Status: 204}, clock.Now())
		for range 2 {
			if err := s.DeliveryTried(ctx, tried); err != nil {
				t.Fatal(err)
			}
		}
	})
	if _, ok, err := s.NextDelivery(ctx, "ci"); ok || err != nil {
		t.Errorf("there is still something: %v, %v", ok, err)
	}
	if rows := list(); rows[0].State != protocol.DeliveryDelivered || rows[0].Tries != 1 || rows[0].Status != 204 {
		t.Errorf("%+v", rows)
	}
	_, before := effects(t, s)
	if d := must(s.Redeliver(ctx, eve(), id))(t); d.State != protocol.DeliveryPending || d.Tries != 0 {
		t.Errorf("%+v", d)
	}
	if _, after := effects(t, s); after != before+1 {
		t.Errorf("%d audit rows, want one", after-before)
	}
	_, err = s.Redeliver(ctx, eve(), "ci-1")
	wantError(t, err, protocol.ErrNotFound)

	clock.Advance(40 * 24 * time.Hour) // what is still tried stays
	must(s.QueueDeliveries(ctx, "ci", nil))(t)
	d, _, err = s.NextDelivery(ctx, "ci")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeliveryTried(ctx, d.Tried(protocol.DeliveryTry{Status: 200}, clock.Now())); err != nil {
		t.Fatal(err)
	}
	clock.Advance(31 * 24 * time.Hour)
	must(s.QueueDeliveries(ctx, "ci", nil))(t)
	if rows := list(); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
}

// TestARestoredArenaRepeatsNoDeliveryID restores a backup after more has happened. What
// happens then has numbers that were given before, and is not taken for what was sent
// under them; what was on its way in the backup is the same delivery as ever.
func TestARestoredArenaRepeatsNoDeliveryID(t *testing.T) {
	ctx := context.Background()
	dir, clock := filepath.Join(t.TempDir(), "data"), storetest.NewClock()
	o := store.Options{Dir: dir, Now: clock.Now}
	s := must(store.Open(ctx, o))(t)
	post := func(text string) {
		t.Helper()
		clock.Advance(time.Second)
		if _, _, err := s.PostMessage(ctx, ada(), protocol.Message{RequestID: "message-" + text, Author: "ada", Body: text}); err != nil {
			t.Fatal(err)
		}
		must(s.QueueDeliveries(ctx, "ci", nil))(t)
	}
	byEvent := func() map[int64]string {
		t.Helper()
		rows, _, err := s.Deliveries(ctx, "ci", protocol.Page{})
		if err != nil {
			t.Fatal(err)
		}
		ids := map[int64]string{}
		for _, d := range rows {
			ids[d.Event.Seq] = d.ID
		}
		return ids
	}
	must(s.QueueDeliveries(ctx, "ci", nil))(t)
	post("kept")
	file := filepath.Join(t.TempDir(), "copy.db")
	must(s.Backup(ctx, file))(t)
	post("lost")
	before := byEvent()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	must(store.Restore(ctx, o, file))(t)
	s = storetest.OpenDir(t, dir, clock)
	post("other")
	after := byEvent()
	if len(before) != 2 || len(after) != 2 || before[1] != after[1] || before[2] == "" || after[2] == "" || before[2] == after[2] {
		t.Errorf("before the restore %v, after it %v", before, after)
	}
}

// TestHookHealth counts what became of deliveries, by webhook.
func TestHookHealth(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	if all := must(s.HookHealth(ctx))(t); len(all) != 0 {
		t.Errorf("without a webhook: %+v", all)
	}
	must(s.QueueDeliveries(ctx, "ci", nil))(t)
	must(s.QueueDeliveries(ctx, "idle", []protocol.EventKind{protocol.EventResult}))(t)
	var made []time.Time
	for i := range 4 {
		made = append(made, clock.Advance(time.Minute))
		if _, _, err := s.PostMessage(ctx, ada(), protocol.Message{RequestID: fmt.Sprintf("message-%03d", i), Author: "ada", Body: "x"}); err != nil {
			t.Fatal(err)
		}
		must(s.QueueDeliveries(ctx, "ci", nil))(t)
	}
	try := func(problem string, times int) protocol.Delivery {
		t.Helper()
		d, _, err := s.NextDelivery(ctx, "ci")
		if err != nil {
			t.Fatal(err)
		}
		for range times {
			d = d.Tried(protocol.DeliveryTry{Status: 500, Problem: problem}, clock.Advance(time.Second))
			if err := s.DeliveryTried(ctx, d); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	try("", 1)
	try("it answered 500", 8)
	last := try("it answered 500", 2) // and is still tried
	want := []protocol.HookHealth{
		{Name: "ci", Pending: 2, Delivered: 1, Failed: 1, Oldest: made[2], Tries: 2, Last: last},
		{Name: "idle"},
	}
	if diff := cmp.Diff(want, must(s.HookHealth(ctx))(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
