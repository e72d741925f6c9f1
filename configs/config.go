package configs

import "github.com/pelletier/go-toml/v2"

// Config is a whole configuration, checked as far as this package can.
type Config struct {
	Arena       Arena
	Challenges  map[string]Challenge // by id
	Models      map[string]Model     // by id
	Suites      map[string]Suite     // by id
	Methods     map[string]Method    // by id
	KnownIssues []KnownIssue         // in the order in which they are tried
}

// Arena is arena.toml: what one installation decides for itself.
type Arena struct {
	Origin    Origin                  `toml:"-"`
	Server    Server                  `toml:"server"`
	Limits    Limits                  `toml:"limits"`
	Stalled   Stalled                 `toml:"stalled"`
	Backups   Backups                 `toml:"backups"`
	Budget    Budget                  `toml:"budget"`
	Identity  Identity                `toml:"identity"`
	Sources   Sources                 `toml:"sources"`
	Relay     Relay                   `toml:"relay"`
	Providers Providers               `toml:"providers"`
	Flavors   map[string]Flavor       `toml:"flavors"`  // by the provider's name for them
	Tracks    map[string]Track        `toml:"tracks"`   // by id
	Suites    map[string]SealedSource `toml:"suites"`   // by suite id; replaces the suite's own source
	Webhooks  map[string]Webhook      `toml:"webhooks"` // by name
}

// Server says where the arena listens and how it is reached.
type Server struct {
	Listen  string `toml:"listen"`   // host:port
	BaseURL string `toml:"base_url"` // without a slash at the end; empty: http:// and Listen
	// FrameAncestors are the https origins of other sites that may show the arena's
	// pages in a frame; empty: none.
	FrameAncestors []string `toml:"frame_ancestors"`
}

// Limits bounds what one caller may send or ask for.
type Limits struct {
	JSONBodyBytes      int64 `toml:"json_body_bytes"`
	BundleBytes        int64 `toml:"bundle_bytes"`
	ValidationsPerHour int   `toml:"validations_per_hour"` // one person's
	MessagesPerHour    int   `toml:"messages_per_hour"`    // one person's
	DiskFloorMiB       int   `toml:"disk_floor_mib"`       // free space below which nothing new is taken

	ReadsPerMinute  int `toml:"reads_per_minute"`  // one address's or person's; 0 means no bound
	WritesPerMinute int `toml:"writes_per_minute"` // one person's, or an address's without one; 0 means no bound
	FailedPerMinute int `toml:"failed_per_minute"` // requests of one address with an unknown token; 0 means no bound
	StreamsPerOwner int `toml:"streams_per_owner"` // open event streams of one address or person; 0 means no bound
}

// Backups says how a running arena backs itself up.
type Backups struct {
	EveryHours int    `toml:"every_hours"` // 0 means never
	Keep       int    `toml:"keep"`        // of them, the newest
	Directory  string `toml:"directory"`   // relative to the data directory
	Drill      bool   `toml:"drill"`       // restore each into a scratch directory
}

// Relay bounds the tunnel between a run's job and the arena.
type Relay struct {
	GraceSeconds int `toml:"grace_seconds"` // how long a broken tunnel counts as reconnecting
	InFlight     int `toml:"in_flight"`     // calls of one run at a time
}

// Stalled says after how many minutes a run that waits for one thing counts as
// stalled; 0 means never.
type Stalled struct {
	NoJobMinutes       int `toml:"no_job_minutes"`      // its launch is not confirmed
	NoOutputMinutes    int `toml:"no_output_minutes"`   // its job has printed nothing
	SilenceMinutes     int `toml:"silence_minutes"`     // its log does not grow
	CancelMinutes      int `toml:"cancel_minutes"`      // it goes on after it was to be canceled
	UnreachableMinutes int `toml:"unreachable_minutes"` // its provider does not answer
}

// Budget is the money that runs may use.
type Budget struct {
	Cap            Dollars `toml:"cap"`             // in all; it does not reset
	PriorAllowance Dollars `toml:"prior_allowance"` // spent before the ledger began
}

// Identity says who vouches for people and who is an editor.
type Identity struct {
	Mode               string `toml:"mode"` // local or hub
	EditorOrganization string `toml:"editor_organization"`
	HubURL             string `toml:"hub_url"`
	WhoamiCacheSeconds int    `toml:"whoami_cache_seconds"`
	OAuth              OAuth  `toml:"oauth"`
}

// The modes of identity.
const (
	IdentityLocal = "local" // tokens of the arena alone
	IdentityHub   = "hub"   // tokens and sign-in of the hub besides
)

// OAuth is the application that the arena is registered as at the hub.
type OAuth struct {
	ClientID        string `toml:"client_id"`         // empty: nobody signs in with a browser
	ClientSecretEnv string `toml:"client_secret_env"` // name of the variable that holds the secret; empty for a public application
}

