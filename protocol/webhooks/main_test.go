package webhooks_test

import (
	"os"
	"testing"

	"github.com/posttrainarena/arena/protocol/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }
