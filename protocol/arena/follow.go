package arena

import "context"

// Follow reads what a run's job has printed since it was last looked at, and
// settles the run when the job has ended. Watch does the same in the background
// for as long as a job takes; Follow is one look, for callers whose clock only
// moves when they move it. It returns nil when the run has ended, and otherwise
// why it could not be followed further.
func (s *Service) Follow(ctx context.Context, runID string) error {
	_, err := s.watchOnce(ctx, runID, false)
	return err
}
