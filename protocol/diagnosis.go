package protocol

// DiagnosisStatus is what a check of the arena itself came to.
type DiagnosisStatus string

// The statuses of a diagnosis.
const (
	DiagnosisOK      DiagnosisStatus = "ok"
	DiagnosisWarn    DiagnosisStatus = "warn"    // somebody should look
	DiagnosisFail    DiagnosisStatus = "fail"    // something is broken or about to be
	DiagnosisSkipped DiagnosisStatus = "skipped" // it does not apply, or was not looked at
	DiagnosisFixed   DiagnosisStatus = "fixed"   // it was wrong and was put right just now
)

// Diagnosis is one check that the arena made of itself and of its machine.
type Diagnosis struct {
	Check  string          `json:"check"` // stable name, such as ledger-arithmetic
	Status DiagnosisStatus `json:"status"`
	Detail string          `json:"detail"`          // what was found, in a sentence
	Fix    string          `json:"fix"`             // what to do; empty when nothing needs doing
	Safe   bool            `json:"fixes_by_itself"` // arena doctor --fix does it
}
