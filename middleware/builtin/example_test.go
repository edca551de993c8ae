package builtin_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/metaharness/peri/config"
	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/middleware/builtin"
	"github.com/metaharness/peri/session"
	"github.com/metaharness/peri/session/provider/offline"
)

// A program that does what the folder's settings say, and closes one more middleware.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	setup, _, err := builtin.Load(config.Options{
		Root: dir, Home: dir + "/home", Values: map[string]any{"meta": map[string]any{"WebMiddleware": false}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer setup.Close()
	ctx := context.Background()
	s, err := session.New(ctx, session.Options{Blueprint: setup.Blueprint, Models: offlineModels})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(ctx)
	fmt.Print(s.Surface().Of("WebMiddleware"))
	fmt.Print(s.Surface().Of("ClockMiddleware"))
	// Output:
	// chain ClockMiddleware ClockMiddleware live
	// tool Now ClockMiddleware readonly
}

// offlineModels needs no key and no vendor's library.
func offlineModels(string) (middleware.ModelFunc, error) { return offline.Model, nil }
