package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/posttrainarena/arena/configs"
)

// systemdCmd prints a unit file.
type systemdCmd struct {
	dataFlag
	Configs string `placeholder:"DIR" help:"Directory laid over the embedded configuration."`
	User    string `placeholder:"NAME" default:"arena" help:"The account that the arena runs under."`
	Env     string `placeholder:"FILE" help:"A file with the environment variables that the configuration names, mode 0600."`
}

// unit is everything but what depends on the flags. What is written is the data
// directory alone; a newer database and a usage error do not become better by
// starting again.
const unit = `[Unit]
Description=PostTrain Arena
After=network-online.target
Wants=network-online.target

[Service]
Type=exec
ExecStart=%s
User=%s
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=%d %d
TimeoutStopSec=15
LimitNOFILE=16384
LimitCORE=0
UMask=0077
%s
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths=%s
PrivateTmp=yes
PrivateDevices=yes
ProtectProc=invisible
ProcSubset=pid
ProtectClock=yes
ProtectHostname=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=multi-user.target
`

// Run prints the unit on standard output.
func (cmd *systemdCmd) Run(_ context.Context, env *environ) error {
	data, err := cmd.dir(env)
	if err != nil {
		return err
	}
	cfg, err := loadConfig(cmd.Configs)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary: %w", err)
	}
	words := []string{self, "serve", "--data", data}
	if cmd.Configs != "" {
		words = append(words, "--configs", cmd.Configs)
	}
	for i, w := range words {
		if filepath.IsAbs(w) || i == 1 || strings.HasPrefix(w, "--") {
			continue
		}
		if words[i], err = filepath.Abs(w); err != nil {
			return err
		}
	}
	data = words[3]
	text := fmt.Sprintf(unit, quoteUnit(words...), quoteUnit(cmd.User), exitUsage, exitNewer, unitExtras(cfg, cmd.Env), quoteUnit(data))
	if _, err := fmt.Fprint(env.Stdout, text); err != nil {
		return err
	}
	env.say("Save it as /etc/systemd/system/arena.service; make the account and %s first:", data)
	env.say("  useradd --system --home-dir %s %s && install -d -m 0700 -o %s %s", argument(data), argument(cmd.User), argument(cmd.User), argument(data))
	return nil
}

// unitExtras are the lines that the configuration decides.
func unitExtras(cfg configs.Config, envFile string) string {
	var lines []string
	if envFile != "" {
		lines = append(lines, "EnvironmentFile="+quoteUnit(envFile))
	}
	if cfg.Arena.Providers.Default == "local" {
		lines = append(lines, "# Jobs of the local provider go on while the arena restarts.", "KillMode=process")
	} else {
		lines = append(lines, "KillMode=mixed")
	}
	return strings.Join(lines, "\n")
}

// quoteUnit writes words as systemd reads them: quoted when they need it, with %
// and $ doubled, which would stand for something else.
func quoteUnit(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		plain := strings.NewReplacer("%", "%%", "$", "$$").Replace(w)
		if strings.ContainsAny(w, " \t\"'\\;") || w == "" {
			plain = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(plain) + `"`
		}
		out[i] = plain
	}
	return strings.Join(out, " ")
}
