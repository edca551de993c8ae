package schema

import (
	"bytes"
	"math/big"
	"reflect"
	"strconv"
)

// number is one JSON number: its nearest float64 and its own digits, which the float may have lost.
type number struct {
	f     float64
	lit   []byte
	sharp bool // the float says all: at most 15 significant digits
}

func parseNumber(lit []byte) number {
	f, _ := strconv.ParseFloat(string(lit), 64) // the scanner refused what does not fit
	n := 0
	for _, c := range lit {
		if c|0x20 == 'e' {
			break
		}
		if c >= '0' && c <= '9' && (n > 0 || c != '0') {
			n++
		}
	}
	return number{f: f, lit: lit, sharp: n <= 15}
}

// compare orders a and b twice: as floats, which is how the library sees them, and by their digits. The two differ
// only for numbers that a float cannot hold; a limit must hold for both.
func compare(a, b number) (float, exact int) {
	switch {
	case a.f < b.f:
		float = -1
	case a.f > b.f:
		float = 1
	}
	if a.sharp && b.sharp {
		return float, float
	}
	x, y := a.rat(), b.rat()
	if x == nil || y == nil {
		return float, float
	}
	return float, x.Cmp(y)
}

// rat returns the exact value, nil if its exponent is so extreme that it would take much memory.
func (n number) rat() *big.Rat {
	if at := bytes.IndexAny(n.lit, "eE"); at >= 0 {
		if e, err := strconv.Atoi(string(n.lit[at+1:])); err != nil || e > 400 || e < -400 {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(string(n.lit))
	if !ok {
		return nil
	}
	return r
}

// integral reports whether the digits mean an integer: 1, 1.0 and 1e2 do. Exponents beyond
// 400 do not, whatever they mean.
func integral(lit []byte) bool {
	if !bytes.ContainsAny(lit, ".eE") {
		return true
	}
	r := number{lit: lit}.rat()
	return r != nil && r.IsInt()
}

// integer returns the usual spelling of an integral number: 1.0 becomes 1.
func integer(lit []byte) []byte {
	if !bytes.ContainsAny(lit, ".eE") {
		return lit
	}
	r := number{lit: lit}.rat()
	if r == nil || !r.IsInt() {
		return lit
	}
	return r.Num().Append(nil, 10)
}

// fits reports whether an integral or any number can be kept in a Go variable of this kind.
func fits(kind reflect.Kind, n number) bool {
	var err error
	switch kind {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		_, err = strconv.ParseInt(string(integer(n.lit)), 10, bits(kind))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		_, err = strconv.ParseUint(string(integer(n.lit)), 10, bits(kind))
	case reflect.Float32:
		_, err = strconv.ParseFloat(string(n.lit), 32)
	}
	return err == nil
}

func bits(kind reflect.Kind) int {
	switch kind {
	case reflect.Int8, reflect.Uint8:
		return 8
	case reflect.Int16, reflect.Uint16:
		return 16
	case reflect.Int32, reflect.Uint32:
		return 32
	}
	return 64
}
