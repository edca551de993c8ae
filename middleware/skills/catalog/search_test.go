package catalog_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/skills/catalog"
)

func TestSearchFindsByWhatASkillIsCalledAndForWhat(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		".peri/skills/pdf/SKILL.md":   file("name: pdf", "description: Fills in forms and extracts tables."),
		".peri/skills/forms/SKILL.md": file("name: forms", "description: Builds web pages."),
		".peri/skills/sql/SKILL.md":   file("name: sql", "description: Tunes queries of a database."),
	})
	c, _, _ := load(t, catalog.Rules{}, project(root))
	find := func(query string) (out []string) {
		for _, s := range c.Search(query, 2, func(*catalog.Skill) bool { return true }) {
			out = append(out, s.Name)
		}
		return out
	}
	require.Equal(t, []string{"forms", "pdf"}, find("forms"))
	require.Equal(t, []string{"sql"}, find("how to query the databases"))
	require.Empty(t, find("kubernetes"))
	require.Len(t, find(""), 2)
}

func TestSearchIsNotAnsweredByACommonWordAlone(t *testing.T) {
	root, files := t.TempDir(), map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf(".peri/skills/s%d/SKILL.md", i)] = file(fmt.Sprintf("name: s%d", i), "description: Helps to send things of kind "+fmt.Sprint(i))
	}
	files[".peri/skills/post/SKILL.md"] = file("name: post", "description: Writes an email and its subject line.")
	files[".peri/skills/cn/SKILL.md"] = file("name: cn", "description: 审查代码并给出建议")
	write(t, root, files)
	c, _, _ := load(t, catalog.Rules{}, project(root))
	find := func(query string) (out []string) {
		for _, s := range c.Search(query, 3, func(*catalog.Skill) bool { return true }) {
			out = append(out, s.Name)
		}
		return out
	}
	require.Equal(t, []string{"post"}, find("send gmail email"), "the rare word decides")
	require.Empty(t, find("send gmail telegram"), "no skill has what is asked for")
	require.Len(t, find("send"), 3)
	require.Equal(t, []string{"cn"}, find("代码"), "words without blanks between them are found")
}
