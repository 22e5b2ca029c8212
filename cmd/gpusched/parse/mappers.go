package client

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"
)

// mappers are the spellings for the parser.
func mappers() (list []kong.Option) {
	for kind, s := range spellings {
		list = append(list, kong.NamedMapper(kind, kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
			if s.dashed {
				token := ctx.Scan.Pop()
				if token.IsEOL() {
					return errors.New("missing value")
				}
				return s.put(target, fmt.Sprint(token.Value))
			}
			var word string
			if err := ctx.Scan.PopValueInto("value", &word); err != nil {
				return err
			}
			return s.put(target, word)
		})))
	}
	return list
}
