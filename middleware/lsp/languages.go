package lsp

import (
	"path/filepath"
	"slices"
	"strings"
)

// language is a language as servers name it, with the extensions of its files.
type language struct {
	id         string
	extensions []string
}

func languages() []language {
	return []language{
		{"go", []string{".go"}},
		{"go.mod", []string{".mod"}},
		{"python", []string{".py", ".pyi"}},
		{"rust", []string{".rs"}},
		{"typescript", []string{".ts", ".mts", ".cts"}},
		{"typescriptreact", []string{".tsx"}},
		{"javascript", []string{".js", ".mjs", ".cjs"}},
		{"javascriptreact", []string{".jsx"}},
		{"c", []string{".c", ".h"}},
		{"cpp", []string{".cc", ".cpp", ".cxx", ".hh", ".hpp"}},
		{"java", []string{".java"}},
		{"kotlin", []string{".kt", ".kts"}},
		{"csharp", []string{".cs"}},
		{"ruby", []string{".rb"}},
		{"php", []string{".php"}},
		{"lua", []string{".lua"}},
		{"swift", []string{".swift"}},
		{"zig", []string{".zig"}},
		{"shellscript", []string{".sh", ".bash"}},
		{"yaml", []string{".yaml", ".yml"}},
		{"json", []string{".json"}},
		{"html", []string{".html"}},
		{"css", []string{".css"}},
	}
}

// known are the languages of common servers.
func known(command string) []string {
	switch strings.TrimSuffix(filepath.Base(command), ".exe") {
	case "gopls":
		return []string{"go"}
	case "pyright-langserver", "basedpyright-langserver", "pylsp", "jedi-language-server":
		return []string{"python"}
	case "rust-analyzer":
		return []string{"rust"}
	case "typescript-language-server", "vtsls":
		return []string{"typescript", "typescriptreact", "javascript", "javascriptreact"}
	case "clangd":
		return []string{"c", "cpp"}
	case "zls":
		return []string{"zig"}
	case "jdtls":
		return []string{"java"}
	}
	return nil
}

// extensions are those of the files that a server is asked about.
func (s *Server) extensions() []string {
	names := s.Languages
	if len(names) == 0 {
		names = known(s.Command)
	}
	var out []string
	for _, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		i := slices.IndexFunc(languages(), func(l language) bool { return l.id == name })
		switch {
		case strings.HasPrefix(name, "."):
			out = append(out, name)
		case i >= 0:
			out = append(out, languages()[i].extensions...)
		case name != "":
			out = append(out, "."+name)
		}
	}
	return out
}

// languageID is what servers call the language of a file.
func languageID(path string) string {
	ext := strings.ToLower(filepath.Ext(path))
	for _, l := range languages() {
		if slices.Contains(l.extensions, ext) {
			return l.id
		}
	}
	return strings.TrimPrefix(ext, ".")
}

// serverFor is the first server for a file that can be started.
func (s *state) serverFor(path string) *server {
	ext := strings.ToLower(filepath.Ext(path))
	for _, one := range s.servers {
		if one.path != "" && slices.Contains(one.extensions(), ext) {
			return one
		}
	}
	return nil
}