// Sources says where collections may live besides uploads.
type Sources struct {
	CacheMiB int           `toml:"cache_mib"` // files kept by their hash
	Dataset  DatasetSource `toml:"dataset"`
	GitHub   GitHubSource  `toml:"github"`
}

// DatasetSource sets up datasets of the hub as sources.
type DatasetSource struct {
	Enabled  bool   `toml:"enabled"`
	TokenEnv string `toml:"token_env"` // name of the variable that holds the arena's own token; empty for none
}

// GitHubSource sets up GitHub repositories as sources.
type GitHubSource struct {
	Enabled    bool   `toml:"enabled"`
	TokenEnv   string `toml:"token_env"` // name of the variable that holds the arena's own token; empty for none
	APIURL     string `toml:"api_url"`
	ArchiveURL string `toml:"archive_url"`
	RawURL     string `toml:"raw_url"`
}

// Providers says who runs jobs, and how each provider is set up.
type Providers struct {
	Default     string              `toml:"default"` // the name of one of the others
	Simulated   SimulatedProvider   `toml:"simulated"`
	Local       LocalProvider       `toml:"local"`
	HuggingFace HuggingFaceProvider `toml:"huggingface"`
	Kubernetes  KubernetesProvider  `toml:"kubernetes"`
}

// SimulatedProvider sets up the provider that only plays runs.
type SimulatedProvider struct {
	Seed      int64   `toml:"seed"`
	Speed     float64 `toml:"speed"`      // simulated seconds in a real one
	FaultRate float64 `toml:"fault_rate"` // share of runs that stop on a platform fault, 0 to 1
}

// LocalProvider sets up the provider that runs the pipeline on this machine.
type LocalProvider struct {
	Command      []string `toml:"command"`        // the run's config file is appended
	Directory    string   `toml:"directory"`      // relative to the data directory
	Environment  []string `toml:"environment"`    // names of variables that the command gets besides the harmless ones
	GraceSeconds int      `toml:"grace_seconds"`  // between asking the command to stop and making it
	KeepDays     int      `toml:"keep_days"`      // that a job's directory stays after its end; 0 means for ever
	PricePerHour Dollars  `toml:"price_per_hour"` // of this machine, whatever a flavor is called
}

// HuggingFaceProvider sets up the provider that starts Hugging Face Jobs.
type HuggingFaceProvider struct {
	Namespace   string `toml:"namespace"`
	RunsDataset string `toml:"runs_dataset"`
	TokenEnv    string `toml:"token_env"` // name of the variable that holds the token

	Image         string   `toml:"image"`          // container image that jobs run in
	Secrets       []string `toml:"secrets"`        // names of variables that every job gets as secrets
	SettleSeconds int      `toml:"settle_seconds"` // how long a new job may take to be listed
}

// KubernetesProvider sets up the provider that runs jobs on a cluster.
type KubernetesProvider struct {
	Kubeconfig     string                      `toml:"kubeconfig"` // path; empty: the service account of the arena's own pod
	Context        string                      `toml:"context"`    // of the kubeconfig; empty: its current one
	Namespace      string                      `toml:"namespace"`
	Image          string                      `toml:"image"`
	Command        []string                    `toml:"command"`         // the run's config file is appended
	ServiceAccount string                      `toml:"service_account"` // of the jobs; empty: the namespace's default
	VolumeClaim    string                      `toml:"volume_claim"`    // holds the jobs' files
	Directory      string                      `toml:"directory"`       // the same storage on this machine
	GPUResource    string                      `toml:"gpu_resource"`
	QueueMinutes   int                         `toml:"queue_minutes"` // that a job may wait for hardware
	GraceSeconds   int                         `toml:"grace_seconds"` // between asking the command to stop and making it
	KeepDays       int                         `toml:"keep_days"`     // that a job and its files stay after its end; 0 means for ever
	Environment    map[string]string           `toml:"environment"`   // values of variables
	Secrets        map[string]string           `toml:"secrets"`       // variable → name of a secret/key in it
	Flavors        map[string]KubernetesFlavor `toml:"flavors"`       // by the name of a flavor
}

// KubernetesFlavor says how a cluster is asked for a flavor, beside its GPUs.
// Amounts are Kubernetes quantities; an empty one asks for nothing.
type KubernetesFlavor struct {
	CPU          string            `toml:"cpu"`
	Memory       string            `toml:"memory"`
	SharedMemory string            `toml:"shared_memory"`
	NodeSelector map[string]string `toml:"node_selector"` // labels of the nodes that have it
}

// Flavor is a kind of hardware.
type Flavor struct {
	Description  string  `toml:"description"`
	GPUs         int     `toml:"gpus"`
	PricePerHour Dollars `toml:"price_per_hour"` // for providers without a price list
}

