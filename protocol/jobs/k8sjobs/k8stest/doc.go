// Package k8stest is as much of a Kubernetes API server as jobs need, on a real
// socket: create, get, list by label and delete of batch/v1 Jobs, pods, and pod
// logs that are followed. Behind it stand a controller that makes one pod for a
// job, a node that plays its container with a function of the test, and a volume
// that is a directory.
//
// What it does as a real one, because something depends on it: times in whole
// seconds but for the stamps of a log; sinceTime in whole seconds; 409 AlreadyExists
// for a name that is taken, also by a Job that is being deleted; 404 that names the
// object; 422 Invalid with causes; 400 for the log of a container that has not
// started; deletion in the foreground that ends pods first and then forgets both,
// with preconditions; lists with a resource version; a pod that waits for GPUs
// nobody has. Failures are injected; see Fault.
package k8stest
