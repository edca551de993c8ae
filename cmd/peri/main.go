// Command peri assembles agent sessions from middlewares and shows, explains and runs them. It is thin over the library.
//
// Errors go to stderr as "peri: what: why" with a hint, data to stdout. Exit codes: 0 it went well, 1 the answer is no or
// it failed, 2 the command line is wrong, 130 interrupted.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(start()) }

// start runs the program on this process's streams. The first interrupt cancels what runs, a second one kills.
func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	return p.run(ctx, os.Args[1:])
}
