package mcp

// Qualified is for tests.
var Qualified = qualified
