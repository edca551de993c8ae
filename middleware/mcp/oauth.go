package mcp

import (
	"errors"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// OAuth is how this program signs in at a server, by the grant of OAuth 2.0 for programs with a client of their own
// (client credentials). The endpoints and scopes are the server's to say.
type OAuth struct {
	ClientID string `json:"client_id"`
	// Secret names the environment variable that holds the client's secret.
	Secret string `json:"secret"`
}

func (o *OAuth) check() error {
	switch {
	case o == nil:
		return nil
	case o.ClientID == "":
		return errors.New("oauth needs a client_id")
	case !variable(o.Secret):
		return errors.New("oauth needs a secret: the name of the environment variable that holds it")
	}
	return nil
}

// authorise makes the handler that signs in when the server wants it.
func (s *server) authorise(o *OAuth, _ *web) (auth.OAuthHandler, error) {
	secret, set := os.LookupEnv(o.Secret)
	if !set {
		return nil, fmt.Errorf("%w: the environment variable %s, which oauth.secret names, is not set", errPermanent, o.Secret)
	}
	h, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
		Credentials: &oauthex.ClientCredentials{
			ClientID: o.ClientID, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: secret},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: oauth: %w", errPermanent, err)
	}
	return h, nil
}
