package builtin

import (
	"fmt"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
)

// unhonoured reports every setting of a capability that this build does not have. A setting is never silently inert.
func unhonoured(s *config.Settings) []meta.Diagnostic {
	var out []meta.Diagnostic
	report := func(key string, at meta.Origin) {
		out = append(out, notHonoured(key, at))
	}
	set := func(key string, is bool, at meta.Origin) {
		if is {
			report(key, at)
		}
	}
	set("compact.budget", s.Compact.Budget.Set, s.Compact.Budget.Origin)
	set("compact.auto", s.Compact.Auto.Set, s.Compact.Auto.Origin)
	return out
}

func notHonoured(key string, at meta.Origin) meta.Diagnostic {
	return meta.Diagnostic{
		Severity: meta.SeverityWarning, Code: "not_honoured", Key: key, Origin: at,
		Message: fmt.Sprintf("%s is not honoured by this version and has no effect", key), Suggestion: "remove it",
	}
}
