package compose

import (
	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
)

// PublicSuite is a sealed suite of the configuration as everybody may see it.
func PublicSuite(cfg configs.Config, id string) protocol.Suite { return suite(cfg, cfg.Suites[id]) }
