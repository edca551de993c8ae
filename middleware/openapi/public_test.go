package openapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware/openapi"
	"github.com/metaharness/peri/toolview"
)

func TestPublicDocumentsBecomeToolsWhole(t *testing.T) {
	for name, want := range map[string]struct {
		file, detail string
		tools        int
	}{
		"a small one":           {"petstore.json", "19 of 19 operations at %s", 19},
		"a large one in YAML":   {"asana.yaml", "152 of 152 operations at %s", 152},
		"one of an older style": {"kubernetes.json", "75 of 75 operations at %s", 75},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := server(t, nil)
			b := open(t, openapi.Options{Sources: []openapi.Source{{Name: "x", Document: testdata(t, want.file), Base: url}}}, nil)
			require.Empty(t, b.told())
			require.Empty(t, b.inst.Unsupported)
			require.Len(t, b.names(), want.tools)
			require.Equal(t, fmt.Sprintf(want.detail, url[len("http://"):]), b.inst.Facts()[0].Detail)
			for e := range b.view().All() {
				require.Less(t, len(e.Tool.Schema), 64<<10, e.Tool.Name)
				require.Less(t, len(e.Tool.Doc), 4<<10, e.Tool.Name)
			}
		})
	}
}

func TestOperationIsCalledAsItsDocumentSays(t *testing.T) {
	url, last := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":7,"name":"Rex"}`)
	})
	b := open(t, openapi.Options{Sources: []openapi.Source{{Name: "pets", Document: testdata(t, "petstore.json"), Base: url + "/api/v3"}}}, nil)

	r := b.call("api__pets__getPetById", map[string]any{"petId": 7})
	require.False(t, r.Error, r.Text())
	require.Equal(t, "GET", last().method)
	require.Equal(t, "/api/v3/pet/7", last().uri)
	require.Contains(t, r.Text(), `{"id":7,"name":"Rex"}`)
	require.Contains(t, r.Text(), "answered 200 OK")

	r = b.call("api__pets__addPet", map[string]any{"body": map[string]any{"name": "Rex", "photoUrls": []string{"a"}}})
	require.False(t, r.Error, r.Text())
	require.Equal(t, "POST", last().method)
	require.Equal(t, "application/json", last().header.Get("Content-Type"))
	require.JSONEq(t, `{"name":"Rex","photoUrls":["a"]}`, last().body)

	r = b.call("api__pets__findPetsByTags", map[string]any{"tags": []string{"a b", "c&d"}})
	require.False(t, r.Error, r.Text())
	require.Equal(t, "/api/v3/pet/findByTags?tags=a+b&tags=c%26d", last().uri)

	r = b.call("api__pets__getPetById", map[string]any{"petId": "seven"})
	require.True(t, r.Error)
	r = b.call("api__pets__addPet", map[string]any{"body": map[string]any{"name": "Rex"}})
	require.True(t, r.Error, "photoUrls is required")
}

func TestToolSaysWhatItsMethodDoes(t *testing.T) {
	url, _ := server(t, nil)
	b := open(t, openapi.Options{Sources: []openapi.Source{{Name: "pets", Document: testdata(t, "petstore.json"), Base: url}}}, nil)
	get, del := b.tool("api__pets__getPetById"), b.tool("api__pets__deletePet")
	require.True(t, get.Effects.Has(toolview.ReadOnly|toolview.OpenWorld))
	require.False(t, get.Effects.Has(toolview.Destructive))
	require.True(t, del.Effects.Has(toolview.Destructive|toolview.OpenWorld))
	require.False(t, del.Effects.Has(toolview.ReadOnly))
	require.True(t, get.Private)
	require.Equal(t, "pets", get.Server)
	require.Equal(t, "getPetById", get.Leaf)
	subjects, err := get.Subjects(json.RawMessage(`{"petId":1}`))
	require.NoError(t, err)
	require.Equal(t, []toolview.Subject{
		{Kind: toolview.Domain, Value: "127.0.0.1", ReadOnly: true}, {Kind: toolview.Name, Value: "pets/getPetById", ReadOnly: true},
	}, subjects)
}
