package k8sjobs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/jobdir"
)

const (
	// container is the name of the pod's only container.
	container = "run"
	// labelRun is the label and the annotation that hold the run's id.
	labelRun = "posttrainarena/run"
	// labelManager is whose work an object is.
	labelManager = "app.kubernetes.io/managed-by"
	manager      = "posttrainarena"
	// home is the command's home directory, on the node and gone with the pod: the
	// user that it runs as is none that the image knows.
	home = jobdir.Mount + "/home"
	// namePrefix starts the name of every Job.
	namePrefix = "arena-"
	// maxName is how long the name of a Job and the value of a label may be.
	maxName = 63
)

var (
	// namePattern is a DNS label (RFC 1123), which a Job's name should be: pods are
	// named after it.
	namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	// labelPattern is what the value of a label may be.
	labelPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)
	notInName    = regexp.MustCompile(`[^a-z0-9]+`)
)

// nameOf is the name of a run's Job: the run's id where it can be one, else what is
// readable of it and a hash.
func nameOf(run string) string {
	if name := namePrefix + run; namePattern.MatchString(run) && len(name) <= maxName {
		return name
	}
	readable := strings.Trim(notInName.ReplaceAllString(strings.ToLower(run), "-"), "-")
	return namePrefix + strings.TrimSuffix(readable[:min(len(readable), 30)], "-") + "-" + digest(run)
}

// isName reports whether a job may have an id.
func isName(id string) bool { return len(id) <= maxName && namePattern.MatchString(id) }

// labelOf is the value of a run's label: its id where it can be one, else a hash.
func labelOf(run string) string {
	if len(run) <= maxName && labelPattern.MatchString(run) {
		return run
	}
	return "sha256-" + digest(run)
}

func digest(run string) string {
	sum := sha256.Sum256([]byte(run))
	return hex.EncodeToString(sum[:10])
}

// runOf is the run of a Job; empty for one that the arena has not made.
func runOf(job *batch.Job) string { return job.Annotations[labelRun] }

// isUnfinished reports whether a directory is not a job yet, or no longer.
func isUnfinished(name string) bool { return strings.HasPrefix(name, unfinished) }

// hardware is a flavor as a pod asks for it.
type hardware struct {
	resources core.ResourceList
	shared    *resource.Quantity // of /dev/shm; nil: the node's default
	selector  map[string]string
}

// ask reads a flavor's amounts.
func ask(f Flavor, gpus string) (hardware, error) {
	h := hardware{resources: core.ResourceList{}, selector: f.NodeSelector}
	if f.GPUs > 0 {
		h.resources[core.ResourceName(gpus)] = *resource.NewQuantity(int64(f.GPUs), resource.DecimalSI)
	}
	for _, amount := range []struct {
		key, text string
		take      func(resource.Quantity)
	}{
		{"cpu", f.CPU, func(q resource.Quantity) { h.resources[core.ResourceCPU] = q }},
		{"memory", f.Memory, func(q resource.Quantity) { h.resources[core.ResourceMemory] = q }},
		{"shared_memory", f.SharedMemory, func(q resource.Quantity) { h.shared = &q }},
	} {
		if amount.text == "" {
			continue
		}
		q, err := resource.ParseQuantity(amount.text)
		if err != nil || q.Sign() <= 0 {
			return h, fmt.Errorf("%s is %q and must be a quantity such as 64 or 512Gi", amount.key, amount.text)
		}
		amount.take(q)
	}
	return h, nil
}

