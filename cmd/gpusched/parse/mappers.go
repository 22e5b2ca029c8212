package parse

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
)

// mappers returns the parser options for the notation of values.
func mappers() (list []kong.Option) {
	for kind, s := range cli.Spellings {
		list = append(list, kong.NamedMapper(kind, kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
			if s.Dashed {
				token := ctx.Scan.Pop()
				if token.IsEOL() {
					return errors.New("missing value")
				}
				return s.Put(target, fmt.Sprint(token.Value))
			}
			var word string
			if err := ctx.Scan.PopValueInto("value", &word); err != nil {
				return err
			}
			return s.Put(target, word)
		})))
	}
	return list
}
