package middleware

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Tuned makes an entry of Instance.Tune: it reads a value as a T, lets fits judge it (nil = any is good), and hands it to
// set when the whole change is made. null is no value.
func Tuned[T any](fits func(T) error, set func(T)) func(json.RawMessage) (func(), error) {
	return func(raw json.RawMessage) (func(), error) {
		var v *T
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("found %s; write a %T", raw, *new(T))
		}
		if v == nil {
			return nil, errors.New("found null; write a value")
		}
		if fits != nil {
			if err := fits(*v); err != nil {
				return nil, err
			}
		}
		return func() { set(*v) }, nil
	}
}

// AtLeast is a fits for numbers.
func AtLeast(least int) func(int) error {
	return func(n int) error {
		if n < least {
			return fmt.Errorf("found %d; write %d or more", n, least)
		}
		return nil
	}
}