// wholeSeconds rounds a time up to what the cluster can count.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// manifest is the Job of a run. It holds no secret and no name of a sealed task.
func (p *Provider) manifest(name string, spec jobs.Spec) *batch.Job {
	o, h := p.options, p.flavors[spec.Flavor]
	timeout := wholeSeconds(spec.Timeout)
	labels := map[string]string{labelRun: labelOf(spec.Run), labelManager: manager}
	pod := core.PodSpec{
		RestartPolicy:                 core.RestartPolicyNever,
		ActiveDeadlineSeconds:         new(int64(timeout / time.Second)),
		TerminationGracePeriodSeconds: new(int64(wholeSeconds(o.Grace) / time.Second)),
		ServiceAccountName:            o.ServiceAccount,
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		NodeSelector:                  h.selector,
		SecurityContext: &core.PodSecurityContext{
			RunAsUser: &o.User, RunAsGroup: &o.Group, RunAsNonRoot: new(o.User != 0),
			SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault},
		},
		Volumes: []core.Volume{
			{Name: "arena", VolumeSource: core.VolumeSource{PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: o.VolumeClaim}}},
			{Name: "home", VolumeSource: core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{}}},
		},
	}
	if _, gpus := h.resources[core.ResourceName(o.GPUResource)]; gpus {
		// Nodes with GPUs are commonly tainted with the resource's name.
		pod.Tolerations = []core.Toleration{{Key: o.GPUResource, Operator: core.TolerationOpExists}}
	}
	mounts := []core.VolumeMount{
		{Name: "arena", MountPath: path.Join(jobdir.Mount, jobdir.Work), SubPath: path.Join(name, jobdir.Work)},
		{Name: "arena", MountPath: path.Join(jobdir.Mount, jobdir.Output), SubPath: path.Join(name, jobdir.Output)},
		{Name: "home", MountPath: home},
	}
	if len(spec.Secrets) > 0 {
		mounts = append(mounts, core.VolumeMount{
			Name: "arena", MountPath: path.Join(jobdir.Mount, jobdir.Secrets), SubPath: path.Join(name, jobdir.Secrets), ReadOnly: true,
		})
	}
	if h.shared != nil {
		pod.Volumes = append(pod.Volumes, core.Volume{
			Name:         "shm",
			VolumeSource: core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{Medium: core.StorageMediumMemory, SizeLimit: h.shared}},
		})
		mounts = append(mounts, core.VolumeMount{Name: "shm", MountPath: "/dev/shm"})
	}
	pod.Containers = []core.Container{{
		Name: container, Image: o.Image, Command: p.command(spec), WorkingDir: path.Join(jobdir.Mount, jobdir.Work),
		Env: p.environment(spec), VolumeMounts: mounts,
		Resources: core.ResourceRequirements{Limits: h.resources, Requests: h.resources},
		SecurityContext: &core.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &core.Capabilities{Drop: []core.Capability{"ALL"}},
		},
	}}
	job := &batch.Job{
		TypeMeta:   meta.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: meta.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{labelRun: spec.Run}},
		Spec: batch.JobSpec{
			BackoffLimit:          new(int32(0)),
			ActiveDeadlineSeconds: new(int64((timeout + wholeSeconds(o.Queue)) / time.Second)),
			Template:              core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
	if o.Keep > 0 {
		job.Spec.TTLSecondsAfterFinished = new(int32(wholeSeconds(o.Keep) / time.Second))
	}
	return job
}

// command is what the container runs. A dollar sign in front of a parenthesis is
// Kubernetes' own and is doubled to stay what it is.
func (p *Provider) command(spec jobs.Spec) []string {
	command := spec.Command
	if len(command) == 0 {
		command = append(slices.Clone(p.options.Command), path.Join(jobdir.Mount, jobdir.Work, jobdir.Config))
	}
	out := make([]string, len(command))
	for i, word := range command {
		out[i] = literal(word)
	}
	return out
}

func literal(text string) string { return strings.ReplaceAll(text, "$(", "$$(") }

// environment are the container's variables, sorted by name so that the same run
// always has the same manifest. What the arena says about places wins.
func (p *Provider) environment(spec jobs.Spec) []core.EnvVar {
	work := path.Join(jobdir.Mount, jobdir.Work)
	values := map[string]string{"HOME": home}
	maps.Copy(values, p.options.Environment)
	maps.Copy(values, spec.Env)
	values[jobdir.EnvRun] = spec.Run
	values[jobdir.EnvOutput] = path.Join(jobdir.Mount, jobdir.Output)
	values[jobdir.EnvConfig] = path.Join(work, jobdir.Config)
	if spec.Collection != nil {
		values[jobdir.EnvCollection] = path.Join(work, jobdir.Collection)
	}
	for name := range spec.Secrets {
		values[name+jobdir.EnvFile] = path.Join(jobdir.Mount, jobdir.Secrets, name)
	}
	var env []core.EnvVar
	for name, value := range values {
		if _, secret := p.options.Secrets[name]; !secret {
			env = append(env, core.EnvVar{Name: name, Value: literal(value)})
		}
	}
	for name, key := range p.options.Secrets {
		env = append(env, core.EnvVar{Name: name, ValueFrom: &core.EnvVarSource{SecretKeyRef: &core.SecretKeySelector{
			LocalObjectReference: core.LocalObjectReference{Name: key.Secret}, Key: key.Key,
		}}})
	}
	slices.SortFunc(env, func(a, b core.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return env
}
