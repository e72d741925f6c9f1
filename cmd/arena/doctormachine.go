package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/compose"
	"github.com/posttrainarena/arena/store"
)

// httpTransport is what doctor asks the outside world through.
type httpTransport = http.RoundTripper

func decodeHash(text string) (hash [32]byte, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(hash) {
		return hash, fmt.Errorf("%q is no SHA-256", text)
	}
	return [32]byte(raw), nil
}

func removeAll(names []string) (err error) {
	for _, name := range names {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err
}

// checkConfig loads and composes the configuration.
func (d *doctor) checkConfig() {
	cfg, err := loadConfig(d.overlay)
	if err != nil {
		d.fail("config", "arena config check names each problem with file and line", "%v", err)
		if d.config, err = configs.Default(); err != nil {
			return
		}
	} else {
		d.config = cfg
		if err := compose.Check(cfg); err != nil {
			d.fail("config", "arena config check names each problem", "%v", err)
		} else {
			d.ok("config", "%s compose", counted(len(cfg.Challenges), "challenge"))
		}
	}
	read, err := readSealedHere(d.config)
	switch later := len(sealedElsewhere(d.config)); {
	case err != nil:
		d.fail("sealed-suites", "put the tasks where arena.toml says they are", "%v", err)
	case later > 0:
		d.ok("sealed-suites", "%s readable, %s in private datasets, which only a start reads", counted(len(read), "suite"), counted(later, "suite"))
	default:
		d.ok("sealed-suites", "%s readable", counted(len(read), "suite"))
	}
	d.checkListen()
	d.checkHookSettings()
	d.checkEnvironment()
	d.checkImages()
}

// checkImages requires that runs which are compared with each other are made with the
// same software: an image by a name that can move lets it change between them.
func (d *doctor) checkImages() {
	used := map[string]bool{}
	for _, c := range d.config.Challenges {
		name := cmp.Or(c.Compute.Provider, d.config.Arena.Providers.Default)
		used[name] = used[name] || compose.Image(d.config, name) != ""
	}
	var loose, versions []string
	for _, name := range slices.Sorted(maps.Keys(used)) {
		image := compose.Image(d.config, name)
		if digest, version := compose.PinnedImage(image); image == "" || digest {
			continue
		} else if version {
			versions = append(versions, image)
		} else {
			loose = append(loose, fmt.Sprintf("providers.%s.image %s", name, image))
		}
	}
	const fix = "pin it by what it contains, NAME@sha256:…, which `docker buildx imagetools inspect NAME` prints; then start the challenge's runs anew that should compare"
	switch {
	case len(loose) > 0:
		d.warn("job-images", fix, "two runs of a challenge may train with other software: %s", strings.Join(loose, ", "))
	case len(versions) > 0:
		d.ok("job-images", "%s; a version can be published again, which a digest (@sha256:) rules out", strings.Join(versions, ", "))
	case slices.Contains(slices.Collect(maps.Values(used)), true):
		d.ok("job-images", "pinned by digest")
	default:
		d.skip("job-images", "no challenge's jobs run in a container image")
	}
}

func (d *doctor) checkListen() {
	server := d.config.Arena.Server
	host, _, err := net.SplitHostPort(server.Listen)
	ip := net.ParseIP(host)
	switch base := server.BaseURL; {
	case err != nil:
		d.fail("listen", "write host:port, such as 127.0.0.1:7860", "server.listen is %q", server.Listen)
	case strings.HasPrefix(base, "https://"), base == "" && (host == "localhost" || ip.IsLoopback()):
		d.ok("listen", "%s, reached as %s", server.Listen, nonEmpty(base, "http://"+server.Listen))
	default:
		d.warn("listen", "put a proxy with TLS in front and write its https address into server.base_url: the command line refuses plain http to another machine", "%s, reached as %s", server.Listen, nonEmpty(base, "http://"+server.Listen))
	}
}

func nonEmpty(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// checkEnvironment requires that the variables are set that the configuration
// names for secrets. Values are never looked at.
func (d *doctor) checkEnvironment() {
	a := d.config.Arena
	var missing []string
	type variable struct {
		used bool
		name string
	}
	all := []variable{
		{a.Identity.Mode == configs.IdentityHub, a.Identity.OAuth.ClientSecretEnv},
		{a.Sources.Dataset.Enabled, a.Sources.Dataset.TokenEnv},
		{a.Sources.GitHub.Enabled, a.Sources.GitHub.TokenEnv},
		{a.Providers.Default == compose.ProviderHuggingFace, a.Providers.HuggingFace.TokenEnv},
	}
	for _, id := range sealedElsewhere(d.config) {
		all = append(all, variable{true, compose.SuiteSource(d.config, id).TokenEnv})
	}
	for _, name := range slices.Sorted(maps.Keys(a.Webhooks)) {
		all = append(all, variable{true, a.Webhooks[name].SecretEnv})
	}
	for _, v := range all {
		if v.used && v.name != "" && d.getenv(v.name) == "" {
			missing = append(missing, v.name)
		}
	}
	d.none("environment", missing, protocol.DiagnosisWarn, "set them where the arena is started (systemd: EnvironmentFile); this check sees only its own environment", "every variable that the configuration needs is set", "not set here")
}

// checkDirectory looks at the data directory. What follows needs one.
func (d *doctor) checkDirectory() bool {
	info, err := os.Stat(d.dir)
	if err != nil || !info.IsDir() {
		d.fail("data-directory", "name it with --data, or start an arena, which makes it", "%s is not a directory that can be read", d.dir)
		return false
	}
	d.ok("data-directory", "%s", d.dir)
	d.private("directory-mode", d.dir, 0o700, 0o700)
	d.private("database-mode", filepath.Join(d.dir, store.DatabaseName), 0o600, 0o600)
	d.private("token-mode", filepath.Join(d.dir, organizerFile), 0o600, 0o400)
	if probe, err := os.CreateTemp(d.dir, ".doctor-*"); err != nil {
		d.fail("writable", "give it to the account that the arena runs under", "no file can be made in %s: %v", d.dir, err)
	} else {
		d.ok("writable", "files can be made")
		_ = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	return true
}

// private requires that nobody but the owner may use a file, and that the owner
// may do with it what is needed.
func (d *doctor) private(check, path string, mode, needed os.FileMode) {
	info, err := os.Stat(path)
	switch {
	case notThere(err):
		d.skip(check, "%s is not there", filepath.Base(path))
	case err != nil:
		d.fail(check, "", "%v", err)
	case info.Mode().Perm()&0o077 != 0:
		d.mend(check, protocol.DiagnosisFail, fmt.Sprintf("chmod %o %s", mode, argument(path)), func() error { return os.Chmod(path, mode) }, "others may use %s (mode %o)", filepath.Base(path), info.Mode().Perm())
	case info.Mode().Perm()&needed != needed:
		d.mend(check, protocol.DiagnosisFail, fmt.Sprintf("chmod %o %s", mode, argument(path)), func() error { return os.Chmod(path, mode) }, "not even its own account may use %s (mode %o)", filepath.Base(path), info.Mode().Perm())
	default:
		d.ok(check, "%s has mode %o", filepath.Base(path), info.Mode().Perm())
	}
}

// checkDatabase opens the database to look at it and checks it as a file. What
// follows needs it.
func (d *doctor) checkDatabase(ctx context.Context) bool {
	d.ok("sqlite", "%s", store.SQLiteVersion())
	if d.store == nil {
		o := store.Options{Dir: d.dir, Now: d.now}
		who, err := store.Owner(d.dir)
		if d.owned = who != ""; err != nil {
			d.warn("owner", "", "%v", err)
		} else if d.owned {
			d.ok("owner", "an arena runs: %s", who)
		} else {
			d.ok("owner", "no arena runs on this directory")
		}
		if d.store, err = store.OpenReading(ctx, o); err != nil {
			d.store = nil
			d.judgeOpening(ctx, o, err)
			return false
		}
	} else {
		d.owned = true
		d.ok("owner", "this arena")
	}
	d.ok("schema", "the migrations are those of this version")
	d.checkDisk()
	if !d.deep {
		d.skip("integrity", "arena doctor on its machine reads the whole database")
		d.skip("audit-chain", "arena audit verify on its machine recomputes it")
		d.skip("audit-records", "arena audit verify on its machine compares them")
		return true
	}
	if err := d.store.Integrity(ctx); err != nil {
		d.fail("integrity", "stop the arena and restore a backup", "%v", err)
		return false
	}
	d.ok("integrity", "structure, indexes and references are sound")
	if err := d.store.VerifyAudit(ctx); err != nil {
		d.fail("audit-chain", "find out who has access to the file, and compare with a backup", "%v", err)
	} else {
		d.ok("audit-chain", "every hash fits")
	}
	if differ, err := d.store.VerifyRecords(ctx); err != nil {
		d.fail("audit-records", "", "%v", err)
	} else {
		d.none("audit-records", differ, protocol.DiagnosisFail, recordsFix, "runs, results, collections, verdicts and tokens are what the audit trail says", "not what the audit trail says")
	}
	return true
}

// recordsFix is what to do about records that somebody changed past the arena.
const recordsFix = "somebody changed the database beside the arena: find out who has access to the file, and compare with a backup"

// judgeOpening says why a database cannot be looked at.
func (d *doctor) judgeOpening(ctx context.Context, o store.Options, err error) {
	switch {
	case notThere(err):
		d.fail("schema", "start an arena, which makes it, or restore a backup", "there is no database in %s", d.dir)
	case errors.Is(err, store.ErrNewerSchema):
		d.fail("schema", "run the newer arena", "%v", err)
	default:
		if r, rehearsal := store.Rehearse(ctx, o); rehearsal == nil && len(r.Pending) > 0 {
			d.warn("schema", "arena migrate --data "+argument(d.dir)+", or start the arena, which does it too", "%s to apply; a rehearsal on a copy went well", counted(len(r.Pending), "migration"))
			return
		}
		d.fail("schema", "restore a backup", "%v", err)
	}
}

func (d *doctor) checkDisk() {
	database, _, free, err := d.store.Disk()
	floor := int64(d.config.Arena.Limits.DiskFloorMiB) << 20
	switch {
	case err != nil:
		d.fail("disk", "", "%v", err)
	case free < floor:
		d.fail("disk", "make room: below the floor the arena takes nothing new", "%d MiB are free, the floor is %d MiB", free>>20, floor>>20)
	case free < 2*database+floor:
		d.warn("disk", "make room, or put backups.directory on another disk", "%d MiB are free: not enough for a backup of %d MiB and its drill", free>>20, database>>20)
	default:
		d.ok("disk", "%d MiB are free; the database has %d MiB", free>>20, database>>20)
	}
	if name, err := store.NetworkDisk(d.dir); err != nil || name != "" {
		d.fail("local-disk", "move the data directory to a local disk: locks of network disks can lose writes", "the data directory is on %s", nonEmpty(name, "a disk that cannot be asked"))
	} else {
		d.ok("local-disk", "the data directory is on a local disk")
	}
}

// Descriptors that an arena with many streams and uploads needs.
const leastFiles = 1024

func (d *doctor) checkMachine() {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		d.skip("open-files", "%v", err)
	} else if files.Cur < leastFiles {
		d.warn("open-files", "raise it (systemd: LimitNOFILE)", "this account may open %d files", files.Cur)
	} else {
		d.ok("open-files", "%d may be open", files.Cur)
	}
	if local := d.config.Arena.Providers.Local; d.config.Arena.Providers.Default != compose.ProviderLocal || len(local.Command) == 0 {
		d.skip("local-pipeline", "runs do not go to this machine")
	} else if path, err := exec.LookPath(local.Command[0]); err != nil {
		d.fail("local-pipeline", "install it, or name its path in providers.local.command", "%v", err)
	} else {
		d.ok("local-pipeline", "%s", path)
	}
	socket := "/var/run/docker.sock"
	if host := d.getenv("DOCKER_HOST"); strings.HasPrefix(host, "unix://") {
		socket = strings.TrimPrefix(host, "unix://")
	}
	if conn, err := net.DialTimeout("unix", socket, time.Second); err != nil {
		d.skip("container-engine", "none answers at %s: needed only for arena gates run and episodes", socket)
	} else {
		d.ok("container-engine", "one answers at %s", socket)
		_ = conn.Close()
	}
}

// outsideTimeout bounds each question to the outside.
const outsideTimeout = 5 * time.Second

// checkOutside asks the services that the configuration names whether they
// answer, and how far the clock is from theirs.
func (d *doctor) checkOutside(ctx context.Context) {
	a := d.config.Arena
	for _, s := range []struct {
		check, address string
		used           bool
	}{
		{"hub", a.Identity.HubURL, a.Identity.Mode == configs.IdentityHub || a.Sources.Dataset.Enabled},
		{"code-host", a.Sources.GitHub.APIURL, a.Sources.GitHub.Enabled},
	} {
		switch {
		case !s.used:
			d.skip(s.check, "the configuration does not use it")
		case !d.online:
			d.skip(s.check, "ask with --online")
		default:
			d.askOutside(ctx, s.check, s.address)
		}
	}
}

func (d *doctor) askOutside(ctx context.Context, check, address string) {
	ctx, cancel := context.WithTimeout(ctx, outsideTimeout)
	defer cancel()
	host := address
	if u, err := url.Parse(address); err == nil {
		host = u.Host
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		d.fail(check, "correct its address in arena.toml", "%v", err)
		return
	}
	res, err := d.transport.RoundTrip(req)
	if err != nil {
		d.fail(check, "look at the network, at a proxy, and at its status page", "%s does not answer: %v", host, err)
		return
	}
	_, _ = io.CopyN(io.Discard, res.Body, 4096)
	_ = res.Body.Close()
	const drift = 30 * time.Second
	if theirs, err := http.ParseTime(res.Header.Get("Date")); err == nil && d.now().Sub(theirs).Abs() > drift {
		d.warn(check, "set the machine's clock right (timedatectl)", "%s answers, and its clock differs by %s", host, d.now().Sub(theirs).Abs().Round(time.Second))
		return
	}
	d.ok(check, "%s answers", host)
}
