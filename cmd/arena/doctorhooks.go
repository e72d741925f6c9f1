package main

import (
	"context"
	"fmt"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// checkHookSettings requires that the arena would start with its webhooks. Secrets are
// not read.
func (d *doctor) checkHookSettings() {
	hooks, err := hookSettings(d.config)
	if err != nil {
		d.fail("webhook-settings", "put the line right: the arena does not start like this", "%v", err)
		return
	}
	d.ok("webhook-settings", "%s", counted(len(hooks), "webhook"))
}

// hookForgotten is how long events wait for a webhook that was taken out of the
// configuration before that is nobody's oversight any more.
const hookForgotten = 30 * 24 * time.Hour

// checkHooks judges what receivers do with what they are sent, and finds events that
// wait for one that nothing is sent to.
func (d *doctor) checkHooks(ctx context.Context) {
	all, err := d.store.HookHealth(ctx)
	if err != nil {
		d.fail("webhooks", "", "%v", err)
		return
	}
	var failing, off []string
	waiting, lost := 0, 0
	for _, h := range all {
		_, on := d.config.Arena.Webhooks[h.Name]
		switch {
		case !on:
			if h.Pending > 0 && d.now().Sub(h.Oldest) < hookForgotten {
				off = append(off, fmt.Sprintf("%s (%s since %s)", h.Name, counted(h.Pending, "event"), h.Oldest.Format(time.RFC3339)))
			}
		case h.Failing():
			failing = append(failing, hookTrouble(h))
		default:
			waiting, lost = waiting+h.Pending, lost+h.Failed
		}
	}
	well := fmt.Sprintf("%s on the way", counted(waiting, "event"))
	if lost > 0 {
		well += fmt.Sprintf("; %d were given up, arena webhook redeliver ID sends one again", lost)
	}
	d.none("webhooks", failing, protocol.DiagnosisWarn,
		"mend the receiver, or take its [webhooks.NAME] out of arena.toml; arena webhook list --webhook NAME shows each event, arena webhook redeliver ID sends one again that was given up",
		well, "not taken")
	d.none("webhooks-off", off, protocol.DiagnosisWarn,
		"put [webhooks.NAME] back into arena.toml to have them sent; without it they stay, and this warning goes after 30 days",
		"nothing waits for a webhook that is switched off", "nothing is sent to them, and events wait")
}

// hookTrouble says how a receiver fails, in words that hold nothing of its address.
func hookTrouble(h protocol.HookHealth) string {
	text := fmt.Sprintf("%s (%s at %s", h.Name, h.Last.Problem, h.Last.UpdatedAt.Format(time.RFC3339))
	if h.Pending > 0 {
		text += fmt.Sprintf("; %s waits since %s", counted(h.Pending, "event"), h.Oldest.Format(time.RFC3339))
	}
	if h.Failed > 0 {
		text += fmt.Sprintf("; %d given up", h.Failed)
	}
	return text + ")"
}
