package store_test

import (
	"context"
	"crypto/sha256"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/storetest"
)

func TestAnErrandBesideARunningArena(t *testing.T) {
	ctx := context.Background()
	owner, clock := storetest.Open(t)
	beside, err := store.OpenBeside(ctx, store.Options{Dir: owner.Dir(), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte("secret"))
	if err := beside.CreateToken(ctx, arena(), protocol.Token{ID: "t1", Name: "ada"}, hash); err != nil {
		t.Fatal(err)
	}
	if err := beside.Close(); err != nil {
		t.Fatal(err)
	}
	if k := must(owner.TokenByHash(ctx, hash))(t); k.Name != "ada" {
		t.Errorf("the owner sees %+v", k)
	}
	storetest.Submit(t, owner, "ada", "tools") // the owner works on
	if _, err := store.Open(ctx, store.Options{Dir: owner.Dir(), Now: clock.Now}); err == nil {
		t.Error("the errand gave the owner's directory away")
	}
}
