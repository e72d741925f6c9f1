package k8stest

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pemOf is a certificate as a kubeconfig holds it.
func pemOf(der []byte) string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// makePod makes the pod of a Job and, when a node can take it, runs it.
func (s *Server) makePod(job *batch.Job) {
	at := s.stamp()
	pod := &core.Pod{
		TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta.ObjectMeta{
			Name: job.Name + "-abcde", Namespace: job.Namespace, Labels: job.Spec.Template.Labels, CreationTimestamp: at,
			OwnerReferences: []meta.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: new(true)}},
		},
		Spec:   job.Spec.Template.Spec,
		Status: core.PodStatus{Phase: core.PodPending},
	}
	ctx, stop := context.WithCancel(context.Background())
	n := &node{pod: pod, changed: make(chan struct{}), stop: stop}
	s.pods[job.Name] = n
	for name, amount := range pod.Spec.Containers[0].Resources.Limits {
		if strings.Contains(string(name), "/") && amount.Value() > s.options.GPUs {
			pod.Status.Conditions = []core.PodCondition{{
				Type: core.PodScheduled, Status: core.ConditionFalse, Reason: core.PodReasonUnschedulable, LastTransitionTime: at,
				Message: fmt.Sprintf("0/1 nodes are available: 1 Insufficient %s.", name),
			}}
			return
		}
	}
	pod.Status.StartTime = &at
	pod.Status.Conditions = []core.PodCondition{{Type: core.PodScheduled, Status: core.ConditionTrue, LastTransitionTime: at}}
	status := core.ContainerStatus{Name: pod.Spec.Containers[0].Name}
	if why := s.unready(job); why != "" || s.options.Program == nil {
		status.State.Waiting = &core.ContainerStateWaiting{Reason: "ContainerCreating"}
		if why != "" {
			status.State.Waiting = &core.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: why}
		}
		pod.Status.ContainerStatuses = []core.ContainerStatus{status}
		return
	}
	status.State.Running = &core.ContainerStateRunning{StartedAt: at}
	pod.Status.Phase, pod.Status.ContainerStatuses = core.PodRunning, []core.ContainerStatus{status}
	c := &Container{Job: job.DeepCopy(), Spec: pod.Spec.Containers[0], node: n, s: s}
	s.programs.Go(func() {
		code := s.options.Program(ctx, c)
		s.exit(job.Name, n, int32(code))
	})
}

// volume is the directory behind one of a Job's volumes; empty when it is no claim.
func (s *Server) volume(job *batch.Job, name string) string {
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.Name == name && v.PersistentVolumeClaim != nil {
			return s.options.Volumes[v.PersistentVolumeClaim.ClaimName]
		}
	}
	return ""
}

// unready says why a container cannot be made.
func (s *Server) unready(job *batch.Job) string {
	c := job.Spec.Template.Spec.Containers[0]
	for _, e := range c.Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && !slices.Contains(s.options.Secrets, e.ValueFrom.SecretKeyRef.Name) {
			return fmt.Sprintf("secret %q not found", e.ValueFrom.SecretKeyRef.Name)
		}
	}
	for _, m := range c.VolumeMounts {
		if m.SubPath == "" {
			continue
		}
		dir := s.volume(job, m.Name)
		if _, err := os.Stat(filepath.Join(dir, m.SubPath)); dir == "" || err != nil {
			return fmt.Sprintf("failed to prepare subPath for volumeMount %q of container %q", m.Name, c.Name)
		}
	}
	return ""
}

// exit ends a container, its pod and its Job, unless somebody has before.
func (s *Server) exit(name string, n *node, code int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[name]
	if s.pods[name] != n || n.over {
		return
	}
	at, began := s.stamp(), n.pod.Status.ContainerStatuses[0].State.Running.StartedAt
	state := &core.ContainerStateTerminated{ExitCode: code, Reason: "Completed", StartedAt: began, FinishedAt: at}
	phase, condition := core.PodSucceeded, batch.JobCondition{Type: batch.JobComplete, Status: core.ConditionTrue, LastTransitionTime: at}
	if code != 0 {
		state.Reason, phase = "Error", core.PodFailed
		condition.Type, condition.Reason, condition.Message = batch.JobFailed, batch.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit"
	}
	n.pod.Status.Phase = phase
	n.pod.Status.ContainerStatuses[0].State = core.ContainerState{Terminated: state}
	n.over = true
	n.wake()
	if job.DeletionTimestamp != nil { // its dependents are gone now
		s.forget(name)
		return
	}
	job.Status.Conditions = append(job.Status.Conditions, condition)
	if phase == core.PodSucceeded {
		job.Status.CompletionTime = &at
	}
}
