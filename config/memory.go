package config

// Memory says who keeps memories: Provider is files, or "" for nobody unless there is a Folder.
type Memory struct {
	Provider, Folder Value[string]
}

// An untrusted project sends nobody's memories to a folder of its choice.
var memoryNode = group(
	"Memory.",
	named{"provider", node{kinds: text, enum: []string{"files"}, doc: "Who keeps memories. Absent: files when there is a folder, else nobody."}},
	named{"folder", node{kinds: text, filled: true, risk: risky, doc: "Where files are kept, absolute or with ~/. Absent: memory in the user's folder."}},
)

func memory(p place) Memory {
	return Memory{Provider: read[string](p.at("provider")), Folder: read[string](p.at("folder"))}
}
