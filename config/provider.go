package config

// Provider says where a vendor's models are. BaseURL "" is the vendor's own server; KeyEnv is the variable that holds its
// key, "" for the usual one. A key itself is never in settings.
type Provider struct {
	Name            string
	BaseURL, KeyEnv Value[string]
}

// providersNode has no place for a key: a file is read by too many. An untrusted project sends nobody's key elsewhere.
var providersNode = group("Where models are asked.",
	named{"anthropic", providerNode("Anthropic's Messages API, or a server that speaks it.")},
	named{"openai", providerNode("OpenAI's Responses API, or a server that speaks it.")},
	named{"ollama", providerNode("Ollama.")},
	named{"openai-compatible", providerNode("Any server that speaks Chat Completions.")},
)

func providerNode(doc string) node {
	return group(
		doc,
		named{"base_url", node{kinds: text, filled: true, risk: risky, doc: "Its server. Absent: from the environment, or the vendor's own."}},
		named{"key_env", node{kinds: text, filled: true, risk: risky, doc: "The environment variable that holds its key."}},
	)
}

// providers are those that some layer has set, in the order of the table.
func providers(p place) []Provider {
	var out []Provider
	for i := range p.node.fields {
		at := p.at(p.node.fields[i].name)
		if at.v != nil {
			out = append(out, Provider{p.node.fields[i].name, read[string](at.at("base_url")), read[string](at.at("key_env"))})
		}
	}
	return out
}