// Track is a place where collection records are kept.
type Track struct {
	Title string `toml:"title"`
}

// The kinds of places that sealed tasks can come from.
const (
	FromFixture   = "fixture"   // the invented tasks that ship with the arena
	FromDirectory = "directory" // a directory on this machine
	FromDataset   = "dataset"   // a private dataset at one commit
)

// SealedSource says where the tasks of a sealed suite are read from.
type SealedSource struct {
	From     string `toml:"from"`                     // FromFixture, FromDirectory or FromDataset
	Path     string `toml:"path" optional:"true"`     // of the directory, or inside the dataset
	RepoID   string `toml:"repo_id" optional:"true"`  // of the dataset; empty: the suite's own
	Revision string `toml:"revision" optional:"true"` // of the dataset; empty: the suite's own

	// Where the token that may read the dataset is; exactly one of both is set.
	TokenEnv  string `toml:"token_env" optional:"true"`  // name of an environment variable
	TokenFile string `toml:"token_file" optional:"true"` // path of a file that holds nothing else
}

// Webhook is a program elsewhere that is told what happens.
type Webhook struct {
	URL          string   `toml:"url"`
	Events       []string `toml:"events" optional:"true"`        // kinds as in /api/events; empty: all
	AllowPrivate bool     `toml:"allow_private" optional:"true"` // it may be on this machine or its network

	// Where the secret that signs is; exactly one of both is set.
	SecretEnv  string `toml:"secret_env" optional:"true"`  // name of an environment variable
	SecretFile string `toml:"secret_file" optional:"true"` // path of a file that holds nothing else
}

// Challenge is challenges/<id>.toml: what participants compete on.
type Challenge struct {
	Origin      Origin         `toml:"-"`
	ID          string         `toml:"-"` // the file's name
	Title       string         `toml:"title"`
	Role        string         `toml:"role"`        // such as "smoke test"; empty for a real one
	Status      string         `toml:"status"`      // open, planned or closed
	StatusNote  string         `toml:"status_note"` // what organizers say about its state
	RunsPaused  string         `toml:"runs_paused"` // why no run may start; empty when runs may
	Description string         `toml:"description"`
	Track       string         `toml:"track"`
	Opens       toml.LocalDate `toml:"opens" optional:"true"` // zero when not announced
	Basis       []string       `toml:"basis"`                 // what is invented, in sentences
	Binding     Binding        `toml:"binding"`
	Pipeline    Pipeline       `toml:"pipeline"`
	Recipe      RecipeText     `toml:"recipe"`
	Metric      Metric         `toml:"metric"`
	Compute     Compute        `toml:"compute"`
	Baseline    *Baseline      `toml:"baseline" optional:"true"` // nil when not measured
}

// Binding names the fragments that a challenge is made of.
type Binding struct {
	Model  string   `toml:"model"`
	Method string   `toml:"method"`
	Suites []string `toml:"suites"` // in the order in which they are evaluated
}

// Pipeline pins the training code.
type Pipeline struct {
	Repo string `toml:"repo"`
	Ref  string `toml:"ref"` // 40 hex digits
}

// RecipeText is what a challenge says about its recipe, for people.
type RecipeText struct {
	Note        string `toml:"note"`
	ServingNote string `toml:"serving_note"`
}

// Metric says what a run's number is.
type Metric struct {
	Description  string `toml:"description"`
	TrialsPerRun int    `toml:"trials_per_run"`
}

// Compute is what one run may use. The hardware is the fragments' to say.
type Compute struct {
	Provider       string `toml:"provider" optional:"true"` // empty: the arena's default
	TimeoutSeconds int64  `toml:"timeout_seconds"`
	ConcurrentRuns int    `toml:"concurrent_runs"`
	RunsPerDay     int    `toml:"runs_per_submission_per_day"`
}

// Baseline is the organizers' own measurement of the base model.
type Baseline struct {
	PassRate float64 `toml:"pass_rate"` // 0 to 1
	StderrPP float64 `toml:"stderr_pp"` // percentage points
	Trials   int     `toml:"trials"`
	Note     string  `toml:"note"`
	Source   string  `toml:"source" optional:"true"` // a private link
}

// KnownIssue is one entry of known_issues.toml: a way for a run to stop.
type KnownIssue struct {
	Origin   Origin   `toml:"-"`
	ID       string   `toml:"id"`
	Stages   []string `toml:"stages" optional:"true"` // empty: any
	Pattern  string   `toml:"pattern"`                // RE2, found anywhere in the reason or note
	Class    string   `toml:"class"`                  // platform, collection or limit
	Sentence string   `toml:"sentence"`
	Advice   string   `toml:"advice"`
}
