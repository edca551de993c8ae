package builtin

import (
	"errors"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/meta"
	"github.com/metaharness/peri/middleware/openapi"
)

// apis is the wiring of openapi.sources. What it cannot read is an error at the entry, and never a source without its
// authentication.
func apis(s *config.Settings) (openapi.Options, error) {
	o := openapi.Options{AllowPrivate: s.Web.AllowPrivate.V}
	var errs []error
	for _, from := range s.OpenAPI {
		auth, err := openapi.ParseAuth(from.Auth)
		if err != nil {
			errs = append(errs, &meta.Error{Origin: from.Origin, Key: "openapi.sources." + from.Name + ".auth", Message: err.Error()})
			continue
		}
		source := openapi.Source{
			Name: from.Name, Document: from.Document.V, Base: from.Base.V, Auth: auth, Disabled: !from.Enabled.V,
			Deny: selectors(from.Tools.Deny), Origin: from.Origin,
		}
		for _, list := range from.Tools.Allow {
			source.Allow = append(source.Allow, selectors(list))
		}
		o.Sources = append(o.Sources, source)
	}
	return o, errors.Join(errs...)
}
